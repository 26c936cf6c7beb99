#!/usr/bin/env bash
# Installs verifiers over .venv, in an environment of its own: it wants other versions of the same packages.
set -euo pipefail
python=$1 place=$2
lock=tests/environments/verifiers.lock
ready=$place/verifiers/.ready
if [ "$ready" -nt "$lock" ] && [ "$ready" -nt pyproject.toml ]; then
  exit 0
fi
echo "Installing verifiers into $place/verifiers (once; half a minute) ..."
mkdir -p "$place"
tests/support/environment.sh "$python" "$place/verifiers" "$lock"
touch "$ready"
