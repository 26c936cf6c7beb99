#!/usr/bin/env bash
# Installs the project with its extra `cluster` in an environment over .venv, and Debian's Redis and PostgreSQL if they are missing.
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
echo "Installing the extra \`cluster\` into $venv (once) ..."
tests/support/environment.sh "$python" "$venv" tests/cluster/requirements.lock
touch "$venv/.ready"
