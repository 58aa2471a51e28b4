#!/bin/sh
# check.sh [quick|full|nightly]: builds and tests. The first lines say which stages there are and how long they take.
#   quick    style, the dependency law, the tests of label quick
#   full     all that CI runs: also parsers under the sanitizers, a second of every fuzzer, all tests
#   nightly  hours: full with an hour of fuzzing and with ops under the sanitizers, then long tests, ThreadSanitizer, a
#            soak, the packages twice, Clang, and no optional library
# CUDA=1 and CUDA=0 compile the CUDA backend or leave it out; unset, CMake decides: where there is a GPU.
set -eu
cd "$(dirname "$0")/.."
mode=${1:-full}
cores=$(nproc)
begin=$(date +%s)
log=$(mktemp)
notes=$(mktemp) # what a stage skipped, to be repeated at the end
trap 'rm -f "$log" "$notes"' EXIT

# ---------------------------------------------------------------- stages: name, seconds on two quiet cores, description

stages()
{
    case $1 in
    quick)
        echo "style 5 style of the sources
build_quick 180 build the program and the tests of label quick
layers 5 the dependency law
tests_quick 150 the tests of label quick" ;;
    full | nightly)
        sanitized=265
        [ "$1" = full ] || sanitized=900 # all rooms, ops and more
        echo "style 5 style of the sources
build 240 build the program and all tests
layers 5 the dependency law
kernels 1 the report of CUDA kernels, from the build
sanitized $sanitized what reads bytes from outside, under AddressSanitizer and UndefinedBehaviorSanitizer"
        if [ "$1" = full ]; then
            echo "fuzz 45 every fuzzer, ${FUZZ_SECONDS:-1} s each"
        else
            echo "fuzz 3620 an hour of fuzzing"
        fi
        echo "browsers 30 tests of our pages in every other browser that is installed
tests 700 all tests, release build"
        [ "$1" = full ] || echo "long 1500 long tests: from photos to meshes, more seeds, sizes and threads
threads 1200 programs with threads under ThreadSanitizer
soak 3600 an hour of training, viewing and meshing, watched for growth
packages 600 the packages twice, with the same bytes
sanitized_gcc 1200 the same and ops under the sanitizers of GCC
clang 330 the tests of label quick, built by Clang
tidy 60 clang-tidy, the checks of .clang-tidy
plain 330 the tests of label quick, without any optional library" ;;
    *)
        echo "check.sh: there is no mode '$1'; the modes are quick, full and nightly" >&2
        exit 2 ;;
    esac
}

duration()
{
    if [ "$1" -lt 60 ]; then echo "$1 s"; else echo "$((($1 + 30) / 60)) min"; fi
}

say_plan()
{
    echo "== check $mode: $(duration "$(stages "$mode" | awk '{ sum += $2 } END { print sum }')") on two cores," \
        "without the CUDA backend; this machine has $cores"
    stages "$mode" | while read -r name seconds what; do
        printf '   %-12s %7s  %s\n' "$name" "$(duration "$seconds")" "$what"
    done
}

# ---------------------------------------------------------------- what stages share

# Warnings are errors in CI only: another compiler's new warning must not stop a user's check.
preset=release
[ -z "${CI:-}" ] || preset=ci
cuda=
case ${CUDA:-} in
"") ;;
0 | off | OFF | no) cuda=-DSPLATSMITH_CUDA=OFF ;;
*) cuda=-DSPLATSMITH_CUDA=ON ;;
esac

configure()
{
    cmake --preset "$preset" $cuda >"$log" || { cat "$log"; exit 1; }
    grep -o "CUDA backend: .*" "$log"
    has_cuda=$(grep -c "CUDA backend: yes" "$log" || true)
}

# Each reason once, after the name of its test, from the log of the last run.
skipped()
{
    awk '/^[0-9]+\/[0-9]+ Test: / { name = $3; sub(/^op_.*/, "op_*", name) }
         /SKIPPED:/ { line = name ": " $0; if (!seen[line]++) print line }' "$1/Testing/Temporary/LastTest.log"
    echo
}

slowest()
{
    echo "The ten slowest tests:"
    awk '/^[0-9]+\/[0-9]+ Test: / { name = $3 }
         /^Test time = / { printf "%8.1f s  %s\n", $4, name }' "$1/Testing/Temporary/LastTest.log" | sort -rn | head
    echo
}

# run_tests FOLDER CTEST_OPTION...: ctest hides what passing tests print. Its own summary is the end; above it are the
# slowest tests and the reasons of those that were skipped. One test more than cores runs at a time: some mostly wait.
run_tests()
{
    build=$1
    shift
    result=$build/Testing/result
    mkdir -p "$build/Testing"
    { ctest --test-dir "$build" -j "$((cores + 1))" --output-on-failure "$@" 2>&1 && echo 0 >"$result" ||
        echo $? >"$result"; } | {
        while IFS= read -r line; do
            case $line in *"% tests passed"*) break ;; esac
            printf '%s\n' "$line"
            line=
        done
        summary=$(cat) # ends when ctest does: its log is complete then
        slowest "$build"
        skipped "$build"
        if [ -s "$notes" ]; then cat "$notes" && echo; fi
        printf '%s\n%s\n' "$line" "$summary"
    }
    return "$(cat "$result")"
}

# quick_tests FOLDER CMAKE_OPTION...: a release build of another kind
quick_tests()
{
    folder=$1
    shift
    cmake --preset ci -B "$folder" -DSPLATSMITH_CUDA=OFF "$@" >"$log" || { cat "$log"; exit 1; }
    cmake --build "$folder" --target quick_tests
    run_tests "$folder" -L quick
}

# ---------------------------------------------------------------- stages

stage_style() { scripts/check_style.sh; }
stage_build() { cmake --build --preset "$preset"; }
stage_build_quick() { cmake --build --preset "$preset" --target quick_tests; }
stage_layers() { scripts/check_layers.sh; } # circles of files by symbols are seen in the objects
stage_kernels()
{
    if [ "$has_cuda" -gt 0 ]; then scripts/kernel_report.sh; else echo "SKIPPED: this build has no CUDA"; fi
}
stage_tests_quick() { run_tests build -L quick; }
stage_tests() { run_tests build; }

# sanitized PRESET FOLDER
sanitized()
{
    long= parsers=ON
    [ "$mode" != nightly ] || long=sanitized_long_tests parsers=OFF
    cmake --preset "$1" -DSPLATSMITH_SANITIZE_PARSERS=$parsers >"$log" || { cat "$log"; exit 1; }
    cmake --build --preset "$1" --target sanitized_tests $long
    label='^sanitized$'
    [ "$mode" != nightly ] || label=sanitized # and those of sanitized_long
    ctest --test-dir "$2" -j "$cores" --output-on-failure -L "$label" # most of them use one thread
}

# In the folder of the fuzzers, whose library is the same, if clang can build them.
stage_sanitized()
{
    if tests/fuzz/find_clang.sh >/dev/null; then sanitized fuzz build-fuzz; else sanitized asan-ubsan build-asan; fi
}
stage_sanitized_gcc() { sanitized asan-ubsan build-asan; }

stage_fuzz()
{
    seconds=${FUZZ_SECONDS:-1}
    n_fuzzers=$(find tests/fuzz -name 'fuzz_*.c' | wc -l)
    [ "$mode" != nightly ] || seconds=${FUZZ_SECONDS:-$((3600 * cores / n_fuzzers))}
    tests/fuzz/run.sh "$seconds" >"$log" || { cat "$log"; exit 1; }
    cat "$log"
    grep SKIPPED "$log" >>"$notes" || true
}

# The first browser is that of the stage `tests`. Others look at our pages, not at those of public programs.
stage_browsers()
{
    [ -z "${SPLATSMITH_BROWSER:-}" ] || return 0
    for browser in $(tests/find_browser.sh --all | tail -n +2); do
        echo "in $browser"
        SPLATSMITH_BROWSER=$browser ctest --test-dir build -j "$cores" --output-on-failure -L browser -LE interop
    done
}

stage_long() { SPLATSMITH_LONG_TESTS=1 ctest --test-dir build -V -L '^long$'; }
stage_threads() { scripts/tsan.sh; }
stage_soak() { scripts/soak.sh 1; }
stage_packages() { scripts/check_reproducible.sh -DSPLATSMITH_CUDA=OFF; }
stage_clang()
{
    if command -v clang >/dev/null 2>&1; then
        quick_tests build-clang -DCMAKE_C_COMPILER=clang
    else
        echo "SKIPPED: a build by Clang needs clang (scripts/install_deps.sh --fuzz)"
    fi
}
stage_tidy() { scripts/tidy.sh || [ $? -eq 77 ]; }
stage_plain()
{
    quick_tests build-plain -DSPLATSMITH_EXPAT=OFF -DSPLATSMITH_ZSTD=OFF -DSPLATSMITH_WEBP=OFF \
        -DSPLATSMITH_CIVETWEB=OFF -DSPLATSMITH_MPI=OFF
}

# ---------------------------------------------------------------- the whole

stages "$mode" >/dev/null
say_plan
configure
number=0
for name in $(stages "$mode" | cut -d ' ' -f 1); do
    number=$((number + 1))
    elapsed=$(($(date +%s) - begin))
    printf '== %d:%02d  stage %d of %d: %s\n' $((elapsed / 60)) $((elapsed % 60)) "$number" \
        "$(stages "$mode" | wc -l)" "$(stages "$mode" | sed -n "s/^$name [0-9]* //p")"
    "stage_$name"
done
