#!/bin/sh
# The dependency law: which folder of src/ may include which. See docs/architecture.md.
set -eu
cd "$(dirname "$0")/.."
failed=0

# law FOLDER ALLOWED...: every #include "folder/..." in src/FOLDER names FOLDER itself or an allowed one.
law() {
    folder=$1
    shift
    for include in $(grep -rhoE '#include "[a-z0-9_]+/' "src/$folder" | sed -E 's/.*"([a-z0-9_]+)\//\1/' | sort -u); do
        [ "$include" = "$folder" ] && continue
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

law base
law math base
law io base math
law backend base math ops
law ops base math backend
law scene base math io
law model base math io backend ops
law mesh base math io
law train base math io scene model backend ops
law sugar base math io scene model backend ops mesh
law cli
exit $failed
