# shellcheck shell=bash
# Resolves dependencies, shared by the scripts that write and that check the lock files.

resolve() {
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-header --no-annotate "$@"
}

# The requirements of the functions, and where each is pinned.
asked_by_functions() { find functions -name requirements.in | sort; }
lock_of() { echo "${1%.in}.txt"; }
type_of() { basename "$(dirname "$1")"; }
