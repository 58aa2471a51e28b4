#!/bin/sh
# Style that the compiler does not check: an opening comment in each file, long lines, trailing white space, unfinished
# work, files too long to read, rooms without a page, words and openings that are hard to read (check_english.py).
# tests/golden is generated.
set -eu
cd "$(dirname "$0")/.."
failed=0

find src include tests samples -type f ! -path 'tests/golden/*' ! -path '*/node_modules/*' \
    \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' \) -print |
    LC_ALL=C sort | xargs awk '
    function complain(what) { printf "%s:%d: %s\n", FILENAME, FNR, what; failed = 1 }
    FNR == 1 && !/^\/\*/                                         { complain("no opening comment") }
    length($0) > 120                                            { complain("longer than 120 columns") }
    /[ \t\r]$/                                                  { complain("white space at the end") }
    /(^|[^A-Za-z0-9_])(TODO|FIXME|XXX)([^A-Za-z0-9_]|$)/        { complain("unfinished work") }
    FNR == 901                                                  { complain("too many lines in this file") }
    END { exit failed }'

# A room's page: at most 60 lines. Every file or folder that it names lies in the room, in a folder of the room, in include/
# or on a path from the root. (<name>.c stands for many files.)
for room in src/engine/*/ src/program/*/; do
    page=${room}README.md
    [ -f "$page" ] || { echo "$page: missing: each room has a page of at most 60 lines"; failed=1; continue; }
    [ "$(wc -l <"$page")" -le 60 ] || { echo "$page: more than 60 lines"; failed=1; }
    for name in $(sed -E 's/<[a-z]+>[a-z_.]*//g' "$page" | tr -c 'A-Za-z0-9_./*-' '\n' |
        grep -E '^[A-Za-z0-9_].*(\.(c|h|def|cu|cuh|inc)|/)$' | sort -u); do
        ls -d "$room"$name "$room"*/$name $name include/$name 2>/dev/null | grep -q . ||
            { echo "$page: no file $name"; failed=1; }
    done
done

# Outputs of a test or of a user's run in the root do not belong to the sources.
if [ -d .git ] || [ -f .git ]; then
    stray=$(git ls-files '*.glb' '*.obj' '*.ply' '*.png' '*.jpg' '*.mtl' | grep -vE '^(docs|tests)/' || true)
    [ -z "$stray" ] || { echo "outputs among the sources: $stray"; exit 1; }
fi

if command -v python3 >/dev/null 2>&1; then
    scripts/check_english.py || failed=1
else
    echo "SKIPPED: the English of comments and documents: there is no Python 3"
fi
exit $failed
