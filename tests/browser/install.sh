#!/usr/bin/env bash
# Installs what the browser test needs: Debian's chromium, and the locked packages in the given environment.
set -euo pipefail
python=$1
if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "There is no chromium; install it (on Debian: apt-get install chromium), or set CHROMIUM to a browser's path." >&2
    exit 1
  fi
  # The installations for other tests may run at the same time, and apt serves one.
  lock=${TMPDIR:-/tmp}/amemgym-apt.lock
  flock "$lock" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive flock "$lock" apt-get install -y -qq chromium >/dev/null
fi
"$python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement tests/browser/requirements.lock
