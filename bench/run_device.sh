#!/usr/bin/env bash
# Everything that only a GPU can tell, in one run of at most nine minutes: the tests of the ops and of the trainer, the
# compute sanitizers, the benchmark, and whole trainings with their quality and memory.
#
# Usage: bench/run_device.sh OUT SCENE [BINDIR]
#   OUT     receives summary.json, summary.txt, run.log, bench_3000.json and bench_deterministic.json
#   SCENE   the folder of the benchmark scene (bonsai)
#   BINDIR  holds splatsmith, and test_ops and test_gpu in it or in tests/; libraries in lib/ are found. Without it the
#           release preset is built first.
# The tables of docs/memory.md are those of bench/memory.py, a run of its own.
# Environment, with defaults: PARTS="tests sanitize bench train"  SEEDS="0 1 2"  ITERATIONS=30000  RESOLUTION=1
#   WARMUP=3000 MEASURED=1000 (of the benchmark)  LIMIT_S=530  SANITIZE_S=200 (of LIMIT_S)  GPU=0  BACKEND=cuda ("cpu"
#   tries the script itself)
# A part that fails is reported and the others run; the exit code is 1 when anything failed or was left out.
set -u
[ $# -ge 2 ] && [ $# -le 3 ] || { sed -n '5,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
source_folder=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
scene=$(cd "$2" && pwd) || exit 2
binaries=${3:+$(cd "$3" && pwd)} || exit 2
parts=${PARTS:-tests sanitize bench train}
seeds=${SEEDS:-0 1 2}
iterations=${ITERATIONS:-30000}
resolution=${RESOLUTION:-1}
backend=${BACKEND:-cuda}
gpu=${GPU:-0}
deadline=${LIMIT_S:-530}
log=$out/run.log
work=$(mktemp -d)
records=$work/records
sampler=
trap '[ -n "$sampler" ] && kill "$sampler" 2>/dev/null; rm -rf "$work"' EXIT
: >"$records"
: >"$log"
rm -f "$out"/summary.json "$out"/summary.txt "$out"/bench_3000.json "$out"/bench_deterministic.json
cd "$work" || exit 2

# ---------------------------------------------------------------- running one thing

# record NAME STATUS SECONDS: STATUS is "ok", or says what happened.
record()
{
    printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$records"
    printf '%-8s %-24s %6.1f s%s\n' "$([ "$2" = ok ] && echo ok || echo FAILED)" "$1" "$3" \
        "$([ "$2" = ok ] || echo "  $2")"
}

# run NAME LIMIT_S COMMAND...: at most LIMIT_S seconds and never beyond the deadline; output in $work/NAME.log and run.log.
run()
{
    local name=$1 limit=$2 begin seconds code status=ok
    shift 2
    [ "$limit" -le $((deadline - SECONDS)) ] || limit=$((deadline - SECONDS))
    if [ "$limit" -lt 3 ]; then
        record "$name" "left out: no time left" 0
        return 1
    fi
    begin=$(date +%s.%N)
    timeout -k 5 "$limit" "$@" >"$work/$name.log" 2>&1 </dev/null
    code=$?
    seconds=$(date +%s.%N | awk -v begin="$begin" '{ printf "%.2f", $1 - begin }')
    { echo "==== $name: $*"; cat "$work/$name.log"; echo "==== exit $code after $seconds s"; echo; } >>"$log"
    if [ $code -eq 124 ] || [ $code -eq 137 ]; then
        status="stopped after $limit s"
    elif [ $code -ne 0 ]; then
        status="exit $code: $(tail -n 1 "$work/$name.log" | cut -c 1-120)"
    elif grep -qE '(ERROR|RACECHECK) SUMMARY: [1-9]' "$work/$name.log"; then # warnings leave the exit code at 0
        status=$(grep -m 1 SUMMARY: "$work/$name.log")
    elif [ "${name#test_}" != "$name" ] && grep -q SKIPPED: "$work/$name.log"; then
        status="skipped tests: $(grep -m 1 SKIPPED: "$work/$name.log" | cut -c 1-120)"
    fi
    record "$name" "$status" "$seconds"
    [ "$status" = ok ]
}

# Prints the memory in use by the driver's count, MiB, one sample a line, until the sampler is stopped.
used_memory()
{
    nvidia-smi -i "$gpu" --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null
}

# sampled INTERVAL_S NAME ...: as run, with the driver's memory in $work/NAME.memory.
sampled()
{
    local interval=$1 code
    shift
    { while :; do used_memory; sleep "$interval"; done; } >"$work/$1.memory" 2>/dev/null &
    sampler=$!
    run "$@"
    code=$?
    kill "$sampler" 2>/dev/null
    wait "$sampler" 2>/dev/null
    sampler=
    return $code
}

# ---------------------------------------------------------------- the parts

build()
{
    run build 500 sh -c 'cd "$1" && cmake --preset release && cmake --build --preset release' _ "$source_folder"
    binaries=$source_folder/build
}

part_tests()
{
    run test_ops 120 "$test_ops" --backend "$backend"
    run test_gpu 120 "$test_gpu" "$backend"
    for name in test_gpu_memory test_gpu_profile; do
        run $name 120 "$(ls "$binaries/$name" "$binaries/tests/$name" 2>/dev/null | head -n 1)" "$backend"
    done
    # LPIPS against the published distances, where the weights were brought (SPLATSMITH_DATA).
    if [ -d "${SPLATSMITH_DATA:-}/lpips" ]; then
        run lpips_on_gpu 120 "$(ls "$binaries/test_lpips" "$binaries/tests/test_lpips" 2>/dev/null | head -n 1)" cuda
    fi
}

# Small shapes: the ops' tests, and 20 steps that pass through densification, a reset and an evaluation.
part_sanitize()
{
    local end=$((SECONDS + ${SANITIZE_S:-200})) checker tool left what
    checker=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
    if [ -z "$checker" ]; then
        record sanitize "compute-sanitizer is not installed" 0
        return
    fi
    run sample_medium 60 "$splatsmith" sample medium --backend cpu --cameras 12
    run sample_small 60 "$splatsmith" sample small --backend cpu --cameras 9 --width 100 --height 70 --points 500
    for what in steps ops; do
        for tool in memcheck initcheck synccheck racecheck; do
            left=$((end - SECONDS))
            [ $left -gt 1 ] || left=1   # "left out" is recorded
            [ $left -le 60 ] || left=60 # one slow tool leaves time for the others
            local name=${tool}_$what where=medium
            [ $tool = racecheck ] && where=small # it is the slowest
            set -- "$test_ops" --backend "$backend"
            [ $what = steps ] && set -- "$splatsmith" train -s $where -m "sanitized_$tool" --eval --backend "$backend" \
                --iterations 20 --densify_from_iter 2 --densification_interval 4 --densify_until_iter 15 \
                --opacity_reset_interval 6 --test_iterations -1
            run "$name" "$left" "$checker" --tool $tool --error-exitcode 9 "$@"
        done
    done
}

part_bench()
{
    set -- "$splatsmith" bench -s "$scene" --eval -r "$resolution" --backend "$backend" --warmup "${WARMUP:-3000}" \
        --num_iterations "${MEASURED:-1000}"
    run bench_3000 120 "$@" --stages -o "$out/bench_3000.json"
    run bench_deterministic 150 "$@" --deterministic -o "$out/bench_deterministic.json"
    # Next to no blocks: what the driver counts beyond them is the context with the program's kernels.
    run sample_tiny 60 "$splatsmith" sample tiny --backend cpu --cameras 4 --width 32 --height 32 --points 100
    sampled 0.1 bench_context 60 "$splatsmith" bench -s tiny --backend "$backend" --warmup 0 \
        --num_iterations "${CONTEXT_STEPS:-10000}" --densify_from_iter 1000000 -o "$work/context.json"
}

# One training and its evaluation. The first one's memory is sampled; the others run undisturbed.
train_seed()
{
    local seed=$1 first=$2 with=run with_fast=run
    [ "$first" = 1 ] && with="sampled 0.2" with_fast="sampled 0.05"
    $with "train_$seed" 150 "$splatsmith" train -s "$scene" -m "model_$seed" --eval \
        -r "$resolution" --backend "$backend" --iterations "$iterations" --seed "$seed" --test_iterations 7000 \
        --save_iterations "$iterations" || return
    $with_fast "eval_$seed" 60 "$splatsmith" eval -m "model_$seed" --backend "$backend"
    [ "$first" = 1 ] || return
    $with_fast eval_all 60 "$splatsmith" eval -s "$scene" -r "$resolution" --backend "$backend" --eval \
        --ply "model_$seed/point_cloud/iteration_$iterations/point_cloud.ply" --test_camera_count "$(($(n_photos) - 1))"
}

part_train()
{
    local seed first=1
    for seed in $seeds; do
        train_seed "$seed" $first
        first=0
    done
}

# A scene keeps one view to train on: all the others can be test views.
n_photos()
{
    find -L "$scene/images" -maxdepth 1 -type f | wc -l
}

# ---------------------------------------------------------------- all of it

[ -n "$binaries" ] || build
splatsmith=$binaries/splatsmith
test_ops=$(ls "$binaries/test_ops" "$binaries/tests/test_ops" 2>/dev/null | head -n 1)
test_gpu=$(ls "$binaries/test_gpu" "$binaries/tests/test_gpu" 2>/dev/null | head -n 1)
test_ops=${test_ops:-$binaries/test_ops}
test_gpu=${test_gpu:-$binaries/test_gpu}
[ -d "$binaries/lib" ] && export LD_LIBRARY_PATH="$binaries/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

used_memory >idle.memory
run info 30 "$splatsmith" info
cat info.log
for part in $parts; do
    case $part in
    tests | sanitize | bench | train) "part_$part" ;;
    *) record "$part" "there is no such part; there are tests, sanitize, bench and train" 0 ;;
    esac
done

python3 "$source_folder/bench/summarize.py" "$work" "$out" "$scene" "$seeds" "$iterations" >"$out/summary.txt" ||
    record summary "summarize.py failed" 0
cat "$out/summary.txt"
! grep -qv '	ok	' "$records"
