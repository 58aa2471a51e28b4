#!/bin/sh
# check_symbols.sh LIBRARY... [--add]: what a shared library exports is what packaging/debian/<package>.symbols lists,
# and nothing that programs were linked with is gone; the libraries together export every function of the public headers.
# Functions exported as SPLATSMITH_PRIVATE belong to Splatsmith's own programs. --add: puts new functions into the list.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^#define SPLATSMITH_VERSION "\(.*\)"/\1/p' include/splatsmith/core.h)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C
failed=0
add=
for argument in "$@"; do [ "$argument" != --add ] || add=1; done

# check_library FILE
check_library() {
    library=$1
    soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    list=packaging/debian/$(echo "$soname" | sed 's/\.so\.//').symbols
    [ -f "$list" ] || { echo "there is no $list for $library"; failed=1; return; }
    nm -D --defined-only --with-symbol-versions "$library" |
        awk '{ sub(/@@/, "@", $3); print ($3 ~ /@/ ? $3 : $3 "@" $3) }' | sort >"$scratch/all"
    grep -v '@SPLATSMITH_PRIVATE$' "$scratch/all" >"$scratch/exported"
    cat "$scratch/exported" >>"$scratch/public"
    sed -n 's/^ \([^ ]*\) .*/\1/p' "$list" | sort >"$scratch/listed"
    new=$(comm -23 "$scratch/exported" "$scratch/listed")
    gone=$(comm -13 "$scratch/exported" "$scratch/listed")
    strange=$(sed 's/@.*//' "$scratch/all" | grep -vE '^(splat_[a-z0-9_]+|SPLATSMITH_([0-9.]+|PRIVATE))$' || true)

    [ "$soname" = "$(sed -n '1s/ .*//p' "$list")" ] || { echo "the library is $soname, and $list is of another"; failed=1; }
    [ -z "$strange" ] || { echo "exported, and no public function: $strange"; failed=1; }
    if [ -n "$gone" ]; then
        echo "Programs that were linked with these no longer start; keep them, or begin a new minor version, whose list they leave:"
        echo "$gone"
        failed=1
    fi
    if [ -n "$new" ] && [ -n "$add" ]; then
        { grep -v '^ ' "$list"; { grep '^ ' "$list"; echo "$new" | sed "s/.*/ & $version/"; } | sort; } >"$scratch/list"
        cp "$scratch/list" "$list"
    elif [ -n "$new" ]; then
        echo "New functions of the library, which $list lacks (scripts/check_symbols.sh LIBRARY... --add puts them there):"
        echo "$new"
        failed=1
    fi
}

for argument in "$@"; do
    [ "$argument" = --add ] || check_library "$argument"
done
scripts/public_functions.sh >"$scratch/headers"
missing=$(sed 's/@.*//' "$scratch/public" | sort | comm -13 - "$scratch/headers")
[ -z "$missing" ] || { echo "in the public headers, and exported by no library: $missing"; failed=1; }
exit $failed
