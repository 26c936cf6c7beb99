#!/usr/bin/env bash
# Installs the project with its extra `cluster` in an environment of its own, and Debian's Redis and PostgreSQL if they are missing.
set -euo pipefail
python=$1 venv=$2
missing=()
command -v redis-server >/dev/null || missing+=(redis-server)
command -v postgres >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || missing+=(postgresql)
if [ "${#missing[@]}" != 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "Missing: ${missing[*]}; install Redis and PostgreSQL (on Debian: apt-get install redis-server postgresql)." >&2
    exit 1
  fi
  # The installations for other tests may run at the same time, and apt serves one.
  lock=${TMPDIR:-/tmp}/amemgym-apt.lock
  flock "$lock" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive flock "$lock" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
test -x "$venv/bin/python" || "$python" -m venv "$venv"
echo "Installing the extra \`cluster\` into $venv (once; a minute or two) ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement tests/cluster/requirements.lock
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
touch "$venv/.ready"
