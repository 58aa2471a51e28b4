#!/bin/sh
# Builds and runs every test: the release build with all tests, then the parser tests under ASan and UBSan.
set -eu
cd "$(dirname "$0")/.."
scripts/check_style.sh
scripts/check_layers.sh
scripts/kernel_report.sh
cmake --preset ci >/dev/null
cmake --build --preset ci
cmake --preset asan-ubsan >/dev/null
cmake --build --preset asan-ubsan --target sanitized_tests
echo "== parsers and ops under AddressSanitizer and UndefinedBehaviorSanitizer"
ctest --test-dir build-asan --output-on-failure -L sanitized
echo "== all tests, release build"
ctest --test-dir build --output-on-failure
