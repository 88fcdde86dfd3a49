//! What the layer is told on its standard input, and what it answers: one line of JSON each.

use serde::{Deserialize, Serialize};
use serde_json::{json, Value};

use crate::cut::Survivors;
use crate::layer::{Failing, Layer, Totals};
use crate::overlay::Unsynced;
use crate::tree::{Counts, Kind};

#[derive(Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
enum Command {
    /// Switch the power off.
    Cut {
        #[serde(default)]
        survive: Survivors,
        #[serde(default)]
        seed: u64,
    },
    /// Make the next fsyncs of files fail whose path contains this.
    FailFsync {
        count: u64,
        #[serde(default)]
        contains: String,
    },
    /// Let all files together grow by so many bytes, then say that the disk is full.
    Full { bytes: u64 },
    /// Say what was written and synced.
    Stats {},
    /// Make everything durable.
    Sync {},
}

#[derive(Serialize)]
struct FileStats {
    path: String,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize)]
struct Stats {
    totals: Totals,
    files: Vec<FileStats>,
    removed_files: Counts,
    unsynced_pages: u64,
    unsynced_bytes: u64,
    unsynced_changes: usize,
}

/// Does what a line says; the answer is a line too, with `error` when it was not done.
pub fn answer(layer: &mut Layer, line: &str) -> Value {
    let done = match serde_json::from_str(line) {
        Err(error) => Err(format!("command: {error}")),
        Ok(command) => obey(layer, command),
    };
    done.unwrap_or_else(|error| json!({ "error": error }))
}

fn obey(layer: &mut Layer, command: Command) -> Result<Value, String> {
    if let (Some(trouble), false) = (layer.trouble(), matches!(command, Command::Stats {})) {
        return Err(trouble.to_owned());
    }
    let in_words = |error: serde_json::Error| error.to_string();
    match command {
        Command::Cut { survive, seed } => {
            let report = layer.cut(survive, seed).map_err(|error| format!("cut: {error}"))?;
            serde_json::to_value(report).map_err(in_words)
        }
        Command::FailFsync { count: 0, .. } => Err("fail-fsync: count must be 1 or more".to_owned()),
        Command::FailFsync { count, contains } => {
            layer.failing.push(Failing { count, contains });
            Ok(json!({}))
        }
        Command::Full { bytes } => {
            layer.room_bytes = Some(bytes);
            Ok(json!({}))
        }
        Command::Stats {} => serde_json::to_value(stats(layer)).map_err(in_words),
        Command::Sync {} => match layer.sync_all() {
            Ok(()) => Ok(json!({})),
            Err(error) => Err(format!("sync: {}", layer.trouble().unwrap_or(error.desc()))),
        },
    }
}

fn stats(layer: &Layer) -> Stats {
    let mut files: Vec<FileStats> = layer
        .tree
        .iter()
        .filter(|(_, node)| node.counts.writes + node.counts.fsyncs > 0)
        .map(|(number, node)| FileStats {
            path: layer.tree.path(number).to_string_lossy().into_owned(),
            counts: node.counts,
        })
        .collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let unsynced: Vec<Unsynced> = layer
        .tree
        .iter()
        .filter_map(|(_, node)| match &node.kind {
            Kind::File(overlay) => Some(overlay.unsynced()),
            _ => None,
        })
        .flatten()
        .collect();
    Stats {
        totals: layer.totals,
        files,
        removed_files: layer.removed,
        unsynced_pages: unsynced.len() as u64,
        unsynced_bytes: unsynced.iter().map(|page| page.bytes).sum(),
        unsynced_changes: layer.journal.len(),
    }
}
