#!/usr/bin/env bash
# Installs what the browser test needs: Debian's chromium, and the locked driver package in the given environment.
set -euo pipefail
python=$1
if ! command -v chromium >/dev/null; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null
fi
"$python" -m pip install --quiet --disable-pip-version-check --require-hashes --requirement tests/browser/requirements.lock
