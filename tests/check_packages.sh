#!/bin/sh
# check_packages.sh BUILD_FOLDER: makes the packages of a build and installs them as a stranger would. The clean root has
# the database and the files of the packages that ours depend on, and nothing else of this machine: dpkg refuses what
# lacks a dependency, and the loader what is not declared. In it the commands of docs/tutorial.md are run. The archive is
# unpacked somewhere and must find its libraries there. Needs dpkg-dev, and root or user namespaces. Run by ctest.
set -eu
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/splatsmith_packages.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

fail()
{
    echo "$1" >&2
    exit 1
}
skip()
{
    echo "SKIPPED: $1"
    exit 77
}

# as root, of a user namespace where the user is somebody else
as_root=
[ "$(id -u)" -eq 0 ] || as_root="unshare --user --map-root-user"

export OMP_WAIT_POLICY=passive # machines that run tests are shared
for tool in dpkg-shlibdeps python3; do
    command -v $tool >/dev/null 2>&1 || skip "packages need dpkg-dev and Python; $tool is not installed"
done
$as_root chroot / true 2>/dev/null || skip "a clean root needs root or user namespaces"

version=$(dpkg-parsechangelog -l "$source/packaging/debian/changelog" -S Version)
"$source/scripts/release.sh" --build "$build" --out "$scratch/packages" >"$scratch/release.log" 2>&1 || {
    cat "$scratch/release.log"
    fail "scripts/release.sh failed"
}
cd "$scratch/packages"
ls -l
architecture=$(dpkg --print-architecture)
for package in splatsmith libsplatsmith0 libsplatsmith-program0 libsplatsmith-dev; do
    [ -s "${package}_${version}_$architecture.deb" ] || fail "there is no package $package of version $version, that of the change log"
done

# Everything that a release publishes is listed with its checksum.
for file in *; do
    case $file in
    SHA256SUMS) continue ;;
    *.deb | splatsmith-"$version"-linux-*.tar.gz | splatsmith-"$version"-py3-none-*.whl | RELEASE_NOTES.md) ;;
    splatsmith-"$version".tar.gz) # the sources, of a tree with git
        tar -tzf "$file" | grep -qx "splatsmith-$version/include/splatsmith.h" || fail "$file is not the sources" ;;
    *) fail "a release does not publish $file" ;;
    esac
    grep -q "  $file\$" SHA256SUMS || fail "SHA256SUMS does not list $file"
done
sha256sum --quiet --check SHA256SUMS || fail "SHA256SUMS lists other checksums"
[ "$(wc -l <SHA256SUMS)" -ge 7 ] || fail "a release has at least four packages, the archive, the wheel and the notes"

# The engine starts no server: only the other library needs civetweb.
if dpkg-deb -f "libsplatsmith0_${version}_$architecture.deb" Depends | grep civetweb; then
    fail "the package of the engine depends on civetweb"
fi
[ "$(dpkg-deb -f "splatsmith_${version}_$architecture.deb" Recommends)" = "colmap, ffmpeg" ] ||
    fail "the program does not recommend what finds cameras and reads videos"

# what is downloaded to work on a CPU
bytes=$(cat "splatsmith_${version}_$architecture.deb" "libsplatsmith0_${version}_$architecture.deb" \
    "libsplatsmith-program0_${version}_$architecture.deb" | wc -c)
[ "$bytes" -lt 3000000 ] || fail "program and libraries are packages of $bytes bytes; 3 MB are allowed"

# Debian's rules are for Debian's folders, which the presets ci and packages have.
if ! dpkg-deb -c "libsplatsmith0_${version}_$architecture.deb" | grep "/usr/lib/$(gcc -print-multiarch)/" >/dev/null; then
    echo "SKIPPED: lintian: this build puts libraries elsewhere than Debian does"
elif [ -z "${SPLATSMITH_LONG_TESTS:-}" ]; then
    echo "lintian looks at the packages nightly (SPLATSMITH_LONG_TESTS=1): it takes a third of this test"
elif command -v lintian >/dev/null 2>&1; then
    lintian --allow-root --fail-on error,warning ./*.deb || fail "lintian complains"
else
    echo "SKIPPED: lintian is not installed (scripts/install_deps.sh --packages)"
fi

# ---------------------------------------------------------------- a clean root

# The packages that those named depend on, all of them, in the versions of this machine.
closure()
{
    seen=" "
    todo="$*"
    while [ -n "$todo" ]; do
        # shellcheck disable=SC2086
        set -- $todo
        todo=""
        for package in "$@"; do
            case $seen in *" $package "*) continue ;; esac
            seen="$seen$package "
            todo="$todo $(dpkg-query -W -f='${Depends}, ${Pre-Depends}\n' "$package" | tr ',' '\n' |
                sed -E 's/\|.*//; s/\(.*\)//; s/:any//; s/ //g' | sort -u | tr '\n' ' ')"
        done
    done
    echo "$seen"
}

# fill_root ROOT PACKAGE...: their files, and what dpkg knows of them.
fill_root()
{
    root=$1
    shift
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/tmp" "$root/usr/bin" "$root/usr/sbin" \
        "$root/usr/lib" "$root/usr/lib64" "$root/dev" "$root/etc"
    for folder in bin sbin lib lib64; do ln -s usr/$folder "$root/$folder"; done
    for package in "$@"; do
        dpkg-query -L "$package" | grep -E '^(/usr)?/(s?bin|lib|lib64)/' | while read -r file; do
            [ -d "$file" ] && [ ! -L "$file" ] || echo "${file#/}"
        done >"$scratch/files"
        tar -C / -c --no-recursion -T "$scratch/files" | tar -C "$root" -x --keep-directory-symlink --no-same-owner
        dpkg-query -s "$package"
        echo
        dpkg-query -L "$package" >"$root/var/lib/dpkg/info/$package.list"
    done >"$root/var/lib/dpkg/status"
}

# smoke COMMAND...: the tests of the installed program, called through COMMAND
smoke()
{
    "$source/packaging/debian/tests/smoke" "$@" >"$scratch/smoke.log" 2>&1 || {
        cat "$scratch/smoke.log"
        fail "what was installed does not work: $*"
    }
}

needed=$(for package in splatsmith libsplatsmith0 libsplatsmith-program0; do
    dpkg-deb -f "${package}_${version}_$architecture.deb" Depends | tr ',' '\n' | sed -E 's/\(.*\)//; s/ //g'
done | grep -v splatsmith | sort -u)
# shellcheck disable=SC2046,SC2086
fill_root "$scratch/root" $(closure $needed dash libc-bin dpkg)
# shellcheck disable=SC2086
$as_root dpkg --root="$scratch/root" --force-not-root --install "libsplatsmith0_${version}_$architecture.deb" \
    "libsplatsmith-program0_${version}_$architecture.deb" "splatsmith_${version}_$architecture.deb" >"$scratch/dpkg.log" 2>&1 || {
    cat "$scratch/dpkg.log"
    fail "dpkg refuses the packages"
}
# shellcheck disable=SC2086
smoke $as_root chroot "$scratch/root"
[ -s "$scratch/root/tmp/splatsmith_smoke/splat.sog" ] || fail "the program of the clean root wrote nothing there"
# The command lines of the tutorial, one by one, on small pictures.
mkdir "$scratch/root/tmp/tutorial"
# shellcheck disable=SC2086
PYTHONDONTWRITEBYTECODE=1 python3 "$source/tests/docs/run_tutorial.py" "$source" "$scratch/root/tmp/tutorial" \
    /tmp/tutorial $as_root chroot "$scratch/root" || fail "the tutorial cannot be followed with what was installed"
# Nothing is declared for nothing: without libjansson4 dpkg refuses.
sed -i '/^Package: libjansson4$/,/^$/d' "$scratch/root/var/lib/dpkg/status"
# shellcheck disable=SC2086
if $as_root dpkg --root="$scratch/root" --force-not-root --install "libsplatsmith0_${version}_$architecture.deb" \
    >/dev/null 2>&1; then
    fail "dpkg installs the library without libjansson4"
fi

# ---------------------------------------------------------------- the archive

mkdir "$scratch/anywhere"
tar -C "$scratch/anywhere" -xzf splatsmith-*-linux-*.tar.gz
folder=$(echo "$scratch"/anywhere/*)
PATH=$folder/bin:$PATH
export PATH
strange=$(ldd "$folder/bin/splatsmith" | awk '/=>/ { print $3 }' |
    grep -vE "^$folder/|/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*)\\.so[.0-9]*\$" || true)
[ -z "$strange" ] || fail "the archive takes libraries of the system: $strange"
rm -rf /tmp/splatsmith_smoke
smoke env
cmp /tmp/splatsmith_smoke/splat.ply "$scratch/root/tmp/splatsmith_smoke/splat.ply" ||
    fail "archive and packages train different splats"
rm -rf /tmp/splatsmith_smoke

# How long a person waits for help: the least of ten starts, in milliseconds.
least=1000000000
for _ in 1 2 3 4 5 6 7 8 9 10; do
    begin=$(date +%s%N)
    splatsmith --help >/dev/null
    end=$(date +%s%N)
    [ $((end - begin)) -ge $least ] || least=$((end - begin))
done
echo "program and library: $bytes bytes; splatsmith --help: $((least / 1000)) us"
[ $least -lt 30000000 ] || fail "splatsmith --help takes $((least / 1000000)) ms; 30 are allowed"
