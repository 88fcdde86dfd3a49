//! Logging in by SCRAM-SHA-256 and preparing the statement.

use bytes::BytesMut;
use loadgen::HandshakeStream;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256, SCRAM_SHA_256};
use postgres_protocol::message::frontend;

use crate::reply::{split_message, ServerError, HEADER_BYTES};
use crate::{Endpoint, STATEMENT};

const QUERY: &str = "SELECT transfer($1::int4, $2::int4, $3::int4)";
const INT4_OID: u32 = 23;

const AUTHENTICATION_OK: u32 = 0;
const AUTHENTICATION_SASL: u32 = 10;
const AUTHENTICATION_SASL_CONTINUE: u32 = 11;
const AUTHENTICATION_SASL_FINAL: u32 = 12;

pub fn log_in(endpoint: &Endpoint, stream: &mut HandshakeStream) -> Result<(), String> {
    let parameters = [("user", endpoint.user.as_str()), ("database", endpoint.database.as_str())];
    send(stream, |out| frontend::startup_message(parameters, out))?;
    let mut scram = ScramSha256::new(endpoint.password.as_bytes(), ChannelBinding::unsupported());
    let failed = |error: std::io::Error| format!("login of {}: SCRAM: {error}", endpoint.user);
    loop {
        let (tag, body) = receive(stream)?;
        match (tag, &body[..]) {
            (b'R', [a, b, c, d, data @ ..]) => match u32::from_be_bytes([*a, *b, *c, *d]) {
                AUTHENTICATION_OK => {}
                AUTHENTICATION_SASL
                    if data.split(|byte| *byte == 0).any(|name| name == SCRAM_SHA_256.as_bytes()) =>
                {
                    send(stream, |out| frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), out))?;
                }
                AUTHENTICATION_SASL_CONTINUE => {
                    scram.update(data).map_err(failed)?;
                    send(stream, |out| frontend::sasl_response(scram.message(), out))?;
                }
                AUTHENTICATION_SASL_FINAL => scram.finish(data).map_err(failed)?,
                other => {
                    return Err(format!(
                        "the server asks for login method {other}; allow {SCRAM_SHA_256} in pg_hba.conf"
                    ))
                }
            },
            (b'E', fields) => {
                return Err(format!("login of {}: {}", endpoint.user, ServerError::parse(fields)))
            }
            (b'Z', _) => return Ok(()),
            _ => {}
        }
    }
}

/// Prepares the call, which fails here if the procedure is unknown or does not return `int4`.
pub fn prepare(stream: &mut HandshakeStream) -> Result<(), String> {
    send(stream, |out| {
        frontend::parse(STATEMENT, QUERY, [INT4_OID; 3], out)?;
        frontend::describe(b'S', STATEMENT, out)?;
        frontend::sync(out);
        Ok(())
    })?;
    let mut refusal = None;
    let mut result_oid = None;
    loop {
        match receive(stream)? {
            (b'T', columns) => result_oid = first_column_oid(&columns),
            (b'E', fields) => refusal = Some(ServerError::parse(&fields)),
            (b'Z', _) => break,
            _ => {}
        }
    }
    match (refusal, result_oid) {
        (Some(error), _) => Err(format!("preparing {QUERY}: {error}")),
        (None, Some(INT4_OID)) => Ok(()),
        (None, _) => {
            Err(format!("{QUERY} does not return int4; load the module whose transfer returns 1 or 0"))
        }
    }
}

/// RowDescription: a count, then for each column its name, table, number and type.
fn first_column_oid(columns: &[u8]) -> Option<u32> {
    let name_end = columns.iter().skip(2).position(|byte| *byte == 0)? + 2;
    let oid = columns.get(name_end + 7..name_end + 11)?;
    Some(u32::from_be_bytes([oid[0], oid[1], oid[2], oid[3]]))
}

fn send(
    stream: &mut HandshakeStream,
    encode: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
) -> Result<(), String> {
    let mut out = BytesMut::new();
    encode(&mut out).map_err(|error| error.to_string())?;
    stream.send(&out)
}

/// The next message: its tag and body.
fn receive(stream: &mut HandshakeStream) -> Result<(u8, Vec<u8>), String> {
    loop {
        if let Some(message) = split_message(stream.unread()).map_err(|error| error.to_string())? {
            let (tag, body) = (message.tag, message.body.to_vec());
            stream.consume(HEADER_BYTES + body.len());
            return Ok((tag, body));
        }
        stream.fill()?;
    }
}
