#!/usr/bin/env bash
# Writes the lock files: all of them, or with TYPE=name only that of one type.
# Pins stay as long as they fit; UPGRADE=1 takes the newest version of everything.
set -euo pipefail
uv=$1 python=$2
source "$(dirname "$0")/resolve.sh"

upgrade=${UPGRADE:+--upgrade}

# Reads the requirements and the locks of the other types: on one machine all share an environment.
lock_type() {
  local asked=$1 lock
  lock=$(lock_of "$asked")
  shift
  set -- "$asked" $upgrade --constraint locks/dev.lock "$@"
  resolve "$@" -o "$lock" || {
    echo "$asked does not fit locks/dev.lock and the locks of the other types: change it" >&2
    exit 1
  }
}

if [ -n "${TYPE:-}" ]; then
  asked=functions/workers/$TYPE/requirements.in
  [ -f "$asked" ] || { echo "there is no $asked: name the packages of the type $TYPE there" >&2; exit 1; }
  others=()
  while read -r lock; do
    [ "$lock" = "$(lock_of "$asked")" ] || others+=(--constraint "$lock")
  done < <(find functions -name requirements.txt | sort)
  lock_type "$asked" ${others[@]+"${others[@]}"}
  exit
fi

resolve $upgrade pyproject.toml --group dev -o locks/dev.lock
resolve pyproject.toml --constraint locks/dev.lock --group local -o locks/local.lock
resolve pyproject.toml --constraint locks/dev.lock -o shared/requirements.txt
written=()
while read -r asked; do
  lock_type "$asked" ${written[@]+"${written[@]}"}
  written+=(--constraint "$(lock_of "$asked")")
done < <(asked_by_functions)
resolve $upgrade --group pyproject.toml:deploy -o locks/deploy.lock
resolve $upgrade --group pyproject.toml:bench -o locks/bench.lock
resolve $upgrade --group pyproject.toml:docs -o locks/docs.lock
"$python" -m taskmill_local.stores.jars lock
