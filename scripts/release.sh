#!/bin/sh
# release.sh [--build FOLDER] [--out FOLDER] [CMAKE_OPTION...]: writes what a release publishes to --out (release/): the
# Debian packages, the archive, the wheel, the sources, the release notes, and SHA256SUMS of these files.
# Without --build it configures build-packages by the preset `packages` with the CMAKE_OPTIONs, and the working tree must
# have no changes. With --build it takes a folder that CMake has configured. See RELEASING.md.
set -eu
cd "$(dirname "$0")/.."
build=
out=release

fail()
{
    echo "release.sh: $1" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --build) build=${2:?--build needs a folder}; shift 2 ;;
    --out) out=${2:?--out needs a folder}; shift 2 ;;
    *) break ;;
    esac
done
for tool in python3 dpkg-parsechangelog dpkg-shlibdeps; do
    command -v $tool >/dev/null 2>&1 || fail "$tool is not installed (python3, dpkg-dev)"
done
[ ! -e "$out" ] || fail "$out exists; remove it, or name another folder with --out"
scripts/check_version.sh || fail "the places above name different versions"

# Times in the files are those of the change log, so that the same sources give the same bytes.
version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l packaging/debian/changelog -S Timestamp)
export SOURCE_DATE_EPOCH

if [ -z "$build" ]; then
    [ -z "$(git status --porcelain)" ] || fail "the working tree has changes; commit them first"
    build=build-packages
    cmake --preset packages -B "$build" "$@"
fi
cmake --build "$build" --target installed
mkdir -p "$out"
out=$(cd "$out" && pwd)
cpack --config "$build/CPackConfig.cmake" -B "$out" >"$out/cpack.log" 2>&1 || { cat "$out/cpack.log"; fail "cpack failed"; }
! grep -i warning -A 3 "$out/cpack.log" || fail "cpack warns"
rm -r "$out/_CPack_Packages" "$out/cpack.log"
python3 python/build_wheel.py "$build" --out "$out" >/dev/null
if [ -e .git ]; then
    git archive --prefix="splatsmith-$version/" HEAD | gzip -9n >"$out/splatsmith-$version.tar.gz"
fi
cp "packaging/notes/$version.md" "$out/RELEASE_NOTES.md"
cd "$out"
sha256sum -- * >SHA256SUMS.new
mv SHA256SUMS.new SHA256SUMS
cat SHA256SUMS
