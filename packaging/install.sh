#!/bin/sh
# Makes this machine a cell: installs the packages that lie beside this script, joins the fleet and
# starts the daemon.
#
#   sudo ./install.sh https://shoal.example:7070 TOKEN_FILE [--with-gpu-engines]
#
# TOKEN_FILE is - for standard input: every user of a machine can read the arguments of a program.
# Where the machine is a cell already nothing is joined and no token is read.
set -eu

usage() {
  echo "usage: $0 URL TOKEN_FILE [--with-gpu-engines]; - is standard input" >&2
  exit 64
}
[ $# -ge 2 ] || usage
url=$1
token_file=$2
case $token_file in - | /*) ;; *) token_file=$PWD/$token_file ;; esac
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
if [ ! -e /var/lib/shoald/identity.json ]; then
  umask 077
  file=$(mktemp)
  trap 'rm -f "$file"' EXIT
  if [ "$token_file" = - ]; then cat > "$file"; else cat -- "$token_file" > "$file"; fi
  shoald join "$url" --token-file "$file"
fi
systemctl restart shoald
shoald doctor
