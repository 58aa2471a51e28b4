#!/bin/sh
# check_version.sh [PROGRAM]: every place that names the version of Splatsmith names that of include/splatsmith/core.h.
# CMake, the packages, the Python bindings and the program take it from there; the places below are written by hand.
set -eu
cd "$(dirname "$0")/.."
header=include/splatsmith/core.h
version=$(sed -n 's/^#define SPLATSMITH_VERSION "\(.*\)"/\1/p' $header)
failed=0

# same PLACE FOUND: what a place names is the version
same() {
    [ "$2" = "$version" ] || { echo "$1 names version '$2', and $header '$version'"; failed=1; }
}

# number NAME: the value of SPLATSMITH_VERSION_NAME
number() { sed -n "s/^#define SPLATSMITH_VERSION_$1 //p" $header; }

same "$header (MAJOR, MINOR, PATCH)" "$(number MAJOR).$(number MINOR).$(number PATCH)"
same packaging/debian/changelog "$(sed -n '1s/.*(\(.*\)).*/\1/p' packaging/debian/changelog)"
same CHANGELOG.md "$(sed -n 's/^## \[\([0-9.]*\)\].*/\1/p' CHANGELOG.md | head -n 1)"
same python/splatsmith/_c.py "$(sed -n 's/^SPLATSMITH_VERSION = "\(.*\)"/\1/p' python/splatsmith/_c.py)"
[ $# -eq 0 ] || same "$1 --version" "$("$1" --version | sed 's/^splatsmith //')"
for name in $(grep -oE 'splatsmith[a-z0-9-]*[_-][0-9]+\.[0-9]+\.[0-9]+[_-]' docs/*.md | sort -u); do
    same "${name%%:*} (${name#*:})" "$(echo "$name" | grep -oE '[0-9]+\.[0-9]+\.[0-9]+')"
done
[ -f "packaging/notes/$version.md" ] || { echo "packaging/notes/$version.md: missing: each version has release notes"; failed=1; }
exit $failed
