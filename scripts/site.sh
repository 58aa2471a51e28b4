#!/bin/sh
# site.sh [FOLDER]: the documents as a site that is read and searched without a network, in FOLDER (build-site); open its
# index.html. Takes Sphinx with MyST and furo (scripts/install_deps.sh --site), and BINARY, the program (build/splatsmith),
# for the pages of its commands. A link of the site that leads nowhere, or a page nothing leads to, is an error.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build-site}
binary=${BINARY:-build/splatsmith}
probe=$(mktemp -d) # a page of one word tells whether all of Sphinx is there
trap 'rm -rf "$probe"' EXIT
printf "extensions = ['myst_parser']\nhtml_theme = 'furo'\n" >"$probe/conf.py"
printf '# x\n' >"$probe/index.md"
if ! sphinx-build -q -W -b html "$probe" "$probe/out" >/dev/null 2>&1; then
    echo "SKIPPED: the site takes Sphinx, MyST and furo (scripts/install_deps.sh --site)"
    exit 77
fi
[ -x "$binary" ] || { echo "build the program first (make), or name it: BINARY=..." >&2; exit 1; }
python3 docs/site/stage.py . "$out.source" "$binary"
sphinx-build -q -W --keep-going -b html -d "$out.source/.doctrees" "$out.source" "$out"
echo "$out/index.html"
