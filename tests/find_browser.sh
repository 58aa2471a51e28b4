#!/bin/sh
# find_browser.sh: prints the path of the Chromium that tests look at pages with, or nothing. SPLATSMITH_BROWSER picks one
# by its name or path, and "none" picks none; it is an error if the browser that it names is absent.
# find_browser.sh --all: prints every installed one, a line each, the usual choice first.
names="chromium-headless-shell chromium chromium-browser google-chrome"

if [ "${1:-}" = --all ]; then
    seen=" "
    for name in $names; do
        path=$(command -v "$name") || continue
        real=$(readlink -f "$path") # one browser may have two names
        case $seen in *" $real "*) continue ;; esac
        seen="$seen$real "
        echo "$path"
    done
    exit 0
fi

case ${SPLATSMITH_BROWSER:-} in
none) ;;
"")
    for name in $names; do
        command -v "$name" && break
    done
    ;;
*)
    if ! command -v "$SPLATSMITH_BROWSER"; then
        echo "SPLATSMITH_BROWSER=$SPLATSMITH_BROWSER: there is no such browser. Name an installed one, or none." >&2
        exit 1
    fi
    ;;
esac
exit 0
