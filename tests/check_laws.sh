#!/bin/sh
# scripts/check_layers.sh in a small tree that keeps every law, and in trees that break one.
# Usage: check_laws.sh SOURCE COMPILER
set -eu
source=$1
cc=$2
rm -rf laws && mkdir laws && cd laws
failed=0

# A tree with every room and files in three of them.
make_tree() {
    rm -rf tree
    mkdir -p tree/scripts tree/include/splatsmith
    cp "$source/scripts/check_layers.sh" tree/scripts
    for room in $(sed -n 's/^law \([a-z]*\/[a-z]*\).*/\1/p' tree/scripts/check_layers.sh); do
        mkdir -p "tree/src/$room"
    done
    (
        cd tree/src/engine
        : >ops/ref_declarations.inc
        echo 'void file_open(void);' >base/file.h
        printf '#include "base/file.h"\n\n#include <stdio.h>\n\nvoid file_open(void) {}\n' >base/file.c
        echo 'void camera_turn(void);' >math/camera.h
        printf '#include "math/camera.h"\n\n#include "base/file.h"\n\n' >math/camera.c
        echo 'void camera_turn(void) { file_open(); }' >>math/camera.c
        echo 'void shown(void);' >../../include/splatsmith/shown.h
        printf '#include "splatsmith/shown.h"\n\nvoid shown(void) {}\n' >../program/viewer/shown.c
        echo 'void cli_say(void);' >../program/cli/cli.h
        printf '#include "cli.h"\n\n#include "math/camera.h"\n\n' >../program/cli/main.c
        echo 'int main(void) { camera_turn(); }' >>../program/cli/main.c
    )
}

# Objects newer than their sources.
compile_tree() {
    (
        cd tree
        find src -name '*.c' | while read -r file; do
            object=build/CMakeFiles/lib.dir/$file.o
            mkdir -p "${object%/*}"
            "$cc" -Iinclude -Isrc/engine -Isrc/program -c "$file" -o "$object"
            touch -d 'now + 5 seconds' "$object"
        done
    )
}

# refused NAME TEXT: the tree breaks a law, and the script says TEXT
refused() {
    compile_tree
    code=0
    tree/scripts/check_layers.sh >said 2>&1 || code=$?
    if [ $code -eq 0 ] || ! grep -qF "$2" said; then
        echo "$1: exit $code, without '$2':"
        cat said
        failed=1
    fi
    make_tree
}

make_tree
compile_tree
tree/scripts/check_layers.sh >said 2>&1 || { echo "a tree that keeps the laws is refused:"; cat said; failed=1; }
[ ! -s said ] || { echo "a tree that keeps the laws gets a message:"; cat said; failed=1; }

sed -i '1i #include "base/file.h"' tree/src/engine/math/camera.c
refused "another header first" "math/camera.c: includes base/file.h before its own header math/camera.h"
sed -i '1i #include <stdio.h>' tree/src/engine/base/file.c
refused "a system header first" "base/file.c: includes stdio.h before its own header base/file.h"
sed -i '1i #include "base/file.h"' tree/src/program/viewer/shown.c
refused "another header before the public one" \
    "viewer/shown.c: includes base/file.h before its own header splatsmith/shown.h"
sed -i '3i #include "math/camera.h"' tree/src/engine/base/file.c
refused "a room above" "dependency law broken: src/engine/base includes math/"
sed -i '3i #include "cli/cli.h"' tree/src/engine/math/camera.c
refused "the program from the engine" "dependency law broken: src/engine/math includes cli/"
mkdir tree/src/engine/attic
refused "a room without a law" "dependency law broken: src/engine/attic has no law"
echo '#include "math/other.h"' >>tree/src/engine/math/camera.h
echo '#include "math/camera.h"' >tree/src/engine/math/other.h
sed -i '1i #pragma once' tree/src/engine/math/camera.h
refused "a circle of headers" "circles of files, by includes:"
printf 'void camera_turn(void);\nvoid file_open(void) { camera_turn(); }\n' >tree/src/engine/base/file.c
refused "a circle of functions" "circles of files, by symbols:"
echo 'void hidden(void) {}' >>tree/src/engine/base/file.c
refused "a function without a header" "src/engine/base/file.c: hidden is not declared in src/engine/base/file.h"
exit $failed
