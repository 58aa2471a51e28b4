#!/bin/sh
# check_install.sh BUILD_FOLDER: installs a build under a scratch DESTDIR and uses it as a stranger would: the program
# runs, a sample compiles and links with what pkg-config says and with find_package, from another folder too. Run by
# ctest.
set -eu
build=$1
source=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/splatsmith_install.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

fail()
{
    echo "$1" >&2
    exit 1
}

# The files that `make install` builds, and their places.
commands=$(make -n -C "$source" install PREFIX=/opt/splat "DESTDIR=$scratch/destdir" CUDA=0)
case $commands in *"--target installed"*) ;; *) fail "make install does not build the target 'installed'" ;; esac
case $commands in *"DESTDIR=\"$scratch/destdir\" cmake --install build --prefix \"/opt/splat\""*) ;;
*) fail "make install does not pass DESTDIR and PREFIX on: $commands" ;; esac
case $(CMAKE_INSTALL_PREFIX=/opt/other make -n -C "$source" install) in *"--prefix \"/opt/other\""*) ;;
*) fail "make install ignores CMAKE_INSTALL_PREFIX" ;; esac
if ninja -C "$build" -t inputs installed 2>/dev/null | grep -E '_test\.c\.o$|(^|/)tests/|(^|/)samples/'; then
    fail "the target 'installed' compiles tests or samples"
fi

DESTDIR=$scratch/destdir cmake --install "$build" --prefix /opt/splat >/dev/null
prefix=$scratch/destdir/opt/splat
for file in bin/splatsmith bin/splatsmith-lpips-convert share/man/man1/splatsmith.1 include/splatsmith.h \
    share/bash-completion/completions/splatsmith share/doc/splatsmith/LICENSE share/doc/splatsmith/README.md; do
    [ -s "$prefix/$file" ] || fail "$file was not installed"
done
# A man page a command, and no more; and the documents that messages and headers name.
"$prefix/bin/splatsmith" --help | sed -n 's/^  \([a-z-]*\)   *[^ ].*/splatsmith-\1.1/p' | grep -v '^splatsmith-splatsmith' |
    LC_ALL=C sort >"$scratch/wanted"
find "$prefix/share/man/man1" -name 'splatsmith-*.1' ! -name splatsmith-lpips-convert.1 -printf '%f\n' |
    LC_ALL=C sort >"$scratch/pages"
[ "$(wc -l <"$scratch/wanted")" -ge 18 ] || fail "splatsmith --help lists too few commands"
diff "$scratch/wanted" "$scratch/pages" || fail "commands and man pages differ: see cmake/install.cmake"
grep -q '^\.SH OPTIONS' "$prefix/share/man/man1/splatsmith-train.1" || fail "the page of train has no options"
grep -rhoE 'docs/[a-z-]+\.md' "$source/src/program/cli" "$prefix/include" | sort -u | while read -r document; do
    [ -s "$prefix/share/doc/splatsmith/$document" ] || fail "$document is named and was not installed"
done
for path in "$source" "$build"; do
    if found=$(grep -rlF "$path" "$prefix"); then fail "a path of the build, $path, stands in: $found"; fi
done
[ -z "$(find "$scratch/destdir" -type f ! -path "$prefix/*")" ] || fail "something lies outside of the prefix"
"$prefix/bin/splatsmith" info >/dev/null

# Moved after it was installed, as packages are: the .pc file finds itself.
mv "$prefix" "$scratch/moved"
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/moved" -name splatsmith.pc)")
export PKG_CONFIG_PATH
cd "$scratch"
# shellcheck disable=SC2046
${CC:-cc} -std=c17 -Wall -Wextra -Werror "$source/samples/train_minimal.c" \
    $(pkg-config --cflags --libs splatsmith-program) -o consumer
readelf -d consumer | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >needed
for library in libsplatsmith.so.0 libsplatsmith-program.so.0; do
    grep -qFx "$library" needed || fail "the consumer did not link $library"
done
for unwanted in turbojpeg jansson gomp civetweb; do
    if grep "$unwanted" needed; then fail "pkg-config makes programs link $unwanted"; fi
done
libraries=$(dirname "$(find "$scratch/moved" -name libsplatsmith.so.0)")
LD_LIBRARY_PATH=$libraries ./consumer scene splat.ply >/dev/null
[ -s splat.ply ] || fail "the consumer wrote no splat"
# shellcheck disable=SC2046
${CC:-cc} -std=c17 "$source/samples/train_minimal.c" $(pkg-config --cflags splatsmith) \
    "$libraries/libsplatsmith-program.a" "$libraries/libsplatsmith.a" \
    $(pkg-config --static --libs-only-l --libs-only-other splatsmith-program | sed 's/-lsplatsmith[^ ]*//g') \
    -o consumer_static
nm consumer_static | grep -q ' T splat_version$' || fail "the consumer did not link the static library"
./consumer_static scene splat_static.ply >/dev/null
cmp splat.ply splat_static.ply || fail "the static and the shared library differ"

# The engine alone: no server and no second library.
cat >engine.c <<EOF
#include <splatsmith.h>
int main(void)
{
    splat_train_options options;
    splat_train_options_init(&options);
    return splat_train_options_check(&options, NULL) == SPLAT_OK ? 0 : 1;
}
EOF
# shellcheck disable=SC2046
${CC:-cc} -std=c17 engine.c $(pkg-config --cflags --libs splatsmith) -o engine
LD_LIBRARY_PATH=$libraries ./engine || fail "a program cannot use the engine alone"
if LD_LIBRARY_PATH=$libraries ldd ./engine | grep -E 'splatsmith-program|civetweb'; then
    fail "the engine brings the second library along"
fi

# The same samples by find_package, in a project of its own; another version is not taken.
mkdir project
cat > project/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
find_package(splatsmith \${WANTED} REQUIRED CONFIG COMPONENTS program static)
foreach(library program program_static)
  add_executable(\${library} "$source/samples/train_minimal.c")
  target_link_libraries(\${library} PRIVATE splatsmith::\${library})
endforeach()
foreach(library splatsmith static)
  add_executable(engine_\${library} "$scratch/engine.c")
  target_link_libraries(engine_\${library} PRIVATE splatsmith::\${library})
endforeach()
EOF
version=$("$scratch/moved/bin/splatsmith" --version | tr -cd '0-9.')
cmake -S project -B project/build -G Ninja -DWANTED="$version" -DCMAKE_PREFIX_PATH="$scratch/moved" >/dev/null
cmake --build project/build >/dev/null
for program in program_static engine_static; do
    if readelf -d project/build/$program | grep 'NEEDED.*libsplatsmith'; then fail "$program is linked with a shared library"; fi
done
project/build/program scene2 splat2.ply >/dev/null
cmp splat.ply splat2.ply || fail "the two consumers differ"
project/build/engine_splatsmith || fail "splatsmith::splatsmith is not enough for a program that uses the engine"
project/build/engine_static || fail "splatsmith::static is not enough for a program that uses the engine"
if cmake -S project -B project/newer -G Ninja -DWANTED=99.0 -DCMAKE_PREFIX_PATH="$scratch/moved" >newer.log 2>&1; then
    fail "find_package(splatsmith 99.0) found this version"
fi
