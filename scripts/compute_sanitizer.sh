#!/bin/sh
# compute_sanitizer.sh [TOOL...]: on a machine with an NVIDIA GPU, every test that runs kernels under the tools of
# NVIDIA's compute-sanitizer: memcheck (accesses, leaks), initcheck (what was never written is read), racecheck (shared memory),
# synccheck (barriers); or under those that are named. Hours: an hour a tool and test at most. A line each; ends with 1
# where a tool or a test found something, with 77 where there is nothing to run on. BUILD: a build folder, if not build;
# TESTS: programs, if not all.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${BUILD:-build}")
tools=${*:-memcheck initcheck racecheck synccheck}
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ]; then
    echo "SKIPPED: there is no compute-sanitizer; it comes with the CUDA toolkit"
    exit 77
fi
tests=${TESTS:-test_ops $(find tests -name 'test_gpu*.c' -exec basename {} .c \; | LC_ALL=C sort)}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export SPLATSMITH_BINARY="$build/splatsmith" SPLATSMITH_SOURCE="$PWD" OMP_WAIT_POLICY=passive
n_run=0
failed=0
for tool in $tools; do
    more=
    [ "$tool" = memcheck ] && more="--leak-check full"
    for test in $tests; do
        program=$build/tests/$test
        [ -x "$program" ] || { echo "$program is not built: cmake --build $build" >&2; exit 2; }
        words=
        [ "$test" = test_ops ] && words="--backend cuda"
        mkdir -p "$build/scratch/$test"
        begin=$(date +%s)
        code=0
        # shellcheck disable=SC2086
        (cd "$build/scratch/$test" && timeout 3600 "$sanitizer" --tool "$tool" $more --error-exitcode 99 \
            --target-processes all "$program" $words) >"$log" 2>&1 || code=$?
        summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|LEAK SUMMARY' "$log" | sed 's/^=* *//' | sort -u | paste -sd ';' -)
        if [ $code -eq 0 ] && grep -q 'SKIPPED' "$log" && ! grep -q '\[       OK \]' "$log"; then
            echo "$tool $test: $(grep -m 1 -o 'SKIPPED.*' "$log")"
            continue
        fi
        n_run=$((n_run + 1))
        echo "$tool $test: exit code $code in $(($(date +%s) - begin)) s; ${summary:-no summary}"
        [ $code -eq 0 ] || { failed=1; tail -n 60 "$log"; }
    done
done
[ $n_run -gt 0 ] || exit 77
exit $failed
