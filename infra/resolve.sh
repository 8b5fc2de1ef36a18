# shellcheck shell=bash
# How dependencies are resolved, for those who write the lock files and those who check them.

resolve() {
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-header --no-annotate "$@"
}

# The requirements of the functions, and where each is pinned.
asked_by_functions() { find functions -name requirements.in | sort; }
lock_of() { echo "${1%.in}.txt"; }
type_of() { basename "$(dirname "$1")"; }
