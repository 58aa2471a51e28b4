#!/bin/sh
# mutants.sh [--list] [--again] [--json FILE] [N] [SEED] [FOLDER]: changes one line of FOLDER (default src) at a time,
# N times (default 50), and reports which changes the tests notice. SEED (default 1) chooses the lines; the same seed
# chooses the same lines while they keep their text. --list prints the changes and runs nothing. --again tries the
# survivors of an earlier run again, for new tests. --json also writes the result as JSON.
#
# Everything happens in build-mutants (BUILD names another folder): a copy of the sources, a build, the record of
# finished mutants. A stopped run continues where it ended. JOBS (default 2) tests run at a time, BUDGET (default 60) is
# the seconds of CPU that the tests of one mutant may take together, SKIP a pattern of files and tests to leave out.
#
# CUDA files (.cu, .cuh) are left out, because they do not run on every machine; tests, generated files and the
# viewer's JavaScript are left out also. The build needs clang and llvm-cov (scripts/install_deps.sh --fuzz), CMake and
# Ninja. scripts/mutants.py describes the method.
set -eu
cd "$(dirname "$0")/.."
for tool in clang llvm-cov llvm-profdata cmake ninja python3; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "SKIPPED: mutation testing needs $tool (scripts/install_deps.sh --fuzz)"
        exit 77
    }
done
exec nice python3 scripts/mutants.py "$@"
