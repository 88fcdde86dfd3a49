//! HTTP/1.1 with keep-alive: the request that the endpoint declares for the kind of each operation, compiled once.
//! More than one in flight is HTTP pipelining.

mod answer;
mod request;
mod response;
mod template;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU16;

use loadgen::{
    ClientError, Config, Decoded, HandshakeStream, Kind, KindOf, Oldest, Operation, Outcome, Protocol,
    Workload,
};
use serde::Deserialize;

use crate::answer::{describe, Judge};
use crate::request::{Declared, Request};
use crate::response::{Response, Responses};
use crate::template::Values;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: NonZeroU16,
    requests: BTreeMap<String, Declared>,
}

/// One connection; a call for each kind of the workload, in their order.
pub struct Http {
    calls: Vec<Call>,
    values: Values,
    responses: Responses,
}

struct Call {
    request: Request,
    judge: Judge,
}

impl<W: Workload> Protocol<W> for Http {
    const NAME: &'static str = "http";
    type Endpoint = Endpoint;

    fn check(config: &Config<Endpoint>) -> Result<(), ClientError> {
        compile::<W>(&config.endpoint).map(|_calls| ())
    }

    fn address(endpoint: &Endpoint) -> (&str, u16) {
        (&endpoint.host, endpoint.port.get())
    }

    /// HTTP has none: a connection that is up can be used.
    fn handshake(endpoint: &Endpoint, _stream: &mut HandshakeStream) -> Result<Self, String> {
        let calls = compile::<W>(endpoint).map_err(|error| error.to_string())?;
        Ok(Self { calls, values: Values::default(), responses: Responses::default() })
    }

    #[inline]
    fn encode(&mut self, _index: u64, operation: &W::Operation, out: &mut Vec<u8>) {
        self.values.clear();
        operation.write(&mut self.values);
        self.calls[operation.kind().place()].request.write(&self.values, out);
    }

    #[inline]
    fn decode<'a>(
        &mut self,
        input: &'a [u8],
        oldest: Option<Oldest<KindOf<W>>>,
        _out: &mut Vec<u8>,
    ) -> Result<Decoded<'a>, ClientError> {
        Ok(match self.responses.decode(input)? {
            Response::Incomplete => Decoded::Incomplete,
            Response::Interim { consumed } => Decoded::Skipped { consumed },
            Response::Final { status, body, consumed } => match oldest {
                Some(oldest) => self.calls[oldest.kind.place()].judge.reply(status, &body, consumed),
                None => {
                    let outcome = Outcome::Error(Cow::Owned(describe(status, &body)));
                    Decoded::Reply { consumed, outcome }
                }
            },
        })
    }
}

fn compile<W: Workload>(endpoint: &Endpoint) -> Result<Vec<Call>, ClientError> {
    let Endpoint { host, port, requests } = endpoint;
    if let Some(unknown) = requests.keys().find(|name| W::KINDS.iter().all(|kind| kind.name != **name)) {
        let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
        return Err(ClientError::refused("endpoint.requests", unknown, &kinds.join(", ")));
    }
    let host = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let compiled = W::KINDS.iter().map(|kind| {
        let place = format!("endpoint.requests.{}", kind.name);
        let declared = requests.get(kind.name).ok_or_else(|| {
            ClientError::Configuration(format!("{place}: missing; declare the request of each kind"))
        })?;
        Ok(Call {
            request: Request::compile(declared, kind.fields, &host, &place)?,
            judge: Judge::new(declared, W::REFUSALS, &place)?,
        })
    });
    compiled.collect()
}
