#!/bin/sh
# install_deps.sh [GROUP...]: installs system packages (Debian 12, Ubuntu 24.04) in one step. Does nothing when all are
# installed. With several groups, one that this system does not have is left out, which is said; the exit status is 1
# then. The groups:
# --base:     what building and testing need (without an argument, this group)
# --browser:  a small browser, for the tests that look at pages and let public viewers draw (Debian only)
# --blender:  Blender, for the test that opens meshes in it (Debian only; it is large, and CI does without)
# --chromium: the browser that people use, for the same tests (Debian only)
# --colmap:   what finds the cameras of photos and videos, for using it and for its tests
# --fuzz:     clang with libFuzzer, the sanitizers and OpenMP, for make fuzz and its part of make check
# --mpi:      Open MPI, for training by several processes and its tests
# --site:     what makes the site of the documents (Sphinx, MyST, furo), for make site and its test
# --python:   what the tests of the Python package need: numpy, and virtual environments for its wheel
# --packages: lintian, for the test of the packages (Debian only)
set -eu

# describe GROUP: sets packages and reason
describe()
{
    case $1 in
    --base)
        packages="build-essential cmake ninja-build pkg-config libturbojpeg0-dev libpng-dev zlib1g-dev libjansson-dev \
libexpat1-dev libzstd-dev libwebp-dev libcivetweb-dev libcmocka-dev"
        reason="compiler, build tools, JPEG, PNG, JSON, XML, Zstandard, WebP, and the unit-test library" ;;
    --browser)
        packages="chromium-headless-shell fonts-dejavu-core"
        reason="a browser for the tests of pages" ;;
    --blender)
        packages="blender python3-numpy"
        reason="Blender, for a test of meshes" ;;
    --chromium)
        packages="chromium fonts-dejavu-core"
        reason="a second browser for the tests of pages" ;;
    --colmap)
        packages="colmap ffmpeg"
        reason="cameras for photos and videos" ;;
    --fuzz)
        packages="clang libclang-rt-dev libomp-dev"
        reason="clang with libFuzzer, for fuzzing" ;;
    --mpi)
        packages="openmpi-bin libopenmpi-dev"
        reason="several processes that train together" ;;
    --site)
        packages="python3-sphinx python3-myst-parser furo"
        reason="the site of the documents" ;;
    --python)
        packages="python3 python3-numpy python3-venv"
        reason="tests of the Python package" ;;
    --packages)
        packages="lintian"
        reason="what Debian asks of packages" ;;
    *)
        echo "install_deps.sh: there is no group '$1'; its first lines list them" >&2
        exit 2 ;;
    esac
}

# missing_of GROUP: its packages that are not installed
missing_of()
{
    describe "$1"
    for package in $packages; do
        state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || printf ' %s' "$package"
    done
}

[ $# -gt 0 ] || set -- --base
if ! command -v dpkg-query >/dev/null 2>&1; then
    for group in "$@"; do
        describe "$group"
        echo "No dpkg here: install the equivalents of: $packages"
    done
    exit 0
fi
missing=""
for group in "$@"; do
    of_group=$(missing_of "$group")
    [ -n "$of_group" ] || continue
    missing="$missing$of_group"
    describe "$group"
    echo "Installing system packages ($reason):$of_group"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "Please run as root: apt-get install$missing" >&2; exit 1; }
    as_root=sudo
fi
$as_root apt-get update -qq
left_out=0
# shellcheck disable=SC2086
if [ $# -gt 1 ] && ! apt-get install -s -qq --no-install-recommends $missing >/dev/null 2>&1; then
    missing=""
    for group in "$@"; do
        of_group=$(missing_of "$group")
        if [ -z "$of_group" ] || apt-get install -s -qq --no-install-recommends $of_group >/dev/null 2>&1; then
            missing="$missing$of_group"
        else
            echo "Not for this system ($group):$of_group" >&2
            left_out=1
        fi
    done
fi
# A machine that CI throws away need not survive a power cut in the middle of this: no fsync.
fast=""
[ -z "${CI:-}" ] || fast="-o Dpkg::Options::=--force-unsafe-io"
# shellcheck disable=SC2086
[ -z "$missing" ] || $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $fast \
    $missing >/dev/null
exit "$left_out"
