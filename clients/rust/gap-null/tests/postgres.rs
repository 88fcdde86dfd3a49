//! What other clients ask of the null Postgres: text results, unnamed statements, simple queries.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::TcpStream;

use gap_null::{Options, ProtocolKind, Reply, Server};

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Parse of the unnamed statement, Bind without parameters, Describe of the portal, Execute, Sync.
fn query(sql: &str, parameters: &[&str], binary: bool) -> Vec<u8> {
    let mut bind = b"\0\0\0\0".to_vec();
    bind.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
    for value in parameters {
        bind.extend_from_slice(&(value.len() as u32).to_be_bytes());
        bind.extend_from_slice(value.as_bytes());
    }
    bind.extend_from_slice(&[0, 1, 0, u8::from(binary)]);
    [
        message(b'P', format!("\0{sql}\0\0\0").as_bytes()),
        message(b'B', &bind),
        message(b'D', b"P\0"),
        message(b'E', b"\0\0\0\0\0"),
        message(b'S', b""),
    ]
    .concat()
}

/// Sends and reads until ReadyForQuery; the tags and bodies of the answer.
fn ask(stream: &mut TcpStream, bytes: &[u8]) -> Vec<(char, Vec<u8>)> {
    stream.write_all(bytes).unwrap();
    let mut answers = Vec::new();
    while answers.last().is_none_or(|(tag, _)| *tag != 'Z') {
        let mut header = [0; 5];
        stream.read_exact(&mut header).unwrap();
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let mut body = vec![0; length - 4];
        stream.read_exact(&mut body).unwrap();
        answers.push((char::from(header[0]), body));
    }
    answers
}

#[test]
fn results_come_in_the_format_that_was_asked_for_and_the_transaction_is_kept() {
    let server = Server::start(ProtocolKind::Postgres, 0, Options::default(), || Reply::Committed).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    ask(&mut stream, b"\0\0\0\x08\0\x03\0\0");

    for (binary, value) in [(false, &b"1"[..]), (true, b"\0\0\0\x01")] {
        let answer = ask(&mut stream, &query("SELECT transfer($1, $2, $3)", &["1", "2", "3"], binary));
        let tags: String = answer.iter().map(|(tag, _)| *tag).collect();
        // A call is answered with its BindComplete, after the description.
        assert_eq!(tags, "1T2DCZ");
        assert_eq!(answer[1].1.last(), Some(&u8::from(binary)));
        assert_eq!(answer[3].1[6..], *value);
    }

    let begun = ask(&mut stream, &message(b'Q', b"begin\0"));
    assert_eq!(begun, [('C', b"BEGIN\0".to_vec()), ('Z', b"T".to_vec())]);
    let lock = "select id, balance from accounts where id in ($1, $2) for update";
    let locked = ask(&mut stream, &query(lock, &["42", "7"], false));
    let rows: Vec<&Vec<u8>> = locked.iter().filter(|(tag, _)| *tag == 'D').map(|(_, body)| body).collect();
    assert!(
        rows[0].starts_with(b"\0\x02\0\0\0\x017") && rows[1].starts_with(b"\0\x02\0\0\0\x0242"),
        "{rows:?}"
    );
    let committed = ask(&mut stream, &message(b'Q', b"commit\0"));
    assert_eq!(committed.last(), Some(&('Z', b"I".to_vec())));
}
