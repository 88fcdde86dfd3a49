#!/bin/sh
# Rebuilds bank.wasm from this folder and writes down what it was built from.
# The build is reproducible: no path of the machine enters the binary, the lock file is obeyed.
set -eu
cd "$(dirname "$0")"

target=wasm32-unknown-unknown
sysroot=$(rustc --print sysroot)
if [ ! -d "$sysroot/lib/rustlib/$target" ]; then
    echo "build.sh: this rustc has no $target target. Install it with: rustup target add $target;" \
        "or on Debian trixie: apt-get install cargo gcc lld libstd-rust-dev-wasm32" >&2
    exit 2
fi

# Debian ships the wasm linker as wasm-ld, rustup brings its own rust-lld.
linker=rust-lld
if [ -z "$(find "$sysroot/lib/rustlib" -name rust-lld -print -quit)" ]; then
    linker=wasm-ld
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$linker
fi

build_dir=$(mktemp -d)
trap 'rm -rf "$build_dir"' EXIT
cargo_home=${CARGO_HOME:-$HOME/.cargo}
cargo fetch --locked
# Where several prefixes match, rustc takes the last one named.
RUSTFLAGS="--remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$PWD=/bank --remap-path-prefix=$build_dir=/build"
for crates in "$cargo_home"/registry/src/*; do
    RUSTFLAGS="$RUSTFLAGS --remap-path-prefix=$crates=/crates"
done
export RUSTFLAGS
cargo build --release --locked --target "$target" --target-dir "$build_dir"
cp "$build_dir/$target/release/bank.wasm" bank.wasm

hash_of() { sha256sum "$1" | cut -d ' ' -f 1; }
sha256sum bank.wasm > bank.wasm.sha256
cat > bank.wasm.toml <<RECORD
# Written by build.sh; check.py compares it with the files beside it.
wasm_sha256 = "$(hash_of bank.wasm)"
wasm_bytes = $(wc -c < bank.wasm)

[source_sha256]
"Cargo.lock" = "$(hash_of Cargo.lock)"
"Cargo.toml" = "$(hash_of Cargo.toml)"
"build.sh" = "$(hash_of build.sh)"
"src/lib.rs" = "$(hash_of src/lib.rs)"

[build]
target = "$target"
rustc = "$(rustc --version)"
cargo = "$(cargo --version)"
linker = "$linker"
command = "cargo build --release --locked --target $target"
rustflags = "--remap-path-prefix of the cargo home, its crates, this folder and the target folder"
RECORD
echo "bank.wasm $(wc -c < bank.wasm) bytes, sha256 $(hash_of bank.wasm)"
