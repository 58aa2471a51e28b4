#!/bin/sh
# Every public header compiles alone, and twice, as C and as C++ (where a C++ compiler is found). $1: the C compiler.
set -u
cd "$(dirname "$0")/../include"
c=${1:-cc}
cpp=$(command -v c++ || command -v g++ || command -v clang++ || true)
[ -n "$cpp" ] || echo "C++ SKIPPED: no compiler was found"
failed=0

# compile HEADER COMPILER FLAGS...
compile() {
    header=$1
    shift
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$header" "$header" |
        "$@" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I. - || { echo "$header does not compile alone: $*"; failed=1; }
}

for header in splatsmith.h splatsmith/*.h; do
    compile "$header" "$c" -std=c11 -x c
    [ -z "$cpp" ] || compile "$header" "$cpp" -std=c++11 -x c++
done
exit $failed
