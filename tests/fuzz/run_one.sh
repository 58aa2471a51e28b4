#!/bin/sh
# run_one.sh BUILD_FOLDER FUZZER SECONDS: one fuzzer in a scratch folder of its own, in memory where that is possible.
# One line when it is sound; else its report, and the path of the input.
set -eu
source=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
name=$2
seconds=$3
place=/dev/shm
[ -w "$place" ] || place=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$place/splatsmith_fuzz.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$build/corpus/$name" "$build/failures"
cd "$scratch"
set -- "$build/corpus/$name" "$build/seeds/$name"
[ ! -d "$source/regression/$name" ] || set -- "$@" "$source/regression/$name"

SPLATSMITH_FUZZ_SCENE=$build/seeds/scene
SPLATSMITH_FUZZ_PHOTO=$(find "$build/seeds/scene/images" -type f | head -n 1)
export SPLATSMITH_FUZZ_SCENE SPLATSMITH_FUZZ_PHOTO
export OMP_NUM_THREADS=1 ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0 UBSAN_OPTIONS=print_stacktrace=1
# No error that the fuzzer itself prints is lost by closing the outputs of what it runs.
if "$build/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -close_fd_mask=3 \
    -artifact_prefix="$build/failures/$name-" -print_final_stats=1 "$@" >log 2>&1; then
    awk -v name="$name" -v seconds="$seconds" '
        /number_of_executed_units/ { runs = $2 }
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") coverage = $(i + 1) }
        END { printf "%-16s %9d inputs in %d s, %5d places of the code\n", name, runs, seconds, coverage }' log
else
    echo "FAILED: the fuzzer $name"
    grep -vE '^#[0-9]+\s+(NEW|REDUCE|pulse|RELOAD)' log | tail -n 80
    exit 255 # xargs stops
fi
