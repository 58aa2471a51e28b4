#!/bin/sh
# bundle_explore.sh FOLDER: what draws splats in the viewer's page (SPLATSMITH_EXPLORE), as FOLDER/explore.js.gz: our
# src/program/viewer/explore/explore.js with three.js and Spark, which npm fetches into FOLDER, and their licences.
set -eu
from=$(cd "$(dirname "$0")/../src/program/viewer/explore" && pwd)
[ $# -eq 1 ] || { echo "usage: bundle_explore.sh FOLDER"; exit 2; }
mkdir -p "$1"
cd "$1"
cp "$from/package.json" "$from/package-lock.json" "$from/explore.js" .
if ! cmp -s package-lock.json installed.json; then
    # no install scripts: nothing but the packages' own files is needed
    npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --loglevel=error || {
        echo "npm cannot fetch what the viewer's page draws splats with: see above, or build with -DSPLATSMITH_EXPLORE=OFF"
        exit 1
    }
    cp package-lock.json installed.json
fi
node_modules/.bin/esbuild explore.js --bundle --minify --format=esm --target=es2022 --legal-comments=none \
    --log-level=warning --log-limit=20 --outfile=bundle.js
{
    echo '/*! Splatsmith'"'"'s explore.js (Apache-2.0) with three.js, Spark and its fflate, whose licences follow.'
    for package in three @sparkjsdev/spark fflate; do
        printf '\n---- %s ----\n\n' "$package"
        cat "node_modules/$package/LICENSE"
    done
    echo '*/'
    cat bundle.js
} > explore.js.tmp
gzip -9 -n < explore.js.tmp > explore.js.gz.tmp
rm explore.js.tmp
mv explore.js.gz.tmp explore.js.gz
