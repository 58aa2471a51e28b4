#!/bin/sh
# Builds and runs every test: the release build with all tests, then the parser tests under ASan and UBSan.
set -eu
cd "$(dirname "$0")/.."

# Each reason once, after the name of its test, from the log of the last run.
skipped()
{
    awk '/^[0-9]+\/[0-9]+ Test: / { name = $3; sub(/^op_.*/, "op_*", name) }
         /SKIPPED:/ { line = name ": " $0; if (!seen[line]++) print line }' build/Testing/Temporary/LastTest.log
    echo
}

scripts/check_style.sh
scripts/kernel_report.sh
# Warnings are errors in CI only: another compiler's new warning must not stop a user's check.
preset=release
[ -z "${CI:-}" ] || preset=ci
# Where there is nvcc the CUDA backend is compiled and linked, with a GPU or without.
cuda=
if command -v nvcc >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvcc ]; then cuda=-DSPLATSMITH_CUDA=ON; fi
cmake --preset "$preset" $cuda | grep "CUDA backend"
cmake --build --preset "$preset"
scripts/check_layers.sh # circles of files by symbols are seen in the objects
cmake --preset asan-ubsan >/dev/null
cmake --build --preset asan-ubsan --target sanitized_tests
echo "== parsers and ops under AddressSanitizer and UndefinedBehaviorSanitizer"
ctest --test-dir build-asan -j 2 --output-on-failure -L sanitized # most of them use one thread
echo "== every parser fuzzed for some seconds"
fuzzing=$(mktemp)
trap 'rm -f "$fuzzing"' EXIT
tests/fuzz/run.sh "${FUZZ_SECONDS:-2}" >"$fuzzing" || { cat "$fuzzing"; exit 1; }
cat "$fuzzing"
echo "== all tests, release build"
# ctest hides what passing tests print. What was skipped is said once more when it is done, above its own summary.
result=build/Testing/result
{ ctest --test-dir build -j 2 --output-on-failure 2>&1 && echo 0 >"$result" || echo $? >"$result"; } | {
    while IFS= read -r line; do
        case $line in *"% tests passed"*) break ;; esac
        printf '%s\n' "$line"
        line=
    done
    summary=$(cat) # ends when ctest does: its log is complete then
    skipped
    ! grep SKIPPED "$fuzzing" || echo
    printf '%s\n%s\n' "$line" "$summary"
}
exit "$(cat "$result")"
