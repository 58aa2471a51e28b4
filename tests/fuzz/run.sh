#!/bin/sh
# run.sh SECONDS [FUZZER...]: builds the fuzzers (build-fuzz) and runs each, or those that are named, for so long, as many
# at a time as there are processors. What they learn stays in build-fuzz/corpus. An input that fails is kept and named;
# once mended, it goes to tests/fuzz/regression/<fuzzer>/, whose files every run begins with.
set -eu
cd "$(dirname "$0")/../.."
seconds=$1
shift
build=build-fuzz
if ! missing=$(tests/fuzz/find_clang.sh); then
    echo "SKIPPED: $missing"
    exit 0
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset fuzz >"$log" 2>&1 || { cat "$log"; exit 1; }
cmake --build --preset fuzz --target fuzzers splatsmith >"$log" 2>&1 || { cat "$log"; exit 1; }
tests/fuzz/make_seeds.sh "$build" "$build/seeds"
[ $# -gt 0 ] || set -- $(find "$build/fuzz" -maxdepth 1 -type f -perm -u+x -printf '%f\n' | LC_ALL=C sort)
for name; do
    [ -x "$build/fuzz/$name" ] || { echo "there is no fuzzer $name" >&2; exit 2; }
done
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} tests/fuzz/run_one.sh "$build" {} "$seconds"
