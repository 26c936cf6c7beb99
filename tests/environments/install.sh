#!/usr/bin/env bash
# Installs verifiers and OpenEnv over .venv, in an environment each: they want different versions of the same packages.
set -euo pipefail
python=$1 place=$2
for name in verifiers openenv; do
  lock=tests/environments/$name.lock
  ready=$place/$name/.ready
  if [ "$ready" -nt "$lock" ] && [ "$ready" -nt pyproject.toml ]; then
    continue
  fi
  echo "Installing $name into $place/$name (once; half a minute) ..."
  mkdir -p "$place"
  tests/support/environment.sh "$python" "$place/$name" "$lock"
  touch "$ready"
done
