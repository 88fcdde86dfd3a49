//! JSON lines on standard error.

use std::io::Write;

use serde_json::{json, Value};

/// Progress must not end a trial: a reader that went away is ignored.
fn emit(line: &Value) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

pub fn ready() {
    emit(&json!({"event": "ready"}));
}

pub fn window_start() {
    emit(&json!({"event": "window_start"}));
}

pub fn window_end() {
    emit(&json!({"event": "window_end"}));
}

pub fn progress(phase: &str, elapsed_s: f64, acknowledged: u64, failed: u64) {
    let elapsed_s = (elapsed_s * 1000.0).round() / 1000.0;
    emit(&json!({
        "event": "progress", "phase": phase, "elapsed_s": elapsed_s, "acknowledged": acknowledged, "failed": failed
    }));
}

pub fn connection_lost(connection: u32, reason: &str) {
    emit(&json!({"event": "connection_lost", "connection": connection, "reason": reason}));
}

pub fn error(message: &str) {
    emit(&json!({"event": "error", "message": message}));
}
