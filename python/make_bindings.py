#!/usr/bin/env python3
"""Writes python/splatsmith/_c.py and _options.py: the public C headers as ctypes, and their options as types.

    python/make_bindings.py [--check]

--check writes nothing and fails when a file is not what the headers say. Run it after a change of include/. Only the
C that the headers use is understood; anything else is an error that names the line.
"""
import re
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "splatsmith"

SCALARS = {
    "bool": "c_bool", "char": "c_char", "int": "c_int", "unsigned": "c_uint", "float": "c_float", "double": "c_double",
    "size_t": "c_size_t", "uint8_t": "c_uint8", "uint16_t": "c_uint16", "uint32_t": "c_uint32", "uint64_t": "c_uint64",
    "int8_t": "c_int8", "int16_t": "c_int16", "int32_t": "c_int32", "int64_t": "c_int64",
}
# Options that are arguments of their own in Python.
ARGUMENTS = {("splat_scene_options", "source_path"), ("splat_run_options", "model_path"),
             ("splat_train_options", "regularization"), ("splat_clean_options", "has_bbox"),
             ("splat_viewer_options", "port")}
PYTHON_TYPES = {"c_bool": "bool", "c_float": "float", "c_double": "float", "c_char_p": "PathLike"}


class Parser:
    """The declarations of the headers, in their order, as lines of Python."""

    def __init__(self, text: str):
        text = re.sub(r"\\\n", " ", text)
        self.constants: Dict[str, str] = {}
        for name, value in re.findall(r"^#define (SPLAT\w+) +(.+?) *$", text, re.M):
            value = re.sub(r"/\*.*?\*/", "", value).strip()
            if re.fullmatch(r'\d+|\d+\.\d+|"[\d.]+"', value):
                self.constants[name] = value
        text = re.sub(r'extern "C" \{', "", text)
        text = re.sub(r"#ifdef __cplusplus\s*\}\s*#endif", "", text)
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"^ *#.*$", "", text, flags=re.M)
        self.tokens = re.findall(r"\w+|[^\s\w]", text)
        self.at = 0
        self.enums: Dict[str, List[Tuple[str, int]]] = {}
        self.structs: Dict[str, Optional[List[Tuple[str, str]]]] = {}  # None: opaque
        self.callbacks: Dict[str, str] = {}
        self.functions: List[Tuple[str, str, List[str]]] = []
        self.order: List[str] = []
        while self.at < len(self.tokens):
            self.declaration()

    # ------------------------------------------------------------ tokens

    def peek(self, ahead: int = 0) -> str:
        return str(self.tokens[self.at + ahead]) if self.at + ahead < len(self.tokens) else ""

    def take(self, wanted: Optional[str] = None) -> str:
        token: str = self.peek()
        if wanted is not None and token != wanted:
            around = " ".join(self.tokens[max(0, self.at - 12):self.at + 6])
            raise SystemExit(f"make_bindings.py: expected {wanted!r}, not {token!r}, in: {around}")
        self.at += 1
        return token

    # ------------------------------------------------------------ declarations

    def declaration(self) -> None:
        if self.peek() == ";":
            self.take()
        elif self.peek() == "typedef":
            self.take()
            self.typedef()
        elif self.peek() == "struct" and self.peek(2) == ";":
            self.take()
            self.opaque(self.take())
            self.take(";")
        else:
            self.function()

    def typedef(self) -> None:
        if self.peek() == "enum":
            self.take()
            self.enum()
        elif self.peek() == "struct":
            self.take()
            tag = self.take()
            if self.peek() == "{":
                fields = self.fields()
                name = self.take()
                self.opaque(tag)
                self.structs[name] = fields
            else:
                self.opaque(self.take())
            self.take(";")
        else:
            result = self.base_type()
            while self.peek() == "*":
                result = self.pointer(result)
            name, arguments = self.callback()
            self.callbacks[name] = f"CFUNCTYPE({', '.join([result] + arguments)})"
            self.order.append(name)
            self.take(";")

    def opaque(self, name: str) -> None:
        if name not in self.structs:
            self.structs[name] = None
            self.order.append(name)

    def enum(self) -> None:
        if self.peek() != "{":
            self.take()
        self.take("{")
        values: List[Tuple[str, int]] = []
        following = 0
        while self.peek() != "}":
            name = self.take()
            if self.peek() == "=":
                self.take()
                following = int(self.take())
            values.append((name, following))
            following += 1
            if self.peek() == ",":
                self.take()
        self.take("}")
        name = self.take()
        self.take(";")
        self.enums[name] = values
        self.order.append(name)

    def fields(self) -> List[Tuple[str, str]]:
        fields: List[Tuple[str, str]] = []
        self.take("{")
        while self.peek() != "}":
            base = self.base_type()
            while True:
                kind = base
                while self.peek() in ("*", "const"):
                    kind = kind if self.take_const() else self.pointer(kind)
                if self.peek() == "(":
                    name, arguments = self.callback()
                    kind = f"CFUNCTYPE({', '.join([kind] + arguments)})"
                else:
                    name = self.take()
                lengths = []
                while self.peek() == "[":
                    self.take()
                    lengths.append(self.length())
                    self.take("]")
                for length in reversed(lengths):
                    kind = f"({kind} * {length})"
                fields.append((name, kind))
                if self.peek() != ",":
                    break
                self.take()
            self.take(";")
        self.take("}")
        return fields

    def length(self) -> str:
        token = self.take()
        if token.isdigit():
            return token
        for values in self.enums.values():
            if token in dict(values):
                return str(dict(values)[token])
        if token not in self.constants:
            raise SystemExit(f"make_bindings.py: the length {token} of an array is no number of the headers")
        return self.constants[token]

    def function(self) -> None:
        result = self.base_type()
        while self.peek() == "*":
            result = self.pointer(result)
        name = self.take()
        self.functions.append((name, result, self.arguments()))
        self.take(";")

    # ------------------------------------------------------------ types

    def base_type(self) -> str:
        while self.peek() in ("const", "struct"):
            self.take()
        token = self.take()
        if token == "unsigned" and self.peek() == "char":
            self.take()
            token = "uint8_t"
        if self.peek() == "const":
            self.take()
        if token == "void":
            return "None"
        if token in SCALARS:
            return SCALARS[token]
        if token in self.enums:
            return "c_int"
        if token in self.structs or token in self.callbacks:
            return token
        if self.peek() == "*":  # of a struct that a later header describes
            self.opaque(token)
            return token
        raise SystemExit(f"make_bindings.py: unknown type {token!r}")

    def pointer(self, kind: str) -> str:
        self.take("*")
        if self.peek() == "const":
            self.take()
        return {"None": "c_void_p", "c_char": "c_char_p"}.get(kind, f"POINTER({kind})")

    def arguments(self) -> List[str]:
        self.take("(")
        arguments: List[str] = []
        while self.peek() != ")":
            kind = self.base_type()
            while self.peek() in ("*", "const"):
                kind = kind if self.take_const() else self.pointer(kind)
            if self.peek() not in (",", ")", "["):
                self.take()
            if self.peek() == "[":
                while self.peek() == "[":
                    self.take()
                    if self.peek() != "]":
                        self.length()
                    self.take("]")
                kind = f"POINTER({kind})"
            if kind != "None":
                arguments.append(kind)
            if self.peek() == ",":
                self.take()
        self.take(")")
        return arguments

    def take_const(self) -> bool:
        if self.peek() != "const":
            return False
        self.take()
        return True

    def callback(self) -> Tuple[str, List[str]]:
        self.take("(")
        self.take("*")
        name = self.take()
        self.take(")")
        return name, self.arguments()


def read_headers() -> Parser:
    """All public headers, each once, in the order in which they include one another."""
    seen: List[str] = []
    texts: List[str] = []

    def read(name: str) -> None:
        if name in seen:
            return
        seen.append(name)
        text = (ROOT / "include" / name).read_text(encoding="utf-8")
        for included in re.findall(r'^#include "([^"]+)"', text, re.M):
            read(included)
        texts.append(text)

    read("splatsmith.h")
    return Parser("\n".join(texts))


def words_of(name: str) -> str:
    """splat_mask_mode -> MaskMode"""
    return "".join(word.capitalize() for word in name[len("splat_"):].split("_"))


def members_of(values: List[Tuple[str, int]]) -> List[Tuple[str, int]]:
    """The names without what all of them begin with."""
    names = [name.split("_") for name, _ in values]
    common = 1
    while all(len(name) > common + 1 for name in names) and len({name[common] for name in names}) == 1:
        common += 1
    return [("_".join(name[common:]), value) for name, (_, value) in zip(names, values)]


def write_c(parser: Parser) -> str:
    out = ['"""The C interface of Splatsmith as ctypes: made of include/ by make_bindings.py, not to be edited.',
           "",
           "Functions, structs and their meaning are documented in the headers. `declare` gives",
           'every function its types."""',
           "IMPORT",
           "from enum import IntEnum",
           "from typing import Any, Dict, List, Tuple",
           ""]
    out += [f"{name} = {value}" for name, value in parser.constants.items()] + [""]
    for name in parser.order:
        if name in parser.enums:
            out += ["", f"class {words_of(name)}(IntEnum):"]
            out += [f"    {member} = {value}" for member, value in members_of(parser.enums[name])] + [""]
        elif name in parser.callbacks:
            continue
        else:
            out += ["", f"class {name}(Structure):", "    pass", ""]
    defined = [name for name, fields in parser.structs.items() if fields]
    out += [""]
    for name, kind in parser.callbacks.items():
        out += wrap(f"{name} = {kind}")
    out += [""]
    # structs that hold others by value come after them
    done: List[str] = []

    def define(name: str) -> None:
        if name in done:
            return
        done.append(name)
        for _, kind in parser.structs[name] or []:
            inner = re.sub(r"[()]| \* \d+", "", kind)
            if inner in defined:
                define(inner)
        out.append(f"{name}._fields_ = [")
        out.extend(f'    ("{field}", {kind.strip("()") if kind.count("(") == 1 and kind[0] == "(" else kind}),'
                   for field, kind in parser.structs[name] or [])
        out.append("]")

    for name in defined:
        define(name)
    out += ["", "STRUCTS: List[Any] = ["] + [f"    {name}," for name in defined] + ["]"]
    out += ["", "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {"]
    for name, result, arguments in parser.functions:
        line = f'    "{name}": ({result}, [{", ".join(arguments)}]),'
        out += wrap(line)
    out += ["}", "", "",
            "def declare(library: Any) -> Any:",
            '    """The library, with typed functions."""',
            "    for name, (result, arguments) in FUNCTIONS.items():",
            "        function = getattr(library, name)",
            "        function.restype = result",
            "        function.argtypes = arguments",
            "    return library", ""]
    text = re.sub(r"\n{4,}", "\n\n\n", "\n".join(out))
    used = sorted(set(re.findall(r"\b(?:CDLL|CFUNCTYPE|POINTER|Structure|c_\w+)\b", text)))
    return text.replace("IMPORT", "\n".join(wrap(f"from ctypes import ({', '.join(used)})")), 1)


def wrap(line: str) -> List[str]:
    lines, indent = [], " " * 8
    while len(line) > 120:
        cut = line.rfind(", ", 0, 119) + 1
        lines.append(line[:cut])
        line = indent + line[cut + 1:]
    return lines + [line]


def write_options(parser: Parser) -> str:
    """A TypedDict for each struct of options: what keyword arguments take."""
    enums_by_field = enum_fields()
    out = ['"""The options of the C interface as types: made of include/ by make_bindings.py, not to be edited.',
           "",
           "The headers have the meaning, the range and the default of each, and so has `splatsmith train",
           '--help`. Enums are also given as words: mask_mode="alpha"."""',
           "import os",
           "from enum import IntEnum",
           "from typing import Dict, Sequence, Type, TypedDict, Union",
           "",
           "from . import _c",
           "",
           "PathLike = Union[str, \"os.PathLike[str]\"]",
           "",
           "# The density strategies.",
           f"STRATEGIES = ({', '.join(strategies())})",
           ""]
    for name, fields in parser.structs.items():
        if not fields or fields[0] != ("size", "c_size_t") or not name.endswith(("_options", "_job")):
            continue
        members = [member for member in fields[1:] if (name, member[0]) not in ARGUMENTS]
        if name == "splat_train_options":  # a struct within, whose names are of it alone
            members += [member for member in parser.structs["splat_coarse_options"] or []
                        if (name, member[0]) not in ARGUMENTS]
        out += ["", f"class {words_of(name)}(TypedDict, total=False):"]
        counts = {field for field, kind in members if kind == "c_size_t" and field.startswith("n_")}
        for field, kind in members:
            if field in counts and any(field == "n_" + other for other, _ in members):
                continue
            known = python_type(field, kind, enums_by_field.get((name, field)))
            if known:
                out.append(f"    {field}: {known}")
        out.append("")
    out += ["", "# Which fields of structs are of enums.", "ENUM_FIELDS: Dict[str, Dict[str, Type[IntEnum]]] = {"]
    for name in parser.structs:
        enums = {field: enum for (struct, field), enum in enums_by_field.items() if struct == name}
        if enums:
            inner = ", ".join(f'"{field}": _c.{words_of(enum)}' for field, enum in enums.items())
            line = f'    "{name}": {{{inner}}},'
            out += wrap(line)
    out += ["}", ""]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(out))


def strategies() -> List[str]:
    """The words of the table of density strategies, in quotes."""
    table = (ROOT / "src" / "engine" / "train" / "density" / "strategies.def").read_text(encoding="utf-8")
    return [f'"{word}"' for word in re.findall(r"^SPLAT_STRATEGY\((\w+)", table, re.M)]


def python_type(field: str, kind: str, enum: Optional[str]) -> Optional[str]:
    if enum:
        return f"Union[str, _c.{words_of(enum)}]"
    if kind in PYTHON_TYPES:
        return PYTHON_TYPES[kind]
    if kind == "POINTER(c_int)":
        return "Sequence[int]"
    if re.fullmatch(r"\(c_(double|float) \* \d+\)", kind):
        return "Sequence[float]"
    return "int" if re.fullmatch(r"c_(int|size_t|u?int\d+)", kind) else None


def enum_fields() -> Dict[Tuple[str, str], str]:
    """(struct, field) -> enum: ctypes has int for all of them."""
    found: Dict[Tuple[str, str], str] = {}
    for path in sorted((ROOT / "include" / "splatsmith").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", text, re.S):
            for enum, fields in re.findall(r"^\s*(splat_\w+) (\w+(?:, \w+)*);", body, re.M):
                if enum in ENUM_NAMES:
                    found.update({(name, field): enum for field in fields.split(", ")})
    return found


ENUM_NAMES: List[str] = []


def main() -> int:
    parser = read_headers()
    ENUM_NAMES.extend(parser.enums)
    stale = False
    for path, text in ((PACKAGE / "_c.py", write_c(parser)), (PACKAGE / "_options.py", write_options(parser))):
        if sys.argv[1:] == ["--check"]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                print(f"{path.relative_to(ROOT)} is not what include/ says: run python/make_bindings.py")
                stale = True
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
