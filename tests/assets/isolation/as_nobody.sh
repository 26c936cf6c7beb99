#!/usr/bin/env bash
# Runs a command as an ordinary user: `as_nobody.sh PYTHON ARGUMENTS...`. Root goes on as the user nobody, to whom the interpreter is
# shown in its place where that lies in a folder that is closed, such as root's home.
set -euo pipefail
[ "$(id -u)" = 0 ] || exec "$@"
prefix=$("$1" -c 'import sys; print(sys.base_prefix)')
export prefix
exec unshare --mount bash -euc '
  is_open() { setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$1"; }
  if ! is_open "$prefix"; then
    closed=$prefix
    until is_open "$(dirname "$closed")"; do closed=$(dirname "$closed"); done
    aside=$(mktemp -d)
    mount --bind "$prefix" "$aside"
    mount -t tmpfs -o mode=755 tmpfs "$closed"
    mkdir -p "$prefix"
    mount --move "$aside" "$prefix"
    rmdir "$aside"
  fi
  home=$(mktemp -d)
  trap "rm -rf \"$home\"" EXIT
  touch "$home/letters"
  chown -R 65534:65534 "$home"
  setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$home" AMEMGYM_HOME="$home/data" "$@"
' bash "$@"
