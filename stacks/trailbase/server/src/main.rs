//! `gap-trailbase DATA_FOLDER HOST:PORT`: serves until it is told to end. `--version` says what it is made of.

use std::process::ExitCode;

use trailbase::{DataDir, Server, ServerOptions};

/// As TrailBase's own program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TRAILBASE: &str = "0.2.0";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, address] = match &arguments[..] {
        [only] if only == "--version" => {
            println!("trailbase {TRAILBASE}");
            return ExitCode::SUCCESS;
        }
        [folder, address] => [folder, address],
        _ => {
            eprintln!("usage: gap-trailbase DATA_FOLDER HOST:PORT, or --version");
            return ExitCode::from(2);
        }
    };
    env_logger::init_from_env(env_logger::Env::new().default_filter_or("warn"));
    match serve(folder, address).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::from(3)
        }
    }
}

async fn serve(folder: &str, address: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let options = ServerOptions {
        data_dir: DataDir(folder.into()),
        address: address.to_owned(),
        disable_auth_ui: true,
        ..ServerOptions::default()
    };
    Server::init(options).await?.serve().await
}
