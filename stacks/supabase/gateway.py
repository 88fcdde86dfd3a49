"""What the gateway lets through, and the key that opens it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

__all__ = ["gateway_configuration", "signed_token"]

_LIFE_S = 24 * 3600


def gateway_configuration(rest_url: str, anonymous_key: str) -> bytes:
    """The route to PostgREST as the makers' docker/volumes/api/kong.yml has it: a key is asked for, and belongs to a
    group that may pass. JSON is YAML, which is what the gateway reads."""
    described = {
        "_format_version": "2.1",
        "_transform": True,
        "consumers": [{"username": "anon", "keyauth_credentials": [{"key": anonymous_key}]}],
        "acls": [{"consumer": "anon", "group": "anon"}],
        "services": [
            {
                "name": "rest-v1",
                "url": rest_url,
                "routes": [{"name": "rest-v1-all", "strip_path": True, "paths": ["/rest/v1/"]}],
                "plugins": [
                    {"name": "cors"},
                    {"name": "key-auth", "config": {"hide_credentials": False}},
                    {"name": "acl", "config": {"hide_groups_header": True, "allow": ["admin", "anon"]}},
                ],
            }
        ],
    }
    return json.dumps(described, indent=1).encode()


def signed_token(secret: str, role: str) -> str:
    """A JSON Web Token (RFC 7519, HS256) for a role of the database, as Supabase's API keys are."""
    now = int(time.time())
    head = {"alg": "HS256", "typ": "JWT"}
    body = {"role": role, "iss": "supabase", "iat": now, "exp": now + _LIFE_S}
    signed = b".".join(_base64(json.dumps(part, separators=(",", ":")).encode()) for part in (head, body))
    signature = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return b".".join((signed, _base64(signature))).decode()


def _base64(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")
