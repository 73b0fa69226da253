#!/usr/bin/env bash
# Make the bundle, carry it to another folder and use it there without the checkout and without Python: commands, a
# training in a child process, an equation, the entry of the menu, pictures of every workspace. Takes minutes, so it is
# not among the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-.venv/bin/python}
"$python" -m pip install --quiet pyinstaller
"$python" -m PyInstaller --noconfirm --log-level ERROR packaging/mrfstudio.spec
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r dist/mrfstudio "$place/program"
mkdir "$place/program/mrfstudio-data" "$place/work" # portable: nothing is written elsewhere
run() { (cd "$place/work" && env -i HOME="$place" PATH=/usr/bin:/bin QT_QPA_PLATFORM=offscreen "$place/program/mrfstudio" "$@"); }
run --version
run infer ring:5 --algorithm exact --json - >/dev/null
run train grid --clones 4 --max-minutes 0.2 --out small.safetensors >/dev/null
test -s "$place/work/small.safetensors"
run lesson a-loop-counts-twice --out lesson.html >/dev/null
grep -q "<svg" "$place/work/lesson.html" # an equation was set
run desktop >/dev/null
grep -q "Exec=\"$place/program/mrfstudio\" %f" "$place/.local/share/applications/mrfstudio.desktop"
run tour --out pictures >/dev/null
ls "$place/work/pictures" | sed 's/^/  picture: /'
"$python" packaging/keep_row.py bundle "$place/program" "$place/program/mrfstudio"
