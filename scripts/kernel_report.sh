#!/bin/sh
# Registers, shared memory, stack and spills of every kernel of ours, from the compiler's report. Fails on a spill.
# Without an argument it reads what the build of the CUDA backend left in build/ (in another folder: BUILD=...), and
# compiles nothing. With an architecture (kernel_report.sh sm_89) it compiles every kernel for it, which takes minutes.
set -eu
cd "$(dirname "$0")/.."
arch=${1:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if [ -n "$arch" ]; then
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || { echo "SKIPPED: the kernel report needs nvcc"; exit 0; }
    find src -name '*.cu' | sort | xargs -P "$(nproc)" -I{} sh -c \
        '"$1" -arch="$2" -O3 -std=c++17 --expt-relaxed-constexpr -Iinclude -Isrc -cubin -Xptxas -v {} -o /dev/null \
        2>"$3/$(basename {} .cu).log" || { cat "$3/$(basename {} .cu).log"; exit 255; }' _ "$nvcc" "$arch" "$folder"
else
    objects=${BUILD:-build}/CMakeFiles/splatsmith_cuda.dir
    [ -d "$objects/src" ] || { echo "SKIPPED: the kernel report needs a build with CUDA (make check CUDA=1)"; exit 0; }
    for source in $(find src -name '*.cu' | sort); do
        usage=$objects/$source.o.usage
        [ "$usage" -nt "$source" ] || { echo "$usage is older than its source: build first" >&2; exit 1; }
        cp "$usage" "$folder/$(basename "$source" .cu).log"
    done
fi

printf '%-22s %-46s %5s %8s %6s %6s\n' file kernel regs shared stack spills
for log in "$folder"/*.log; do
    awk -v file="$(basename "$log" .log)" '
        # a mangled name: _Z, a length, then as many letters
        function plain(name,   length_text, n) {
            if (name !~ /^_Z[0-9]/) return name
            sub(/^_Z/, "", name)
            match(name, /^[0-9]+/)
            n = substr(name, 1, RLENGTH) + 0
            rest = substr(name, RLENGTH + 1 + n)
            name = substr(name, RLENGTH + 1, n)
            if (rest ~ /^I/) { # template arguments: numbers, t for uint16_t, j for uint32_t
                sub(/Ev.*$/, "", rest)
                gsub(/L[ib]/, ",", rest)
                gsub(/E/, "", rest)
                sub(/^I,?/, "", rest)
                name = name "<" rest ">"
            }
            return name
        }
        /Compiling entry function/ { split($0, part, "\x27"); mangled = part[2] }
        /bytes stack frame/ { stack = $1; spills = $5 + $9 }
        /Used [0-9]+ registers/ {
            if (mangled ~ /3cub|6thrust/) next # the library
            match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
            shared = 0
            if (match($0, /[0-9]+ bytes smem/)) { shared = substr($0, RSTART, RLENGTH); sub(/ .*/, "", shared) }
            printf "%-22s %-46s %5d %8d %6d %6d%s\n", file, substr(plain(mangled), 1, 46), registers, shared, stack, spills, \
                spills ? "   SPILLS" : ""
        }' "$log"
done | tee "$folder/table"
if grep -q SPILLS "$folder/table"; then
    echo "a kernel spills registers: give it a larger __launch_bounds__ budget or less to hold" >&2
    exit 1
fi
