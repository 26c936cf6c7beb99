#!/usr/bin/env bash
# Makes an environment over .venv: it has the packages of a lock and the project, without installing again what .venv has.
set -euo pipefail
python=$1 venv=$2 lock=$3
test -x "$venv/bin/python" || "$python" -m venv "$venv"
packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
packages .venv > "$(packages "$venv")/beneath.pth"
pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$@"; }
pip --require-hashes --requirement "$lock"
pip --no-build-isolation --editable .
