#!/bin/sh
# tidy.sh [FILE.c...]: runs the checks of .clang-tidy over these files, or over all of src/ (a minute), and fails if one
# finds a mistake. It configures build-tidy. Needs clang and clang-tidy.
set -eu
cd "$(dirname "$0")/.."
for tool in clang clang-tidy; do
    command -v $tool >/dev/null 2>&1 || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
build=build-tidy
cmake --preset release -B $build -DCMAKE_C_COMPILER=clang -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DSPLATSMITH_CUDA=OFF \
    -DSPLATSMITH_MPI=OFF -DSPLATSMITH_TESTS=OFF >/dev/null
cmake --build $build --target generated/viewer_page.inc >/dev/null # a source includes it
[ $# -gt 0 ] || set -- $(git ls-files 'src/*.c' | grep -vE '_test\.c$|/mpi/')
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 10 clang-tidy -p $build --quiet 2>/dev/null
