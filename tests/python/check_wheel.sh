#!/bin/sh
# check_wheel.sh BUILD_FOLDER PYTHON: the wheel has the same bytes each time, installs into a fresh virtual environment
# without a network, brings its libraries along, and the example trains with it. Run by ctest.
set -eu
build=$1
python=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/splatsmith_wheel.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

fail()
{
    echo "$1" >&2
    exit 1
}

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "SKIPPED: $python lacks venv or pip (scripts/install_deps.sh --python)"
    exit 77
fi
# Only what a user has: no library by name, no path to the sources, no index of packages.
unset SPLATSMITH_LIBRARY
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONFIG_FILE=/dev/null http_proxy=http://127.0.0.1:9 \
    https_proxy=http://127.0.0.1:9 SOURCE_DATE_EPOCH=1700000000

wheel=$("$python" "$source/python/build_wheel.py" "$build" --out "$scratch/first")
again=$(umask 077 && "$python" "$source/python/build_wheel.py" "$build" --out "$scratch/second")
cmp "$wheel" "$again" || fail "two wheels of one build differ"
case ${wheel##*/} in splatsmith-*-py3-none-linux_*.whl) ;; *) fail "a strange name of a wheel: $wheel" ;; esac

"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --no-cache-dir "$wheel"
cd "$scratch" # not the sources
"$scratch/venv/bin/python" - "$wheel" <<'END'
import base64, csv, hashlib, io, os, sys, zipfile

import splatsmith

home = os.path.dirname(os.path.dirname(splatsmith.__file__))
assert sys.prefix in home, home
assert splatsmith.version() == splatsmith.__version__
splatsmith.Context(backend="cpu")
with open("/proc/self/maps") as maps:
    loaded = {line.split()[-1] for line in maps if ".so" in line}
for name in ("splatsmith", "splatsmith-program", "png16", "turbojpeg", "jansson", "gomp"):
    paths = [path for path in loaded if f"/lib{name}.so" in path]
    assert paths and all(path.startswith(home) for path in paths), f"lib{name} is loaded from {paths}"
wheel = zipfile.ZipFile(sys.argv[1])
rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(wheel.read(
    next(name for name in wheel.namelist() if name.endswith("RECORD"))).decode()))}
assert set(rows) == set(wheel.namelist()), set(rows) ^ set(wheel.namelist())
for name, (digest, size) in rows.items():
    data = wheel.read(name)
    own = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    assert name.endswith("RECORD") or (digest, size) == ("sha256=" + own, str(len(data))), name
assert any("licenses/libpng" in name for name in rows) or not os.path.exists("/usr/bin/dpkg-query"), "no licences"
assert not [name for name in rows if "libc.so" in name or "libm.so" in name]
END
"$scratch/venv/bin/python" "$source/python/examples/train.py" --steps 60 --out "$scratch/example"
for file in splat.ply view.png photo.png; do
    [ -s "$scratch/example/$file" ] || fail "the example wrote no $file"
done
"$scratch/venv/bin/pip" uninstall --quiet --yes splatsmith
[ ! -e "$("$scratch/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/splatsmith" ] ||
    fail "uninstalling leaves files"
