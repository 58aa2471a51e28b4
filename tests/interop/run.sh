#!/bin/sh
# run.sh SCRIPT FOLDER [MORE ...]: installs the packages of package-lock.json into FOLDER and runs SCRIPT there:
# interop.mjs for splat files, splats.mjs for pictures of them, meshes.mjs and assets.mjs for meshes. Leaves with 77 when the packages
# cannot be had: that is no verdict about Splatsmith.
skip() {
    echo "SKIPPED: $1; no public program has read our files"
    exit 77
}

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { echo "usage: run.sh SCRIPT FOLDER [MORE ...]"; exit 2; }
script=$1
folder=$2
shift 2
command -v node > /dev/null || skip "node is absent"
command -v npm > /dev/null || skip "npm is absent"
node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' || skip "node is older than version 18"

mkdir -p "$folder" || exit 2
if ! cmp -s "$here/package-lock.json" "$folder/installed.json"; then
    rm -rf "$folder/node_modules" "$folder/installed.json"
    cp "$here/package.json" "$here/package-lock.json" "$folder" || exit 2
    # no install scripts: nothing but the packages' own JavaScript is needed
    (cd "$folder" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --loglevel=error) ||
        skip "npm ci failed or took more than 120 seconds"
    cp "$folder/package-lock.json" "$folder/installed.json" || exit 2
fi
SPLATSMITH_BROWSER=$("$here/../find_browser.sh") || exit 2
export SPLATSMITH_BROWSER
cp "$here"/*.mjs "$here"/*.html "$here/make_assets.sh" "$folder" || exit 2
exec node "$folder/$script" "$folder" "$@"
