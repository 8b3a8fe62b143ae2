#!/bin/sh
# Make a virtual environment, also on a Debian that ships Python without its venv module.
set -eu
python=$1
venv=$2
if [ ! -x "$venv/bin/python" ]; then
  if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      echo "Installing the package python3-venv"
      apt-get update -qq
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
    else
      echo "$python lacks its venv module. Install it, then run make again; on Debian and Ubuntu:" >&2
      echo "  sudo apt install python3-venv" >&2
      exit 1
    fi
  fi
  if ! "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; then
    echo "This needs Python 3.11, 3.12 or 3.13, and $python is $("$python" -V). Name another: make PYTHON=python3.12 ..." >&2
    exit 1
  fi
  echo "Setting up $venv, once: a minute or two, and 700 MB"
  "$python" -m venv "$venv"
fi
