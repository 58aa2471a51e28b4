#!/bin/sh
# What the compiler does not see: files that do not begin with what they are for, long lines, trailing white space,
# unfinished work, and files too long to read.
# tests/golden is generated.
set -eu
cd "$(dirname "$0")/.."

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

# What a test or a user's run leaves in the root does not belong to the sources.
if [ -d .git ] || [ -f .git ]; then
    stray=$(git ls-files '*.glb' '*.obj' '*.ply' '*.png' '*.jpg' '*.mtl' | grep -vE '^(docs|tests)/' || true)
    [ -z "$stray" ] || { echo "outputs among the sources: $stray"; exit 1; }
fi
