#!/bin/sh
# soak.sh [HOURS [FOLDER]]: trains, views, exports, meshes and goes on for hours (default 1), on a small scene, on the CPU,
# or with BACKEND=cuda on a GPU, at low priority, and fails where memory, handles, threads or the disk grow, or where a
# round leaves other bytes than the first (tests/soak/soak.py, docs/soak.md). Its files lie in FOLDER (default build/soak);
# those of an earlier soak there are deleted.
# BUILD: a build folder, if it is not build.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" >/dev/null
cmake --build "$build" --target splatsmith splatsmith_modules soak_library >/dev/null
exec nice -n 19 env PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive python3 tests/soak/soak.py "$build/splatsmith" \
    "$build/tests/soak_library" "${2:-$build/soak}" "${1:-1}" "${BACKEND:-cpu}"
