#!/bin/sh
# The dependency law: which room of src/engine and src/program may include which, no circle of files, and a header for
# every file, which the file includes first. See docs/architecture.md. What needs symbols is found in the objects of
# build/ (of another folder: BUILD=build-debug scripts/check_layers.sh). tests/check_laws.sh breaks each law once.
set -eu
cd "$(dirname "$0")/.."
failed=0

# law TIER/ROOM ALLOWED...: every #include "room/..." in src/TIER/ROOM names ROOM itself or an allowed one.
laws=
law() {
    folder=$1
    laws="$laws $folder"
    shift
    for include in $(grep -rhoE '#include "[a-z0-9_]+/' "src/$folder" | sed -E 's/.*"([a-z0-9_]+)\//\1/' | sort -u); do
        [ "$include" = "${folder#*/}" ] && continue
        [ "$include" = splatsmith ] && continue # the public headers
        case " $* " in
        *" $include "*) ;;
        *)
            echo "dependency law broken: src/$folder includes $include/:"
            grep -rnE "#include \"$include/" "src/$folder"
            failed=1
            ;;
        esac
    done
}

# The lowest rooms include only core.h of the public headers.
for room in base math io; do
    if grep -rnE '#include "splatsmith(\.h|/)' "src/engine/$room" | grep -v '"splatsmith/core.h"'; then
        echo "dependency law broken: src/engine/$room includes more of the public headers than splatsmith/core.h"
        failed=1
    fi
done

law engine/base
law engine/math base
law engine/io base math
law engine/backend base math ops
law engine/ops base math backend
law engine/scene base math io
law engine/model base math io backend ops
law engine/mesh base math io
law engine/texture base math io scene backend ops model mesh
law engine/distributed base math backend ops
law engine/stereo base math io scene backend ops
law engine/train base math io scene model backend ops distributed stereo
law engine/report base math io scene model backend ops train
law engine/measure base math io scene model backend ops mesh distributed train report
law engine/run base math io scene model backend ops distributed train report measure
law engine/surface base math io scene model backend ops mesh train stereo
law program/capture base math io
law program/sample base math io scene mesh
law program/bench base math io scene model backend ops train report measure run
law program/viewer base math io scene model backend ops mesh train
law program/line base io mesh train measure bench
law program/stage base io scene report line
law program/pipeline base backend scene model measure line stage
law program/cli base math io scene model mesh texture train distributed report measure run surface backend ops bench \
    capture sample viewer line stage pipeline

for room in src/engine/*/ src/program/*/; do
    room=${room#src/}
    case "$laws " in
    *" ${room%/} "*) ;;
    *)
        echo "dependency law broken: src/${room%/} has no law in scripts/check_layers.sh"
        failed=1
        ;;
    esac
done

# ---------------------------------------------------------------- circles of files
# x.c, x.h, x.cu and so on are one unit, src/folder/x; a table, x.def, is one by itself. Arrows are lines "unit unit why".

# refuse_circles KIND: fails when the arrows form a circle, and prints those between its units.
refuse_circles() {
    cut -d ' ' -f 1,2 "$arrows" | LC_ALL=C tsort 2>&1 >/dev/null | LC_ALL=C awk -v kind="$1" -v arrows="$arrows" '
        / input contains a loop:$/ { n_circles++; next }
        { is_in[n_circles, $2] = 1 }
        END {
            if (n_circles) print "circles of files, by " kind ":"
            for (i = 1; i <= n_circles; i++) { # tsort repeats itself: an arrow is shown once
                while ((getline < arrows) > 0)
                    if ((i, $1) in is_in && (i, $2) in is_in && !shown[$0]++) print "    " $1 " -> " $2 ": " $3
                close(arrows)
            }
            exit n_circles > 0
        }' || failed=1
}

arrows=$(mktemp)
trap 'rm -f "$arrows"' EXIT

# by includes: "folder/x.h" from src/ or include/, "x.h" from the folder of the file
grep -rE '^ *#include "' src include | LC_ALL=C awk -F '"' '
    { file = $1; sub(/:.*/, "", file); folder = file; sub(/[^\/]*$/, "", folder); if (file !~ /\.def$/) sub(/\.[a-z]+$/, "", file)
      print file, $2, folder }' | sort -u | while read -r unit name folder; do
    for other in "src/engine/$name" "src/program/$name" "include/$name" "$folder$name"; do
        [ -f "$other" ] || continue
        case $other in *.def) ;; *) other=${other%.*} ;; esac
        [ "$other" = "$unit" ] || echo "$unit $other $name"
        break
    done
done >"$arrows"
refuse_circles includes

# by symbols: a unit of the library uses a function that another defines. (The table of commands names functions that
# read the table; it is no part of the library.) Objects older than their source are left out.
build=${BUILD:-build}
find "$build"/CMakeFiles/*.dir/src -name '*.o' 2>/dev/null | while read -r object; do
    source=src/${object##*.dir/src/}
    case $source in src/program/cli/*) continue ;; esac
    [ -f "${source%.o}" ] && [ "$object" -nt "${source%.o}" ] && echo "$object"
done | xargs -r nm -A -g | LC_ALL=C awk '
    { unit = $1; sub(/:.*/, "", unit); sub(/.*\.dir\/src\//, "src/", unit); sub(/\.[a-z]+\.o$/, "", unit)
      if ($(NF - 1) == "U") used[unit " " $NF] = 1
      else if ($(NF - 1) == "T") home[$NF] = unit }
    END {
        for (pair in used) {
            split(pair, part, " ")
            if (part[2] in home && home[part[2]] != part[1]) print part[1], home[part[2]], part[2]
        }
    }' | sort >"$arrows"
[ -s "$arrows" ] || echo "SKIPPED: circles of files by symbols: $build has no objects that are up to date"
refuse_circles symbols

# ---------------------------------------------------------------- a header for every file
# x.c and x.cu include x.h of their folder before any other header; without one, include/splatsmith/x.h. So each header is
# compiled once with nothing before it. Input of the loop: lines "file first-header".

find src -name '*.c' -o -name '*.cu' | LC_ALL=C sort | xargs awk '
    /^ *# *include / && !(FILENAME in seen) { seen[FILENAME] = 1; gsub(/[<>"]/, "", $2); print FILENAME, $2 }' |
    {
        while read -r file first; do
            base=${file%.*}
            own=${base#src/*/}.h
            if [ ! -f "$base.h" ]; then
                own=splatsmith/${base##*/}.h
                [ -f "include/$own" ] || continue
            fi
            case $first in "$own" | "${own##*/}") continue ;; esac
            echo "$file: includes $first before its own header $own"
            failed=1
        done
        exit $failed
    } || failed=1

# A function of x.c that other files may call is declared in x.h of the same folder, or in a public header. Exempt are the
# implementations of an op (declared by its contract), functions that a table (.def) names, and main. A table names cmd_X of
# src/program/cli by X (cli.h), and ref_declarations.inc names ref_X_f32 and ref_X_f64 by X (ref.h).

objects=$(find "$build"/CMakeFiles/*.dir/src -name '*.c.o' 2>/dev/null | while read -r object; do
    source=src/${object##*.dir/src/}
    if [ -f "${source%.o}" ] && [ "$object" -nt "${source%.o}" ]; then echo "$object"; fi
done)
# The input of awk: lines "file function" of the objects (-), then the headers and the tables.
echo "$objects" | xargs -r nm -A -g --defined-only | LC_ALL=C awk '
    # a line without its strings and comments
    function code(line,    out, i) {
        out = ""
        if (!is_comment) gsub(/"[^"]*"/, "", line)
        while (line != "") {
            i = index(line, is_comment ? "*/" : "/*")
            if (!is_comment) out = out (i ? substr(line, 1, i - 1) : line)
            if (!i) break
            line = substr(line, i + 2)
            is_comment = !is_comment
        }
        return out
    }
    FILENAME == "-" {
        if ($(NF - 1) != "T") next
        file = $1; sub(/:.*/, "", file); sub(/.*\.dir\/src\//, "src/", file); sub(/\.o$/, "", file)
        is_function[file " " $NF] = 1
        next
    }
    FNR == 1 { is_comment = 0; is_public = FILENAME ~ /^include\// || FILENAME ~ /\.(def|inc)$/ }
    {
        n = split(code($0), word, /[^A-Za-z0-9_]+/)
        for (i = 1; i <= n; i++) { if (is_public) public[word[i]] = 1; else declared[FILENAME " " word[i]] = 1 }
    }
    END {
        for (pair in is_function) {
            split(pair, part, " ")
            if (part[1] ~ /^src\/engine\/ops\/[a-z0-9_]+\// || part[2] == "main") continue
            row = part[2]
            if (part[1] ~ /^src\/program\/cli\/cmd_/) sub(/^cmd_/, "", row)
            if (part[1] ~ /^src\/engine\/ops\/ref_f(32|64)\.c$/) gsub(/^ref_|_f(32|64)$/, "", row)
            header = part[1]; sub(/\.c$/, ".h", header)
            if ((header " " part[2]) in declared || part[2] in public || row in public) continue
            print part[1] ": " part[2] " is not declared in " header
            failed = 1
        }
        exit failed
    }' - src/engine/ops/ref_declarations.inc $(find src include -name '*.h' -o -name '*.def') || failed=1
exit $failed
