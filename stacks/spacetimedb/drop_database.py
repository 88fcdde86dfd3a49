"""Deletes the database of one run from a SpacetimeDB server that is not ours, and nothing else.

    GAPBOOK_SPACETIMEDB_TOKEN=TOKEN python drop_database.py http://127.0.0.1:3000 gapbook-0123456789abcdef

Run by whoever of run, warden and next start still lives, as often as needed: a database that is not there is
none to delete. The token is that of the run, to which no other database belongs.
"""

from __future__ import annotations

import os
import re
import sys
import urllib.error
import urllib.request

_ANSWERED_WITHIN_S = 15.0
_NOT_FOUND = 404


def main() -> str | None:
    """The reason of a failure in one line, which becomes the exit code 1; None once the database is gone."""
    server, database = sys.argv[1:]
    if not re.fullmatch(r"gapbook-[0-9a-f]{16}", database):
        return f"{database!r} is no name of ours"
    request = urllib.request.Request(
        f"{server}/v1/database/{database}",
        method="DELETE",
        headers={"Authorization": f"Bearer {os.environ['GAPBOOK_SPACETIMEDB_TOKEN']}"},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        direct.open(request, timeout=_ANSWERED_WITHIN_S).close()
    except urllib.error.HTTPError as error:
        if error.code != _NOT_FOUND:
            said = error.read(300).decode(errors="replace").strip()
            return f"the server answered {error.code}: {' '.join(said.split())}"
    except (urllib.error.URLError, OSError) as error:
        return str(getattr(error, "reason", error))
    return None


if __name__ == "__main__":
    sys.exit(main())
