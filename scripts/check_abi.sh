#!/bin/sh
# check_abi.sh COMMIT: builds the libraries of COMMIT, a release, and those of the working tree, with what debuggers read,
# and lets abidiff (abigail-tools, in Debian) compare functions, structs and enums of the public headers. What it prints
# breaks programs that were compiled against COMMIT: it belongs into a new minor version. Left out are fields at the end
# of structs that begin with their size, new functions and values of enums. Minutes; run it before a release.
set -eu
[ $# -eq 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/.."
command -v abidiff >/dev/null 2>&1 || { echo "SKIPPED: abidiff is not installed (abigail-tools)"; exit 77; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/splatsmith_abi.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/old" "$scratch/new"
git archive "$1" | tar -x -C "$scratch/old"
git ls-files -co --exclude-standard -z | tar -c --null -T - | tar -x -C "$scratch/new"
for side in old new; do
    cmake -G Ninja -S "$scratch/$side" -B "$scratch/$side/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O0 -g" \
        -DSPLATSMITH_CUDA=OFF -DSPLATSMITH_MPI=OFF -DSPLATSMITH_TESTS=OFF >/dev/null
    cmake --build "$scratch/$side/build" --target splatsmith_program_shared >/dev/null
done
# Allowed changes: structs with a size, beyond their former end (abidiff 2.2 itself leaves out more). Blocks of
# its report are paragraphs.
sized=$(sed -n '/^typedef struct/{s/typedef struct \([a-z0-9_]*\) {/\1/;h;n;/^ *size_t size;/{x;p}}' include/splatsmith/*.h)
printf '[suppress_%s]\nsymbol_version_regexp = SPLATSMITH_PRIVATE\n' function variable >"$scratch/private"
for library in $(cd "$scratch/new/build" && find shared -name 'libsplatsmith*.so.0'); do
    [ -f "$scratch/old/build/$library" ] || continue # a library that COMMIT had not
    abidiff --leaf-changes-only --no-added-syms --no-linkage-name --suppressions "$scratch/private" \
        --headers-dir1 "$scratch/old/include" --headers-dir2 "$scratch/new/include" "$scratch/old/build/$library" \
        "$scratch/new/build/$library" >>"$scratch/report" || [ $? -ge 4 ]
done
awk -v sized="$sized" '
    BEGIN { RS = ""; n = split(sized, names, "\n"); for (i = 1; i <= n; i++) may_grow[names[i]] = 1 }
    function grows_at_end(    rest, end)
    {
        if ($0 ~ /deletion|data member change|type of/ || !match($0, /type size changed from [0-9]+/)) return 0
        end = substr($0, RSTART + 23, RLENGTH - 23) + 0
        for (rest = $0; match(rest, /at offset [0-9]+/); rest = substr(rest, RSTART + RLENGTH))
            if (substr(rest, RSTART + 10, RLENGTH - 10) + 0 < end) return 0
        return 1
    }
    /^Leaf changes summary|^Changed leaf types summary/ { next }
    /^.struct / && ($2 in may_grow) && grows_at_end() { next }
    /^.enum / && $0 !~ /enumerator (change|deletion)/ { next }
    { print $0 "\n"; found = 1 }
    END { exit found }' "$scratch/report" || exit 1
echo "what was compiled against $1 goes on to work"
