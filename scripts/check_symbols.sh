#!/bin/sh
# check_symbols.sh LIBRARY [--add]: what the shared library exports is what packaging/debian/libsplatsmith0.symbols
# lists, and nothing that programs were linked with is gone. --add: puts new functions into the list.
set -eu
cd "$(dirname "$0")/.."
library=$1
list=packaging/debian/libsplatsmith0.symbols
version=$(sed -n 's/^#define SPLATSMITH_VERSION "\(.*\)"/\1/p' include/splatsmith/core.h)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C

nm -D --defined-only --with-symbol-versions "$library" | awk '{ sub(/@@/, "@", $3); print ($3 ~ /@/ ? $3 : $3 "@" $3) }' |
    sort >"$scratch/exported"
sed -n 's/^ \([^ ]*\) .*/\1/p' "$list" | sort >"$scratch/listed"
new=$(comm -23 "$scratch/exported" "$scratch/listed")
gone=$(comm -13 "$scratch/exported" "$scratch/listed")
strange=$(sed 's/@.*//' "$scratch/exported" | grep -vE '^(splat_[a-z0-9_]+|SPLATSMITH_[0-9.]+)$' || true)
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
failed=0

[ "$soname" = "$(sed -n '1s/ .*//p' "$list")" ] || { echo "the library is $soname, and $list is of another"; failed=1; }
[ -z "$strange" ] || { echo "exported, and no public function: $strange"; failed=1; }
if [ -n "$gone" ]; then
    echo "Programs that were linked with these no longer start; keep them, or begin a new minor version, whose list they leave:"
    echo "$gone"
    failed=1
fi
if [ -n "$new" ] && [ "${2:-}" = --add ]; then
    { grep -v '^ ' "$list"; { grep '^ ' "$list"; echo "$new" | sed "s/.*/ & $version/"; } | sort; } >"$scratch/list"
    cp "$scratch/list" "$list"
elif [ -n "$new" ]; then
    echo "New functions of the library, which $list lacks (scripts/check_symbols.sh LIBRARY --add puts them there):"
    echo "$new"
    failed=1
fi
exit $failed
