#!/bin/sh
# Make a virtual environment, also on a Debian that ships Python without its venv module.
set -eu
python=$1
venv=$2
if [ ! -x "$venv/bin/python" ]; then
  if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      apt-get update -qq
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
    else
      echo "Python lacks its venv module: install the package python3-venv and run make again" >&2
      exit 1
    fi
  fi
  "$python" -m venv "$venv"
fi
