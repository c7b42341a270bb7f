#!/usr/bin/env bash
# Make the virtual environment of one peer: setup.sh hf|joeynmt|eole DIR  ->  DIR/PEER/bin/python
set -euo pipefail

peer=${1:-}
dir=${2:-}
torch="torch==2.13.0"

case "$peer" in
  hf) packages=("transformers==5.22.2" "accelerate==1.15.0" "sentencepiece==0.2.2") ;;
  # joeynmt imports importlib_metadata without asking for it, and calls a method that sentencepiece 0.2.2 removed.
  joeynmt) packages=("joeynmt==2.3.0" importlib_metadata "sentencepiece==0.2.0" safetensors) ;;
  # eole imports aiohttp without asking for it.
  eole) packages=("eole==0.6.4" aiohttp) ;;
  *) peer= ;;
esac
if [[ -z $peer || -z $dir ]]; then
  echo "usage: setup.sh hf|joeynmt|eole DIR" >&2
  exit 2
fi

venv=$dir/$peer
done_mark=$venv/.installed
wanted="$torch ${packages[*]}"
if [[ -f $done_mark && $(<"$done_mark") == "$wanted" ]]; then
  exit 0
fi

"${PYTHON:-python3.11}" -m venv "$venv"
pip=("$venv/bin/python" -m pip install -qq --disable-pip-version-check)
"${pip[@]}" "$torch"
# Naming torch again keeps the peer's own requirements from moving it.
"${pip[@]}" "$torch" "${packages[@]}"
printf '%s' "$wanted" >"$done_mark"
