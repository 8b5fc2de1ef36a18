#!/usr/bin/env bash
# Checks the templates with AWS's own tools, and against our rules.
set -euo pipefail
bin=$1 deploy=$2
export SAM_CLI_TELEMETRY=0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export __SAM_CLI_APP_DIR="$scratch/sam" # else it leaves a folder in the home
ln -s "$PWD/infra" "$scratch/infra" # the expanded template refers to the nested ones
"$bin/python" -m infra.check_template "$scratch/expanded.json"
"$deploy/sam" validate --lint >"$scratch/told" 2>&1 || { cat "$scratch/told" >&2; exit 1; }
# W3002: local files need packaging, which `sam deploy` does
"$deploy/cfn-lint" --non-zero-exit-code warning --ignore-checks W3002 -- \
  "$scratch/expanded.json" infra/{network,data,function_alarms}.yaml
