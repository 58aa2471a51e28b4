#!/bin/sh
# library_exports.sh COMPILER VERSION ARCHIVE [USER...]: the linker's script of a shared library made of the objects in
# ARCHIVE. The library exports those functions of the public headers that it defines, as of the minor version. It also
# exports, as SPLATSMITH_PRIVATE, what each USER, an object or an archive of Splatsmith's own, takes of it besides. So a
# process has one copy of the engine, and other programs have no claim to its inside.
set -eu
export LC_ALL=C
compiler=$1 version=$2 archive=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$(dirname "$0")/public_functions.sh" "$compiler" >"$scratch/headers"
nm -g --defined-only "$archive" | awk 'NF == 3 && $3 ~ /^splat_/ { print $3 }' | sort -u >"$scratch/defined"
comm -12 "$scratch/defined" "$scratch/headers" >"$scratch/public"
for user in "$@"; do nm -u "$user"; done | awk '$1 == "U" { print $2 }' | sort -u >"$scratch/taken"
comm -12 "$scratch/defined" "$scratch/taken" | comm -23 - "$scratch/public" >"$scratch/private"

# node NAME FILE: a version and its names, a line each
node() {
    printf '%s {\n    global:\n%s\n' "$1" "$(sed 's/.*/        &;/' "$2")"
}
node "SPLATSMITH_${version%.*}" "$scratch/public"
echo '    local: *;'
echo '};'
[ ! -s "$scratch/private" ] || { node SPLATSMITH_PRIVATE "$scratch/private"; echo '};'; }
