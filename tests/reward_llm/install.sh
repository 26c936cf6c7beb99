#!/usr/bin/env bash
# Installs torch, transformers and peft over .venv. They have no lock: its hashes would be those of torch's builds for GPUs.
set -euo pipefail
python=$1 venv=$2
ready=$venv/.ready wanted=tests/reward_llm/requirements.txt
if [ "$ready" -nt "$wanted" ] && [ "$ready" -nt pyproject.toml ]; then
  exit 0
fi
echo "Installing torch into $venv (once; a minute, 1.2 GB; several GB where pip finds a build for GPUs alone) ..."
test -x "$venv/bin/python" || "$python" -m venv "$venv"
packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
packages .venv > "$(packages "$venv")/beneath.pth"
pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
pip --requirement "$wanted"
pip --no-deps --no-build-isolation --editable .
touch "$ready"
