#!/usr/bin/env bash
# Checks that the lock files match the requirements, and resolve on every supported platform.
set -euo pipefail
uv=$1
source "$(dirname "$0")/resolve.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

same() {
  cmp -s "$scratch/lock" "$1" || { echo "$1 is not what was asked for: run 'make lock$2'" >&2; exit 1; }
}

for lock in "locks/dev.lock --group dev" "locks/local.lock --group local" "shared/requirements.txt"; do
  read -r file groups <<<"$lock"
  # shellcheck disable=SC2086 # the groups are words
  resolve pyproject.toml $groups --constraint locks/dev.lock -o "$scratch/lock"
  same "$file" ""
done
while read -r asked; do
  lock=$(lock_of "$asked")
  [ -f "$lock" ] || { echo "$asked has no lock: run 'make lock TYPE=$(type_of "$asked")'" >&2; exit 1; }
  resolve "$asked" --constraint locks/dev.lock --constraint "$lock" -o "$scratch/lock"
  same "$lock" " TYPE=$(type_of "$asked")"
done < <(asked_by_functions)
for group in deploy bench docs; do
  resolve --group "pyproject.toml:$group" --constraint "locks/$group.lock" -o "$scratch/lock"
  same "locks/$group.lock" ""
done
for platform in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin; do
  "$uv" pip install --quiet --dry-run --require-hashes --only-binary :all: \
    --python-platform "$platform" --target "$scratch/$platform" -r locks/local.lock \
    || { echo "locks/local.lock does not resolve on $platform" >&2; exit 1; }
done
