#!/bin/sh
# run.sh SECONDS [FUZZER...]: builds the fuzzers (build-fuzz) and runs each, or those that are named, for so long, as many
# at a time as there are processors. What they learn stays in build-fuzz/corpus. An input that fails is kept and named;
# once mended, it goes to tests/fuzz/regression/<fuzzer>/, whose files every run begins with.
set -eu
cd "$(dirname "$0")/../.."
seconds=$1
shift
build=build-fuzz
if ! command -v clang >/dev/null 2>&1; then
    echo "SKIPPED: fuzzing needs clang and its libFuzzer (scripts/install_deps.sh --fuzz)"
    exit 0
fi
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size); '`
    `'int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return !data && size; }' >"$probe/probe.c"
if ! clang -fsanitize=fuzzer,address,undefined -fopenmp "$probe/probe.c" -o "$probe/probe" 2>"$probe/log"; then
    echo "SKIPPED: clang lacks libFuzzer, the sanitizers or OpenMP (scripts/install_deps.sh --fuzz)"
    exit 0
fi

cmake --preset fuzz >"$probe/log" 2>&1 || { cat "$probe/log"; exit 1; }
cmake --build --preset fuzz --target fuzzers splatsmith >"$probe/log" 2>&1 || { cat "$probe/log"; exit 1; }
tests/fuzz/make_seeds.sh "$build" "$build/seeds"
[ $# -gt 0 ] || set -- $(find "$build/fuzz" -maxdepth 1 -type f -perm -u+x -printf '%f\n' | LC_ALL=C sort)
for name; do
    [ -x "$build/fuzz/$name" ] || { echo "there is no fuzzer $name" >&2; exit 2; }
done
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} tests/fuzz/run_one.sh "$build" {} "$seconds"
