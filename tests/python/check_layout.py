#!/usr/bin/env python3
"""Compares the structs and enums of the Python package with what a C compiler makes of the headers: every size, every
offset, the size of every field, every value.

    check_layout.py CC"""
import ctypes
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))
from splatsmith import _c  # noqa: E402


def of_python():
    lines = []
    for struct in _c.STRUCTS:
        lines.append(f"{struct.__name__} {ctypes.sizeof(struct)}")
        for name, _ in struct._fields_:
            field = getattr(struct, name)
            lines.append(f"{struct.__name__}.{name} {field.offset} {field.size}")
    return lines


def enum_values():
    """The names of all enums' values, as the headers have them, with what Python has."""
    found = {}
    for path in sorted((SOURCE / "include/splatsmith").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
        for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} splat_(\w+);", text, re.S):
            members = list(getattr(_c, "".join(word.capitalize() for word in name.split("_"))).__members__.values())
            names = re.findall(r"SPLAT_\w+", re.sub(r"=[^,}]*", "", body))
            if len(names) != len(members):
                sys.exit(f"splat_{name} has {len(names)} values, and {len(members)} in Python")
            found.update(zip(names, members))
    return found


def of_c(compiler, values):
    lines = ["#include <splatsmith.h>", "#include <stdio.h>", "int main(void)", "{"]
    for struct in _c.STRUCTS:
        name = struct.__name__
        lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        for field, _ in struct._fields_:
            lines.append(f'    printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), '
                         f"sizeof((({name} *)0)->{field}));")
    lines += [f'    printf("{name} %d\\n", (int){name});' for name in values] + ["    return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "layout.c"), Path(folder, "layout")
        source.write_text("\n".join(lines), encoding="utf-8")
        subprocess.run([compiler, "-O0", "-I", SOURCE / "include", source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    values = enum_values()
    python = of_python() + [f"{name} {int(value)}" for name, value in values.items()]
    c = of_c(sys.argv[1], values)
    differing = [f"Python: {a}   C: {b}" for a, b in zip(python, c) if a != b]
    if differing or len(python) != len(c):
        sys.exit("the bindings differ from the headers (run python/make_bindings.py):\n" + "\n".join(differing[:10]))
    print(f"{len(_c.STRUCTS)} structs and {len(values)} values of enums are the same in Python and in C")


if __name__ == "__main__":
    main()
