//! A closed loop of `transfer` calls through the official SDK 1.2.0, each connection on the SDK's own thread.

mod module_bindings;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use module_bindings::{DbConnection, RemoteReducers};
use peer::{Caller, Config, Endpoint};
use spacetimedb_sdk::{Compression, Status};

fn main() -> ExitCode {
    peer::main("spacetimedb-sdk 1.2.0", connect_all)
}

fn connect_all(
    config: &Config<Endpoint>,
    callers: Vec<Arc<Caller>>,
) -> Result<Vec<DbConnection>, Box<dyn Error>> {
    let connections: Vec<_> =
        callers.into_iter().map(|caller| connect(config, caller)).collect::<Result<_, _>>()?;
    for connection in &connections {
        connection.run_threaded();
    }
    Ok(connections)
}

/// A connection that keeps `in_flight` calls out: each answer's callback makes the next call.
fn connect(config: &Config<Endpoint>, caller: Arc<Caller>) -> Result<DbConnection, Box<dyn Error>> {
    let endpoint = &config.endpoint;
    let in_flight = config.in_flight;
    let [first, refused, ended] = [(); 3].map(|()| Arc::clone(&caller));
    let connection = DbConnection::builder()
        .with_uri(format!("http://{}:{}", endpoint.host, endpoint.port))
        .with_module_name(endpoint.database.as_str())
        .with_token(Some(endpoint.token.as_str()))
        .with_compression(Compression::None)
        .on_connect(move |connection, _, _| (0..in_flight).for_each(|_| call(&first, &connection.reducers)))
        .on_connect_error(move |context, _| refused.lost(format!("{:?}", context.event)))
        .on_disconnect(move |context, _| ended.lost(format!("disconnected: {:?}", context.event)))
        .build()?;
    connection.reducers.on_transfer(move |context| {
        caller.answered(matches!(context.event.status, Status::Committed));
        call(&caller, &context.reducers);
    });
    Ok(connection)
}

fn call(caller: &Caller, reducers: &RemoteReducers) {
    let drawn = caller.draw();
    if let Err(error) = reducers.transfer(drawn.source, drawn.destination, drawn.amount) {
        caller.lost(error);
    }
}
