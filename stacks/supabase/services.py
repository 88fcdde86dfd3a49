"""The containers of Supabase, each with the environment that the makers' compose file gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gapbook.declared.stack import Limits
from gapbook.deploy.process import LOOPBACK

if TYPE_CHECKING:
    from gapbook.deploy.container import Container
    from gapbook.deploy.containers import Containers
    from gapbook.deploy.images import Image

__all__ = ["start_database", "start_gateway", "start_rest"]

_DATA = "/var/lib/postgresql/data"
"""The image's own configuration file names this folder."""
_CONFIGURATION = "/home/kong/kong.yml"
_TOKEN_LIFE_S = "3600"


def start_database(
    containers: Containers,
    image: Image,
    *,
    limits: Limits,
    port: int,
    password: str,
    secret: str,
    settings: Mapping[str, str],
) -> Container:
    """Postgres as the image has it configured, with settings over it; it is the container ``supabase``.

    On the host's network all services listen on loopback alone: this machine's own network must not reach them.
    """
    options = {"config_file": "/etc/postgresql/postgresql.conf", "log_min_messages": "fatal", **settings}
    if containers.on_host_network:
        options["listen_addresses"] = LOOPBACK
    words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    return containers.start(
        image,
        name="supabase",
        command=["postgres", *words, "-c", f"port={port}"],
        ports={port: port},
        limits=limits,
        environment={
            "POSTGRES_HOST": "/var/run/postgresql",
            "PGPORT": str(port),
            "POSTGRES_PORT": str(port),
            "PGPASSWORD": password,
            "POSTGRES_PASSWORD": password,
            "PGDATABASE": "postgres",
            "POSTGRES_DB": "postgres",
            "JWT_SECRET": secret,
            "JWT_EXP": _TOKEN_LIFE_S,
        },
        data=_DATA,
    )


def start_rest(
    containers: Containers, image: Image, *, port: int, database: str, password: str, secret: str
) -> Container:
    """PostgREST; ``database`` is ``HOST:PORT/NAME`` as its container reaches it."""
    return containers.start(
        image,
        name="rest",
        command=["postgrest"],
        ports={port: port},
        environment={
            "PGRST_DB_URI": f"postgres://authenticator:{password}@{database}",
            "PGRST_DB_SCHEMAS": "public",
            "PGRST_DB_MAX_ROWS": "1000",
            "PGRST_DB_EXTRA_SEARCH_PATH": "public",
            "PGRST_DB_ANON_ROLE": "anon",
            "PGRST_JWT_SECRET": secret,
            "PGRST_DB_USE_LEGACY_GUCS": "false",
            "PGRST_APP_SETTINGS_JWT_SECRET": secret,
            "PGRST_APP_SETTINGS_JWT_EXP": _TOKEN_LIFE_S,
            "PGRST_SERVER_PORT": str(port),
            **({"PGRST_SERVER_HOST": LOOPBACK} if containers.on_host_network else {}),
        },
        data=None,
    )


def start_gateway(containers: Containers, image: Image, *, port: int, configuration: bytes) -> Container:
    """Kong without a database, as the compose file runs it; it listens on ``port`` alone."""
    return containers.start(
        image,
        name="kong",
        command=["kong", "docker-start"],
        ports={port: port},
        environment={
            "KONG_DATABASE": "off",
            "KONG_DECLARATIVE_CONFIG": _CONFIGURATION,
            "KONG_DNS_ORDER": "LAST,A,CNAME",
            "KONG_PLUGINS": "request-transformer,cors,key-auth,acl,basic-auth,request-termination,ip-restriction",
            "KONG_NGINX_PROXY_PROXY_BUFFER_SIZE": "160k",
            "KONG_NGINX_PROXY_PROXY_BUFFERS": "64 160k",
            "KONG_PROXY_LISTEN": f"{LOOPBACK if containers.on_host_network else '0.0.0.0'}:{port}",
            "KONG_ADMIN_LISTEN": "off",
        },
        files={_CONFIGURATION: configuration},
        data=None,
    )
