#!/bin/sh
# find_clang.sh: succeeds if clang has libFuzzer, the sanitizers and OpenMP; else prints what is missing.
set -eu
if ! command -v clang >/dev/null 2>&1; then
    echo "fuzzing needs clang and its libFuzzer (scripts/install_deps.sh --fuzz)"
    exit 1
fi
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size); '`
    `'int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return !data && size; }' >"$probe/probe.c"
if ! clang -fsanitize=fuzzer,address,undefined -fopenmp "$probe/probe.c" -o "$probe/probe" 2>/dev/null; then
    echo "clang lacks libFuzzer, the sanitizers or OpenMP (scripts/install_deps.sh --fuzz)"
    exit 1
fi
