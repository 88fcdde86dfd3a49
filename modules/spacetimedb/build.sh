#!/bin/sh
# Rebuilds a program from its folder and writes down what it was built from: build.sh transfer, build.sh transfer/hash
# The build is reproducible: no path of the machine enters the binary, the lock file is obeyed.
set -eu
cd "$(dirname "$0")"
modules=$PWD
if [ $# -ne 1 ] || [ ! -f "$1/Cargo.toml" ]; then
    echo "build.sh: name one folder with a Cargo.toml: $(find . -name Cargo.toml -printf '%h ' | sed 's|\./||g')" >&2
    exit 2
fi
cd "$1"

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
RUSTFLAGS="--remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$modules=/modules"
RUSTFLAGS="$RUSTFLAGS --remap-path-prefix=$build_dir=/build"
for crates in "$cargo_home"/registry/src/*; do
    RUSTFLAGS="$RUSTFLAGS --remap-path-prefix=$crates=/crates"
done
export RUSTFLAGS
cargo build --release --locked --target "$target" --target-dir "$build_dir"
cp "$build_dir/$target/release/program.wasm" program.wasm

hash_of() { sha256sum "$1" | cut -d ' ' -f 1; }
# What the compiler read of this repository, by its own account.
sources=$(sed -n 's/^[^:]*: //p' "$build_dir/$target/release/program.d" | tr ' ' '\n' | grep -F "$modules/" | xargs realpath | sort -u)
sha256sum program.wasm > program.wasm.sha256
{
    echo "# Written by build.sh; check.py compares it with the files beside it."
    echo "wasm_sha256 = \"$(hash_of program.wasm)\""
    echo "wasm_bytes = $(wc -c < program.wasm)"
    echo
    echo "# From modules/spacetimedb on."
    echo "[source_sha256]"
    for source in "$modules/build.sh" "$PWD/Cargo.lock" "$PWD/Cargo.toml" $sources; do
        echo "\"${source#"$modules/"}\" = \"$(hash_of "$source")\""
    done
    cat <<RECORD

[build]
target = "$target"
rustc = "$(rustc --version)"
cargo = "$(cargo --version)"
linker = "$linker"
command = "cargo build --release --locked --target $target"
rustflags = "--remap-path-prefix of the cargo home, its crates, the modules and the target folder"
RECORD
} > program.wasm.toml
echo "$1/program.wasm $(wc -c < program.wasm) bytes, sha256 $(hash_of program.wasm)"
