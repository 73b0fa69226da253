#!/usr/bin/env bash
# Build the wheel and use it from clean environments: pip, `uv tool install`, `pipx run`. Takes minutes and fetches
# packages, so it is not among the tests. Prints the size and the time of the first start of each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python=${PYTHON:-.venv/bin/python}
"$python" -m hatchling build --target wheel --directory "$place" >/dev/null
wheel=$(ls "$place"/mrfstudio-*.whl)
graph="$place/pair.uai"
printf 'MARKOV\n2\n2 2\n1\n2 0 1\n4\n2 1 1 2\n' >"$graph"

try() { # NAME COMMAND...
    local name=$1 begin=$SECONDS
    shift
    (cd "$place" && "$@" --version && "$@" infer "$graph" --algorithm exact --json - >/dev/null)
    echo "$name works, $((SECONDS - begin)) s"
}

"$python" -m venv "$place/pip"
"$place/pip/bin/pip" install --quiet "$wheel"
try pip "$place/pip/bin/mrfstudio"
"$python" packaging/keep_row.py "wheel, with pip" "$place/pip" "$place/pip/bin/mrfstudio"
if command -v uv >/dev/null; then
    UV_TOOL_DIR="$place/uv" UV_TOOL_BIN_DIR="$place/bin" uv tool install --quiet "$wheel"
    try "uv tool" "$place/bin/mrfstudio"
else
    echo "uv is not here: skipped"
fi
if command -v pipx >/dev/null; then
    PIPX_HOME="$place/pipx" try "pipx run" pipx run --spec "$wheel" mrfstudio
else
    echo "pipx is not here: skipped"
fi
