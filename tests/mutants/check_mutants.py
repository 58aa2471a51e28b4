"""check_mutants.py SOURCE CMAKE: scripts/mutants.py draws the same lines again, changes each of them, and tells a
change that a test notices from one that none does. Skipped (77) without clang, llvm-cov or Ninja."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
TOOL = SOURCE / "scripts" / "mutants.py"

LIBRARY = """/* Two functions, of which a test checks one. */
#include "sum.h"

int sum(const int *values, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) total += values[i];
    return total;
}

int half(int value)
{
    return value / 2; /* only called */
}

int nobody_calls(int value)
{
    return value + 3;
}
"""

TEST = """#include "sum.h"
int main(void)
{
    const int values[4] = {1, 2, 3, -5};
    return sum(values, 4) == 1 && sum(values, 1) == 1 && half(8) < 100 ? 0 : 1;
}
"""

BUILD = """cmake_minimum_required(VERSION 3.22)
project(sample C)
enable_testing()
add_library(splatsmith_linked SHARED src/room/sum.c)
target_include_directories(splatsmith_linked PUBLIC src/room)
add_custom_target(splatsmith_modules)
add_executable(splatsmith test.c)
target_link_libraries(splatsmith splatsmith_linked)
add_executable(test_sum test.c)
target_link_libraries(test_sum splatsmith_linked)
add_test(NAME test_sum COMMAND test_sum)
"""


def run(*words, **environment):
    done = subprocess.run([sys.executable, str(TOOL), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, **environment}, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def listed(root, n, folder):
    """The output of --list: (place and kind, old line, new line) of each change."""
    out = run("--list", "--root", str(root), str(n), "1", folder).splitlines()
    return [(out[i], out[i + 1].strip()[2:], out[i + 2].strip()[2:]) for i in range(0, len(out), 3)]


def check_the_draw():
    """N different lines, each of them changed; the same ones when other lines come and go."""
    shutil.rmtree("drawn", ignore_errors=True)
    shutil.copytree(SOURCE / "src/engine/texture", "drawn/src/engine/texture")
    first = listed("drawn", 25, "src/engine/texture")
    assert len(first) == 25 and len({re.sub(r": .*", "", where) for where, _, _ in first}) == 25
    for where, old, new in first:
        assert old != new, where
        path, line = where.split(":")[:2]
        assert pathlib.Path("drawn", path).read_text().split("\n")[int(line) - 1].strip() == old, where
        assert not old.startswith(("#", "/*", "//")), where
    assert listed("drawn", 10, "src/engine/texture") == first[:10]
    for path in pathlib.Path("drawn/src/engine/texture").glob("*.c"):
        path.write_text("/* a line more */\n" + path.read_text())
    moved = listed("drawn", 25, "src/engine/texture")
    assert [m[1:] for m in moved] == [m[1:] for m in first]


def check_a_sample():
    """Changes of sum() are killed. Those of half() survive its test, those of nobody_calls() are not executed."""
    shutil.rmtree("sample", ignore_errors=True)
    room = pathlib.Path("sample/src/room")
    room.mkdir(parents=True)
    (room / "sum.h").write_text("/* Sums. */\nint sum(const int *values, int n);\nint half(int value);\n"
                                "int nobody_calls(int value);\n")
    (room / "sum.c").write_text(LIBRARY)
    pathlib.Path("sample/test.c").write_text(TEST)
    pathlib.Path("sample/CMakeLists.txt").write_text(BUILD)
    build = str(pathlib.Path("sample-mutants").resolve())
    shutil.rmtree(build, ignore_errors=True)
    words = ("--root", "sample", "--json", "sample.json", "10", "1")
    out = run(*words, BUILD=build)
    found = {m["line"]: m for m in json.loads(pathlib.Path("sample.json").read_text())}
    assert found[6]["verdict"] == found[7]["verdict"] == "killed" and found[7]["by"] == "test_sum"
    assert found[13]["verdict"] == "survived" and found[13]["why"] == "1 tests pass"
    assert found[18]["verdict"] == "survived" and found[18]["why"] == "not executed"
    assert re.search(r"\| room \| 4 \| 2 \| 2 \| 50 % \|", out), out
    assert (room / "sum.c").read_text() == LIBRARY
    pathlib.Path("sample/test.c").write_text(TEST.replace("half(8) < 100", "half(8) == 4"))
    assert "| room | 4 | 2 | 2 |" in run(*words, BUILD=build) # the record is kept
    assert "| room | 4 | 3 | 1 |" in run("--again", *words, BUILD=build)


check_the_draw()
missing = [tool for tool in ("clang", "llvm-cov", "llvm-profdata", "ninja", "ctest") if not shutil.which(tool)]
if missing:
    print("SKIPPED: mutants of a sample need", ", ".join(missing))
    sys.exit(77)
check_a_sample()
