#!/usr/bin/env python3
"""Makes the wheel of the Python package from the shared libraries of a build folder: no network, nothing but Python's
standard library and binutils, and the same bytes from the same files.

    python/build_wheel.py [BUILD] [--out FOLDER] [--without-cuda]

BUILD: where CMake has built `splatsmith_program_shared`; default build. FOLDER: where the wheel goes; default the present one.
Prints the path of the wheel.

In the wheel lie the Python files, the libraries, the CUDA backend's module where the build has one, and all shared
libraries that these need and that a bare Debian lacks, with their licences. The loader finds them next to the library by its
DT_RPATH, $ORIGIN, which the build has set, and which also holds for the libraries that they need: nothing is patched. Dates are
SOURCE_DATE_EPOCH, or 1980."""
import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Dict, List, NoReturn, Optional, Set, Tuple

PYTHON = Path(__file__).resolve().parent
ROOT = PYTHON.parent
LIBRARIES, MODULE = ("libsplatsmith.so.0", "libsplatsmith-program.so.0"), "libsplatsmith-cuda.so"
# Libraries of every glibc system, which must be the system's own: the C library and GCC's runtimes.
SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|mvec|util|gcc_s|stdc\+\+)|ld-linux[-\w]*)\.so\.\d+|linux-vdso\.so\.1")


def fail(sentence: str) -> NoReturn:
    sys.exit(f"build_wheel.py: {sentence}")


def run(*command: str) -> str:
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        fail(f"{command[0]} is not installed (binutils, libc-bin)")
    except subprocess.CalledProcessError as failed:
        fail(f"{' '.join(command)}: {failed.stderr.strip()}")
    return str(done.stdout)


def only(paths: List[Path], what: str, hint: str) -> Path:
    found = sorted({path.resolve() for path in paths})
    if len(found) != 1:
        fail(f"{len(found) or 'no'} files are {what}; {hint}")
    return found[0]


def check_rpath(library: Path) -> None:
    paths = re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", "-W", str(library)))
    if ("RPATH", "$ORIGIN") not in paths:
        fail(f"{library} has no DT_RPATH $ORIGIN, so libraries next to it would not be found: {paths}")


def needed_by(library: Path) -> List[Path]:
    """The libraries that the loader would load with it, except the system's own."""
    found: List[Path] = []
    for name, path in re.findall(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", run("ldd", str(library)), re.M):
        if SYSTEM.fullmatch(name):
            continue
        if path == "not found":
            fail(f"{library} needs {name}, which is not installed here")
        found.append(Path(path))
    return found


def soname(path: Path) -> str:
    names = re.findall(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", "-W", str(path)))
    return str(names[0]) if names else path.name


def licence_of(path: Path) -> Optional[Tuple[str, Path]]:
    """The Debian package that a library is of, and its copyright file."""
    real = str(path.resolve())
    for name in {str(path), real, re.sub("^/usr", "", real), "/usr" + re.sub("^/usr", "", real)}:
        try:
            answer = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True).stdout
        except FileNotFoundError:
            return None
        if answer:
            package = answer.split(":")[0]
            document = Path("/usr/share/doc", package, "copyright")
            return (package, document.resolve()) if document.exists() else None
    return None


def stripped(path: Path, folder: Path) -> bytes:
    """A library without what only debuggers read."""
    target = folder / path.name
    run("strip", "--strip-unneeded", "-o", str(target), str(path.resolve()))
    return target.read_bytes()


def collect_libraries(build: Path, with_cuda: bool) -> Dict[str, bytes]:
    ours = [(name, only([p for p in build.glob(f"shared/**/{name}")], f"{name} in {build}/shared",
                        f"build it: cmake --build {build} --target splatsmith_program_shared")) for name in LIBRARIES]
    for _, library in ours:
        check_rpath(library)
    modules = [p for p in build.glob(f"lib/splatsmith/{MODULE}")] if with_cuda else []
    if modules:
        ours.append((MODULE, only(modules, f"{MODULE} in {build}", "give a clean build folder")))
    files: Dict[str, bytes] = {}
    unlicensed: Set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for name, path in ours:
            files[f"splatsmith/lib/{name}"] = stripped(path, Path(folder))
            for library in needed_by(path):
                if library.name in LIBRARIES:
                    continue
                files[f"splatsmith/lib/{soname(library)}"] = stripped(library, Path(folder))
                licence = licence_of(library)
                if licence:
                    files[f"LICENCES/{licence[0]}.txt"] = licence[1].read_bytes()
                else:
                    unlicensed.add(library.name)
    if unlicensed:
        print(f"build_wheel.py: no licence was found for {', '.join(sorted(unlicensed))}: add what they ask for before "
              "you give the wheel away", file=sys.stderr)
    return files


def version() -> str:
    header = (ROOT / "include/splatsmith/core.h").read_text(encoding="utf-8")
    found = re.search(r'#define SPLATSMITH_VERSION "(.+)"', header)
    if not found:
        fail("include/splatsmith/core.h names no version")
    return str(found.group(1))


def metadata(number: str) -> str:
    return "\n".join(["Metadata-Version: 2.1", "Name: splatsmith", f"Version: {number}",
                      "Summary: Photos in, a Gaussian splat out: training, rendering and files of Gaussian splatting",
                      "License: Apache-2.0", "Requires-Python: >=3.8", "Provides-Extra: numpy",
                      'Requires-Dist: numpy; extra == "numpy"',
                      "Classifier: License :: OSI Approved :: Apache Software License",
                      "Classifier: Operating System :: POSIX :: Linux", "Classifier: Typing :: Typed",
                      "Description-Content-Type: text/markdown", "",
                      (ROOT / "docs/python.md").read_text(encoding="utf-8")])


def date() -> Tuple[int, int, int, int, int, int]:
    """The date of all files; a ZIP begins in 1980 and counts in two seconds."""
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), 315532800)
    moment = time.gmtime(seconds)
    return (moment.tm_year, moment.tm_mon, moment.tm_mday, moment.tm_hour, moment.tm_min, moment.tm_sec)


def write(path: Path, files: Dict[str, bytes], record: str) -> None:
    lines = []
    for name in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(files[name])}")
    entries = sorted(files.items()) + [(record, "\n".join(lines + [f"{record},,", ""]).encode())]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in entries:
            entry = zipfile.ZipInfo(name, date())
            entry.external_attr = (0o100755 if ".so" in name else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            archive.writestr(entry, content)


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the wheel of the Python package.")
    parser.add_argument("build", nargs="?", default="build", type=Path, help="folder that CMake has built in")
    parser.add_argument("--out", default=".", type=Path, help="folder of the wheel")
    parser.add_argument("--without-cuda", action="store_true", help="leave the CUDA backend's module out")
    options = parser.parse_args()
    number = version()
    tag = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    information = f"splatsmith-{number}.dist-info"
    files = {f"splatsmith/{path.name}": path.read_bytes() for path in (PYTHON / "splatsmith").glob("*.py")}
    files["splatsmith/py.typed"] = b""
    for name, content in collect_libraries(options.build, not options.without_cuda).items():
        files[name.replace("LICENCES", f"{information}/licenses", 1)] = content
    files[f"{information}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{information}/METADATA"] = metadata(number).encode()
    files[f"{information}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: splatsmith build_wheel.py\n"
                                     f"Root-Is-Purelib: false\nTag: {tag}\n").encode()
    options.out.mkdir(parents=True, exist_ok=True)
    wheel = options.out / f"splatsmith-{number}-{tag}.whl"
    write(wheel, files, f"{information}/RECORD")
    print(wheel)


if __name__ == "__main__":
    main()
