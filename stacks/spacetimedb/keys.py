"""The keys of a server of our own."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

__all__ = ["write_key_pair"]


def write_key_pair(private: Path, public: Path) -> None:
    """A fresh ES256 key pair, with which the server signs the tokens it gives out."""
    key = ec.generate_private_key(ec.SECP256R1())
    private.touch(mode=0o600)
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
