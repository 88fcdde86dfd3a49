#!/bin/sh
# Makes a cluster in PGDATA unless there is one, then runs the command, both as a user who is not root.
# POSTGRES_PASSWORD is that of the superuser, POSTGRES_INITDB_ARGS are words for initdb, as with the official image.
set -eu

as_nobody="setpriv --reuid=nobody --regid=nogroup --clear-groups"
mkdir -p "$PGDATA"
chown nobody:nogroup "$PGDATA"
chmod 0700 "$PGDATA"

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    password_file=$(mktemp)
    printf '%s' "$POSTGRES_PASSWORD" >"$password_file"
    chown nobody:nogroup "$password_file"
    # shellcheck disable=SC2086  (the arguments are words)
    $as_nobody initdb --pgdata="$PGDATA" --pwfile="$password_file" --username=postgres $POSTGRES_INITDB_ARGS
    rm "$password_file"
    # Who comes over a bridge has another address than loopback.
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
fi
exec $as_nobody "$@"
