#!/bin/sh
# check_reproducible.sh [CMAKE_OPTION...]: builds the files of a release twice, in folders of other names and lengths, and
# compares them byte by byte. Takes the time of two builds, with the CUDA module (from CUDA 13 on; -DSPLATSMITH_CUDA=OFF
# leaves it out) an hour or two; make check-long runs it without.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d "${TMPDIR:-/tmp}/splatsmith_reproducible.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
CCACHE_DISABLE=1 # a cache would give the second build the objects of the first
export CCACHE_DISABLE

for folder in one a_second/folder; do
    mkdir -p "$scratch/$folder/source"
    git ls-files -co --exclude-standard -z | tar -c --null -T - | tar -x -C "$scratch/$folder/source"
    cmake --preset packages -S "$scratch/$folder/source" -B "$scratch/$folder/build" "$@" >/dev/null
    "$scratch/$folder/source/scripts/release.sh" --build "$scratch/$folder/build" --out "$scratch/$folder/packages" >/dev/null
done
cd "$scratch"
failed=0
for package in one/packages/*; do
    if cmp "$package" "a_second/folder/packages/${package##*/}"; then
        echo "the same bytes twice: $(cd one/packages && sha256sum "${package##*/}")"
    else
        failed=1
    fi
done
exit $failed
