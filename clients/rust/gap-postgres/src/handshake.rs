//! Logging in by SCRAM-SHA-256 and preparing the statement.

use bytes::BytesMut;
use loadgen::HandshakeStream;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256, SCRAM_SHA_256};
use postgres_protocol::message::frontend;

use crate::message::{split_message, ServerError, Statement, HEADER_BYTES};
use crate::Endpoint;

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

/// Prepares a statement, which fails here if what it names is unknown or does not return the expected types.
pub fn prepare(statement: &Statement, stream: &mut HandshakeStream) -> Result<(), String> {
    let name = char::from(statement.name).to_string();
    let sql = &statement.sql;
    send(stream, |out| {
        frontend::parse(&name, sql, statement.parameters.iter().copied(), out)?;
        frontend::describe(b'S', &name, out)?;
        frontend::sync(out);
        Ok(())
    })?;
    let mut refusal = None;
    let mut types = Some(Vec::new());
    loop {
        match receive(stream)? {
            (b'T', columns) => types = column_types(&columns),
            (b'E', fields) => refusal = Some(ServerError::parse(&fields)),
            (b'Z', _) => break,
            _ => {}
        }
    }
    match (refusal, types) {
        (Some(error), _) => Err(format!("preparing {sql}: {error}")),
        (None, Some(types)) if types == statement.columns => Ok(()),
        (None, types) => Err(format!(
            "{sql} returns the types {:?}, not {:?}; load the module that belongs to this client",
            types.unwrap_or_default(),
            statement.columns
        )),
    }
}

/// RowDescription: a count, then for each column its name, table, number, type, size, modifier and format.
fn column_types(columns: &[u8]) -> Option<Vec<u32>> {
    let (count, mut rest) = columns.split_first_chunk::<2>()?;
    (0..u16::from_be_bytes(*count))
        .map(|_| {
            let name_end = rest.iter().position(|byte| *byte == 0)?;
            let (fields, after) = rest[name_end + 1..].split_first_chunk::<18>()?;
            rest = after;
            Some(u32::from_be_bytes([fields[6], fields[7], fields[8], fields[9]]))
        })
        .collect()
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
