#!/usr/bin/env bash
# Checks that the lock files answer to pyproject.toml, and resolve on every platform we name.
set -euo pipefail
uv=$1

compile() {
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-header --no-annotate "$@" -o "$scratch/lock"
}

same() {
  cmp -s "$scratch/lock" "$1" || { echo "$1 is not what was asked for: run 'make lock'" >&2; exit 1; }
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for lock in "requirements-dev.lock --group dev" "requirements.lock --group local" "shared/requirements.txt"; do
  read -r file groups <<<"$lock"
  # shellcheck disable=SC2086 # the groups are words
  compile pyproject.toml $groups --constraint requirements-dev.lock
  same "$file"
done
while read -r asked; do
  compile "$asked" --constraint requirements-dev.lock
  same "${asked%.in}.txt"
done < <(find functions -name requirements.in)
compile --group pyproject.toml:deploy --constraint requirements-deploy.lock
same requirements-deploy.lock
compile --group pyproject.toml:bench --constraint requirements-bench.lock
same requirements-bench.lock
for platform in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin; do
  "$uv" pip install --quiet --dry-run --require-hashes --only-binary :all: \
    --python-platform "$platform" --target "$scratch/$platform" -r requirements.lock \
    || { echo "requirements.lock does not resolve on $platform" >&2; exit 1; }
done
