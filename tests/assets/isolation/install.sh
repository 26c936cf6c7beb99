#!/usr/bin/env bash
# Installs what the attacks on the sandbox need besides Python: Debian's bubblewrap.
set -euo pipefail
command -v bwrap >/dev/null && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "There is no bubblewrap; install it (on Debian: apt-get install bubblewrap). The other boundaries are attacked." >&2
  exit 0
fi
# The installations for other tests may run at the same time, and apt serves one.
lock=${TMPDIR:-/tmp}/amemgym-apt.lock
flock "$lock" apt-get update -qq
DEBIAN_FRONTEND=noninteractive flock "$lock" apt-get install -y -qq bubblewrap >/dev/null
