#!/usr/bin/env bash
# Installs the project with its optional extras in an environment of its own: they bring other versions than the project's lock.
set -euo pipefail
python=$1 venv=$2
if [ "$venv/.ready" -nt tests/extras/requirements.lock ] && [ "$venv/.ready" -nt pyproject.toml ]; then
  exit 0
fi
test -x "$venv/bin/python" || "$python" -m venv "$venv"
echo "Installing the optional extras into $venv (once; a minute or two) ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement tests/extras/requirements.lock
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
touch "$venv/.ready"
