#!/bin/sh
# The functions of the public headers, a name a line, sorted. $1: the C compiler.
set -eu
cd "$(dirname "$0")/.."
functions=$(${1:-cc} -E -P -Iinclude include/splatsmith.h | grep -oE '\bsplat_[a-z0-9_]+ *\(' | tr -d ' (' | LC_ALL=C sort -u)
[ -n "$functions" ] || { echo "public_functions.sh: no function was found in include/" >&2; exit 1; }
echo "$functions"
