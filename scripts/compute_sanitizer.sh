#!/bin/sh
# compute_sanitizer.sh [TOOL...]: on a machine with an NVIDIA GPU, every test that runs kernels under the tools of
# NVIDIA's compute-sanitizer: memcheck (accesses, leaks), initcheck (what was never written is read), racecheck (shared memory),
# synccheck (barriers); or under those that are named. A line for each tool and test, and for each op of test_ops, as it
# ends; then a count. Ends with 1 where a tool or a test found something or did not end, with 77 where there is nothing to
# run on. BUILD: a build folder, if not build. TESTS: programs, if not all. OPS: ops, if not all. JOBS: how many at once, if
# not 1; each tool has a GPU of its own where there are as many. With more than one a GPU, and under initcheck, which takes
# memory itself, what compares the memory of the GPU with a plan fails: test_gpu_profile, test_gpu_refine, and
# test_gpu_memory takes all of it. LIMIT: seconds for each, if not 3600. LAUNCHES: of test_gpu* racecheck looks at so many
# kernel launches from the beginning, if not 4000: it takes hundreds of times as long, and the kernels are those of the
# ops. So does memcheck of test_gpu, and so do all tools of the tests of ranks; NCCL's own kernels, which wait for each
# other, and its calls are left out. PARTS: runs that share the cases of a slow op, if not 6; in each racecheck leaves
# CUB's kernels out, and looks at the first 400 of the others. LOGS: a folder for what they print, kept.
set -u
cd "$(dirname "$0")/.." || exit 2

# ops whose tests take many minutes under a tool
slow_ops="project_backward settle_rest project_views raster_backward bin knn"

# one LIMIT LOGS BUILD SANITIZER TOOL GPU TEST [OP [K/N]]: one line of the result
one()
{
    limit=$1 logs=$2 build=$3 sanitizer=$4 tool=$5 gpu=$6 test=$7 op=${8:-} part=${9:-}
    name="$tool $test${op:+ $op}${part:+ $part}"
    unit=$test${op:+.$op}${part:+.${part%/*}}
    log=$logs/$tool.$unit.log
    more=
    [ "$tool" = memcheck ] && more="--leak-check full"
    # what asks for more than there is, and is answered so, is no error
    [ "$tool $test" = "memcheck test_gpu_memory" ] && more="$more --report-api-errors no"
    case "$tool $test" in "racecheck test_gpu"* | "memcheck test_gpu" | *" test_gpu_ranks" | *" test_gpu_captured")
        more="$more --launch-count ${LAUNCHES:-4000}" ;;
    esac
    [ "$tool" = racecheck ] && [ -n "$part" ] && more="--launch-count 400 --kernel-name-exclude kns=cub"
    words=
    [ "$test" = test_ops ] && words="--backend cuda ${part:+--part $part} $op"
    case $test in
    test_gpu_ranks | test_gpu_captured) more="$more --report-api-errors no --kernel-name-exclude kns=nccl" ;; # on all GPUs
    *) export CUDA_VISIBLE_DEVICES="$gpu" ;;
    esac
    scratch=$logs/scratch/$tool.$unit
    mkdir -p "$scratch"
    begin=$(date +%s)
    code=0
    # shellcheck disable=SC2086
    (cd "$scratch" && timeout -k 10 "$limit" "$sanitizer" --tool "$tool" $more --error-exitcode 99 --target-processes all \
        "$build/tests/$test" $words) >"$log" 2>&1 || code=$?
    rm -rf "$scratch"
    seconds=$(($(date +%s) - begin))
    summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|LEAK SUMMARY' "$log" | sed 's/^=* *//' | sort | uniq -c |
        sed 's/^ *//' | paste -sd ';' -)
    if [ $code -le 1 ] && grep -q 'SKIPPED' "$log" && ! grep -qE '\[       OK \]|^ok |FAILED' "$log"; then
        echo "$name: $(grep -m 1 -o 'SKIPPED.*' "$log")"
        return
    fi
    case $code in
    0) echo sound >>"$logs/verdicts" ;;
    124 | 137) echo unfinished >>"$logs/verdicts" ;;
    *) echo failed >>"$logs/verdicts" ;;
    esac
    verdict="exit code $code in $seconds s"
    [ $code -eq 124 ] && verdict="not done after $limit s"
    echo "$name: $verdict; ${summary:-no summary}"
    case $code in 0 | 124 | 137) ;; *) grep -E '^=========|FAILED|ERROR' "$log" | head -n 40 ;; esac
}

if [ "${1:-}" = one ]; then
    shift
    one "$@"
    exit 0
fi

# op_parts OP: the test of one op, a line for each of its runs
op_parts()
{
    case " $slow_ops " in
    *" $1 "*) seq -f "test_ops $1 %.0f/${PARTS:-6}" "${PARTS:-6}" ;;
    *) echo "test_ops $1" ;;
    esac
}

build=$(realpath "${BUILD:-build}")
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [ ! -x "$sanitizer" ]; then
    echo "SKIPPED: there is no compute-sanitizer; it comes with the CUDA toolkit"
    exit 77
fi
tests=${TESTS:-$(find tests -name 'test_gpu*.c' -exec basename {} .c \; | LC_ALL=C sort) test_ops}
ops=${OPS:-$(sed -n 's/^SPLAT_OP(\(.*\))$/\1/p' src/engine/ops/ops.def)}
n_gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
[ "$n_gpus" -gt 0 ] || n_gpus=1
jobs=${JOBS:-1}
logs=${LOGS:-$(mktemp -d)}
mkdir -p "$logs"
: >"$logs/verdicts"
for test in $tests; do
    [ -x "$build/tests/$test" ] || { echo "$build/tests/$test is not built: cmake --build $build" >&2; exit 2; }
done
export SPLATSMITH_BINARY="$build/splatsmith" SPLATSMITH_SOURCE="$PWD" OMP_WAIT_POLICY=passive
tools=${*:-memcheck initcheck racecheck synccheck}
for test in $tests; do
    units=$test
    [ "$test" = test_ops ] && units=$(for op in $ops; do op_parts "$op"; done)
    echo "$units" | while read -r unit; do
        gpu=0
        for tool in $tools; do
            echo "$tool $((gpu % n_gpus)) $unit"
            gpu=$((gpu + 1))
        done
    done
done | xargs -P "$jobs" -L 1 "$0" one "${LIMIT:-3600}" "$logs" "$build" "$sanitizer"

sound=$(grep -c sound "$logs/verdicts")
failed=$(grep -c failed "$logs/verdicts")
unfinished=$(grep -c unfinished "$logs/verdicts")
[ -n "${LOGS:-}" ] || rm -rf "$logs"
echo "$sound sound, $failed failed, $unfinished not done in time"
[ $((sound + failed + unfinished)) -gt 0 ] || exit 77
[ $((failed + unfinished)) -eq 0 ]
