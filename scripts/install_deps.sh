#!/bin/sh
# Installs the system packages that building and testing need (Debian 12, Ubuntu 24.04). Does nothing when all are installed.
# --browser: instead a small browser, for the tests that look at pages and let public viewers draw (Debian only).
# --blender: instead Blender, for the test that opens meshes in it (Debian only; it is large, and CI does without).
# --chromium: instead the browser that people use, for the same tests (Debian only).
# --colmap: instead what finds the cameras of photos and videos, for using it and for its tests.
# --fuzz: instead clang with libFuzzer, the sanitizers and OpenMP, for make fuzz and its part of make check.
# --mpi: instead Open MPI, for training by several processes and its tests.
# --site: instead what makes the site of the documents (Sphinx, MyST, furo), for make site and its test.
# --python: instead what the tests of the Python package need: numpy, and virtual environments for its wheel.
# --packages: instead lintian, for the test of the packages (Debian only).
set -eu
packages="build-essential cmake ninja-build pkg-config libturbojpeg0-dev libpng-dev zlib1g-dev libjansson-dev libexpat1-dev libzstd-dev \
libwebp-dev libcivetweb-dev libcmocka-dev"
reason="compiler, build tools, JPEG, PNG, JSON, XML, Zstandard, WebP, and the unit-test library"
if [ "${1:-}" = --browser ]; then
    packages="chromium-headless-shell fonts-dejavu-core"
    reason="a browser for the tests of pages"
elif [ "${1:-}" = --blender ]; then
    packages="blender python3-numpy"
    reason="Blender, for a test of meshes"
elif [ "${1:-}" = --chromium ]; then
    packages="chromium fonts-dejavu-core"
    reason="a second browser for the tests of pages"
elif [ "${1:-}" = --colmap ]; then
    packages="colmap ffmpeg"
    reason="cameras for photos and videos"
elif [ "${1:-}" = --fuzz ]; then
    packages="clang libclang-rt-dev libomp-dev"
    reason="clang with libFuzzer, for fuzzing"
elif [ "${1:-}" = --mpi ]; then
    packages="openmpi-bin libopenmpi-dev"
    reason="several processes that train together"
elif [ "${1:-}" = --site ]; then
    packages="python3-sphinx python3-myst-parser furo"
    reason="the site of the documents"
elif [ "${1:-}" = --python ]; then
    packages="python3 python3-numpy python3-venv"
    reason="tests of the Python package"
elif [ "${1:-}" = --packages ]; then
    packages="lintian"
    reason="what Debian asks of packages"
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "No dpkg here: install the equivalents of: $packages"
    exit 0
fi
missing=""
for package in $packages; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "Installing system packages ($reason):$missing"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "Please run as root: apt-get install$missing" >&2; exit 1; }
    as_root=sudo
fi
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
