# Shared by scripts/serve, scripts/test and scripts/kafka: what a fresh clone needs before
# anything runs. To be sourced. All that is made lies in the clone: .venv and .tools.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
tools=$root/.tools

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# Installs Debian packages where that may be done unasked: as root, or with a sudo that
# needs no password. Fails without a word otherwise.
apt_install() {
  command -v apt-get >/dev/null || return 1
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
  fi
  local log=$tools/apt.log
  mkdir -p "$tools"
  say "installing $* (log: ${log#"$root"/})"
  {
    "${as_root[@]}" apt-get install -y --no-install-recommends "$@" </dev/null ||
      { "${as_root[@]}" apt-get update &&
        "${as_root[@]}" apt-get install -y --no-install-recommends "$@" </dev/null; }
  } >"$log" 2>&1
}

# A Python of at least 3.11: $PYTHON, or the first that is found.
find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} python3.11 python3 python3.12 python3.13 python3.14; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  die "Python 3.11 or newer is needed: install python3, or set PYTHON to its path"
}

make_venv() {
  make_empty_venv
  # The clone's own packages, found from any folder; what runs in the clone comes first.
  local site
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  printf '%s\n' "$root" "$root/protocol" >"$site/mockbroker-clone.pth"
}

make_empty_venv() {
  [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 && return
  local python
  python=$(find_python)
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    apt_install python3-venv && "$python" -c 'import ensurepip, venv' 2>/dev/null ||
      die "$python cannot make a virtual environment: install the package python3-venv"
  fi
  say "making ${venv#"$root"/} with $("$python" --version)"
  "$python" -m venv --clear "$venv"
}

# install_lock NAME STAMP_DIR [PIP OPTIONS]: once for each content of requirements/NAME.txt.
install_lock() {
  local lock=$root/requirements/$1.txt stamp=$2/.lock-$1 sum
  sum=$(sha256sum <"$lock")
  # A folder other than the venv outlives a venv of another Python.
  [ "$2" = "$venv" ] || sum+=" $("$venv/bin/python" --version)"
  shift 2
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$sum" ] && return
  say "installing ${lock#"$root"/}"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --require-hashes "$@" --requirement "$lock"
  printf '%s\n' "$sum" >"$stamp"
}

# The quick way past everything above: both stamps are looked at before pip is.
lock_is_installed() {
  [ -x "$venv/bin/python" ] && [ -f "$venv/.lock-$1" ] &&
    [ "$(cat "$venv/.lock-$1")" = "$(sha256sum <"$root/requirements/$1.txt")" ]
}
