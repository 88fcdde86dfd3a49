//! A closed loop of `transfer` calls through the official SDK 2.8.3.
//!
//! All connections share one runtime of one thread, which costs the SDK least: a connection left to itself
//! starts two threads that wake each other for every answer.

mod module_bindings;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use module_bindings::{DbConnection, RemoteReducers, TransferArgs};
use peer::{Caller, Config, Endpoint};
use spacetimedb_sdk::Compression;
use tokio::runtime::{Builder, Runtime};

fn main() -> ExitCode {
    peer::main("spacetimedb-sdk 2.8.3", connect_all)
}

fn connect_all(config: &Config<Endpoint>, callers: Vec<Arc<Caller>>) -> Result<Runtime, Box<dyn Error>> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    // The SDK takes the runtime that it is called in.
    let entered = runtime.enter();
    let connections: Vec<_> =
        callers.into_iter().map(|caller| connect(config, caller)).collect::<Result<_, _>>()?;
    for connection in connections {
        // How it ends is said to `on_disconnect`.
        runtime.spawn(async move { connection.run_async().await });
    }
    drop(entered);
    Ok(runtime)
}

/// A connection that keeps `in_flight` calls out: each answer's callback makes the next call.
fn connect(config: &Config<Endpoint>, caller: Arc<Caller>) -> spacetimedb_sdk::Result<DbConnection> {
    let endpoint = &config.endpoint;
    let in_flight = config.in_flight;
    let [refused, ended] = [(); 2].map(|()| Arc::clone(&caller));
    DbConnection::builder()
        .with_uri(format!("http://{}:{}", endpoint.host, endpoint.port))
        .with_database_name(endpoint.database.as_str())
        .with_token(Some(endpoint.token.as_str()))
        .with_compression(Compression::None)
        .with_confirmed_reads(endpoint.confirmed)
        .on_connect(move |connection, _, _| {
            (0..in_flight).for_each(|_| call(Arc::clone(&caller), &connection.reducers));
        })
        .on_connect_error(move |_, error| refused.lost(error))
        .on_disconnect(move |_, error| ended.lost(format!("disconnected: {error:?}")))
        .build()
}

fn call(caller: Arc<Caller>, reducers: &RemoteReducers) {
    let drawn = caller.draw();
    let arguments = TransferArgs { from: drawn.source, to: drawn.destination, amount: drawn.amount };
    let asked = Arc::clone(&caller);
    let sent = reducers.transfer_then(arguments, move |context, result| {
        asked.answered(matches!(result, Ok(Ok(()))));
        call(asked, &context.reducers);
    });
    if let Err(error) = sent {
        caller.lost(error);
    }
}
