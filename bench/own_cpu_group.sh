#!/bin/sh
# A Postgres server in the control group that CPU_GROUP names, for python -m bench.explain own-cpu-group: put this
# file, as postgres, beside the programs of a Postgres whose own server is called postgres.real. The group is a folder
# of a cgroup hierarchy with the cpu controller, whose cgroup.procs the account of the server may write.
[ -n "$CPU_GROUP" ] && echo $$ > "$CPU_GROUP/cgroup.procs"
exec "$(dirname "$0")/postgres.real" "$@"
