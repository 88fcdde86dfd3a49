"""The keys of a server of our own."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["key_pair", "write_key_pair"]


def write_key_pair(private: Path, public: Path) -> None:
    """A fresh pair in two files, the private one for this user alone."""
    private.touch(mode=0o600)
    for path, key in zip((private, public), key_pair(), strict=True):
        path.write_bytes(key)


def key_pair() -> tuple[bytes, bytes]:
    """A fresh ES256 key pair, private and public, with which the server signs the tokens it gives out."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public
