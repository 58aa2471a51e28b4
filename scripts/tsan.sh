#!/bin/sh
# tsan.sh [FOLDER]: runs code with threads of its own, on the CPU, under ThreadSanitizer, built in build-tsan or the
# folder: the viewer during a training, training itself with its loops of several threads, ranks that are threads, the cache of
# photos, the monitor. TESTS: a pattern of ctest, if not all of these. It takes clang and its OpenMP, whose barriers the
# sanitizer learns of from libarcher (scripts/install_deps.sh --fuzz). A race is printed with both sides, and its test
# fails.
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
tests="$tests test_trainer test_comm test_shared_training test_batch_views test_exposed_ranks test_depth_ranks"
tests="$tests test_shown_ranks test_coarse_ranks test_image_cache test_monitor"
ops="op_project op_project_backward op_bin op_raster op_raster_backward op_loss"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset tsan -B "$build" >"$log" 2>&1 || { cat "$log"; exit 1; }
cmake --build "$build" --target splatsmith test_ops $tests >"$log" 2>&1 || { cat "$log"; exit 1; }
pattern=${TESTS:-$(echo $tests $ops viewer_page viewer_sibr | sed 's/ /|/g')}
OMP_TOOL_LIBRARIES=$archer TSAN_OPTIONS="suppressions=$PWD/scripts/tsan.supp ${TSAN_OPTIONS:-}" \
    ctest --test-dir "$build" --output-on-failure -R "^($pattern)\$"
