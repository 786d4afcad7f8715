#!/bin/sh
# Makes this machine a cell: installs the packages that lie beside this script, joins the fleet and
# starts the daemon.
#
#   sudo ./install.sh https://shoal.example:7070 TOKEN [--with-gpu-engines]
set -eu

usage() {
  echo "usage: $0 URL TOKEN [--with-gpu-engines]" >&2
  exit 64
}
[ $# -ge 2 ] || usage
url=$1
token=$2
engines=${3-}
[ -z "$engines" ] || [ "$engines" = --with-gpu-engines ] || usage
[ "$(id -u)" = 0 ] || { echo "$0: root installs packages; use sudo" >&2; exit 77; }

cd "$(dirname "$0")"
architecture=$(dpkg --print-architecture)
set -- shoald_*_"$architecture".deb
[ -z "$engines" ] || set -- "$@" shoald-gpu-engines_*_"$architecture".deb
for file in "$@"; do
  [ -f "$file" ] || { echo "$0: $file is not here" >&2; exit 66; }
  grep -F "  $file" SHA256SUMS | sha256sum --check --strict --quiet
done

dpkg --install "$@"
umask 077
file=$(mktemp)
trap 'rm -f "$file"' EXIT
printf '%s\n' "$token" > "$file"
shoald join "$url" --token-file "$file"
systemctl restart shoald
shoald doctor
