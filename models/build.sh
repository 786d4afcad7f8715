#!/bin/sh
# Rebuilds the bundled models from nothing: tokenizer, training, export.
# usage: models/build.sh [--minutes-large 45] [--minutes-small 25] [--minutes-embed 10] [--work DIR]
# Needs python3 with torch (Debian: python3-torch libopenblas0-pthread) and Node 24.5 or newer.
set -eu

models=$(cd "$(dirname "$0")" && pwd)
work=${TMPDIR:-/tmp}/shoal-models
minutes_large=45
minutes_small=25
minutes_embed=10
while [ $# -gt 0 ]; do
  case $1 in
    --minutes-large) minutes_large=$2 ;;
    --minutes-small) minutes_small=$2 ;;
    --minutes-embed) minutes_embed=$2 ;;
    --work) work=$2 ;;
    *) sed -n '2,4s/^# //p' "$0" >&2; exit 64 ;;
  esac
  shift 2
done

python=${PYTHON:-/usr/bin/python3}
node=${NODE:-$models/../node_modules/.bin/node}
[ -x "$node" ] || node=node

# One thread: these matrices are too small to share.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
mkdir -p "$work"

"$python" "$models/training/train_tokenizer.py" "$work/tokenizer.json"
"$python" "$models/training/train_chat.py" large "$work/tokenizer.json" "$work/large.safetensors" \
  --minutes "$minutes_large"
"$python" "$models/training/train_chat.py" small "$work/tokenizer.json" "$work/small.safetensors" \
  --minutes "$minutes_small"
"$python" "$models/training/train_embedding.py" "$work/tokenizer.json" "$work/embed.safetensors" \
  --minutes "$minutes_embed"

for size in large small embed; do
  "$node" "$models/gguf/export.ts" "shoal-demo-$size" "$work/$size.safetensors" "$work/tokenizer.json"
done
