#!/bin/sh
# tsan_viewer.sh [FOLDER]: the viewer's tests, beside training on the CPU, under ThreadSanitizer, built in build-tsan or
# the folder. It takes clang and its OpenMP, whose barriers the sanitizer learns of from libarcher
# (scripts/install_deps.sh --fuzz). A race is printed with both sides, and its test fails.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build-tsan}
if ! command -v clang >/dev/null 2>&1; then
    echo "SKIPPED: ThreadSanitizer needs clang (scripts/install_deps.sh --fuzz)"
    exit 0
fi
archer=$(dirname "$(readlink -f "$(command -v clang)")")/../lib/libarcher.so
if [ ! -f "$archer" ]; then
    echo "SKIPPED: clang's OpenMP lacks libarcher, without which every parallel loop looks like a race"
    exit 0
fi
tests="test_sibr test_viewer test_viewer_exposure test_viewer_saved test_viewer_training"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset tsan -B "$build" >"$log" 2>&1 || { cat "$log"; exit 1; }
cmake --build "$build" --target splatsmith $tests >"$log" 2>&1 || { cat "$log"; exit 1; }
pattern=$(echo $tests viewer_page viewer_sibr | sed 's/ /|/g')
OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS="suppressions=$PWD/scripts/tsan_viewer.supp ${TSAN_OPTIONS:-}" \
    ctest --test-dir "$build" --output-on-failure -R "^($pattern)\$"
