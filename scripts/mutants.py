"""Mutation testing: scripts/mutants.sh says how to call it.

1. Candidates. Every line of code gives at most one change: the change with the smallest hash of (seed, folder and name
   of the file, text of the line, its occurrence, kind, place). The N lines with the smallest hashes are tried. An edit
   elsewhere, or a move of the folder, therefore leaves the choice as it is. A change that does not compile is replaced
   by the next line.
2. Baseline. All library objects are linked once into a shared library, with clang's coverage. Each test runs once: its
   time, its verdict and the lines that it executes are kept in baseline.json. A test is left out if it fails, or takes
   longer than LONGEST seconds.
3. A mutant. One line of the copy changes, ninja builds what depends on it, and the tests that execute the line run:
   tests named like the file first, short tests before long ones. The first failure that a second run confirms kills the
   mutant; a test that exceeds its time kills it, too. A line that no test executes survives without a run.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

LONGEST = 40.0  # seconds of CPU; a test that takes longer is no test of one line
PATIENCE = 4  # seconds that a busy machine may take for one
MEMORY = 8 << 30  # bytes of a test: a mutant may ask for anything
FILE_SIZE = 16 << 30  # some tests write large files with holes
LEFT_OUT_FILES = re.compile(r"_test\.c$|_test\.h$|/viewer_page\.inc$|/font_6x13\.h$|/page/")
LEFT_OUT_TESTS = re.compile(r"_long$|^test_gpu")
SKIP = re.compile(os.environ.get("SKIP") or r"(?!)")
C_TYPES = re.compile(r"\b(?:struct|union|enum)\b[^;{}()=]*$")
COMMUTATIVE = re.compile(r"(?:min|max|dot|add|hypot|mul|equal|cmp)\w*$", re.I)
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "defined"}
COUNTS = re.compile(r"(?:\d+u?|sizeof.*|(?:\w+(?:\.|->))*(?:n_\w+|n|\w*(?:count|size|length|width|height|bytes|end|rows|last|first)))$")


# --- candidates -------------------------------------------------------------------------------------------------------

def blank(match):
    """Spaces in place of a comment or a string: columns and lines stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


def code_of(text):
    """The text without comments, strings, characters and preprocessor lines, with the same lines and columns."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def body_lines(code):
    """Which lines of the code do something: bodies of functions, and initialised values outside of them."""
    kinds, before, useful = [], "", []
    for line in code.split("\n"):
        inside = bool(kinds) and "type" not in kinds
        starts_value = not kinds and re.search(r"\bconst\b.*=", line)
        useful.append(bool(line.strip()) and (inside or bool(starts_value)))
        for c in line:
            if c == "{":
                kinds.append("type" if C_TYPES.search(before) else "body")
            elif c == "}" and kinds:
                kinds.pop()
            before = "" if c in ";{}" else before + c
        before += "\n"
    return useful


def other_number(literal):
    """A different value of about the same use: twice, or a thousand times where it is a small tolerance."""
    number = re.match(r"0[xX][0-9a-fA-F]+|[0-9.]+(?:[eE][+-]?\d+)?", literal).group(0)
    suffix = literal[len(number):]
    if number.lower().startswith("0x"):
        return "0x%x%s" % (int(number, 16) ^ 1, suffix)
    if re.search(r"[.eE]", number):
        value = float(number)
        value = 1.0 if value == 0 else value * (1000 if value < 1e-3 else 2)
        return repr(value) + suffix
    return str(int(number, 8 if re.fullmatch(r"0\d+", number) else 10) + 1) + suffix


def is_array_length(line, number):
    """True if a number is the length in a declaration: a longer array changes nothing."""
    declares = re.match(r"\s*(?:static |const )*(?:struct \w+|\w+) \*?\w+\[", line)
    inside = re.search(r"[\w\]]\[$", line[:number.start()]) and line[number.end():number.end() + 1] == "]"
    return bool(declares and inside and ("{" not in line[:number.start()]))


def changes(line):
    """(kind, column, old text, new text) of every change of one line of code."""
    for m in re.finditer(r"(?<=[\w)\]] )([-+*/])(?= [\w(&!~-])", line):
        old = m.group(1)
        if old in "+-":
            yield "sign", m.start(), old, "-" if old == "+" else "+"
        elif old == "/" or re.search(r"[\w)\]] $", line[:m.start()]):
            yield "factor", m.start(), old, "/" if old == "*" else "*"
    for m in re.finditer(r"(?<= )([-+])=(?= )", line):
        yield "sign", m.start(), m.group(0), "-=" if m.group(1) == "+" else "+="
    for m in re.finditer(r"(?<= )(<=|>=|<|>|==|!=)(?= )", line):
        old = m.group(0)
        yield "comparison", m.start(), old, {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}[old]
        bound = re.match(r" ((?:[\w.]|->)+)", line[m.end():])
        if old not in ("==", "!=") and bound and COUNTS.match(bound.group(1)):
            yield "off by one", m.start(), old, {"<": "<=", ">": ">=", "<=": "<", ">=": ">"}[old]
    for m in re.finditer(r"(?<= )(&&|\|\|)(?= )", line):
        yield "logic", m.start(), m.group(0), "||" if m.group(0) == "&&" else "&&"
    for m in re.finditer(r"(?<![\w.])!(?=[\w(])", line):
        yield "negation", m.start(), "!", ""
    for m in re.finditer(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)[uUlLfF]*(?![\w.])", line):
        if not is_array_length(line, m):
            yield "constant", m.start(), m.group(0), other_number(m.group(0))
    for m in re.finditer(r"(?<=[\w)\]]) [-+] (?!0\b)(?:[\w.]|->)+(?=[;,)\]]| [-+<>=?:&|])", line):
        yield "dropped term", m.start(), m.group(0), ""
    for m in re.finditer(r"\b(\w+)\(", line):
        if m.group(1) not in KEYWORDS and not COMMUTATIVE.search(m.group(1)):
            call = re.compile(r"((?:[^(),]|\([^()]*\))*, )??([&*]?[\w.>\[\]-]+), ([&*]?[\w.>\[\]-]+)(?=[,)])")
            pair = call.match(line, m.end())
            if pair and pair.group(2) != pair.group(3):
                old = line[pair.start(2):pair.end(3)]
                yield "swapped", pair.start(2), old, pair.group(3) + ", " + pair.group(2)


def is_declaration(line):
    """Lines that mean nothing at run time, or whose change cannot be seen."""
    return re.match(r"\s*(?:extern|typedef|_Static_assert|static_assert|struct \w+;)\b", line) is not None \
        or re.match(r"[a-z][\w *]*\([^=]*\);$", line) is not None


def candidates(root, folder, seed):
    """All lines with their change, ranked."""
    ranked = []
    for path in sorted((root / folder).rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".c", ".h", ".inc") or LEFT_OUT_FILES.search(name) or SKIP.search(name):
            continue
        text = path.read_text()
        lines, code, short = text.split("\n"), code_of(text), "/".join(path.parts[-2:])
        useful, seen = body_lines(code), {}
        for i, line in enumerate(code.split("\n")):
            stripped = lines[i].strip()
            occurrence = seen[stripped] = seen.get(stripped, 0) + 1
            if not useful[i] or is_declaration(line):
                continue
            best = None
            for kind, column, old, new in changes(line):
                words = "\0".join([str(seed), short, stripped, str(occurrence), kind, str(column - len(line) + len(line.lstrip())), new])
                rank = hashlib.sha256(words.encode()).hexdigest()[:16]
                if best is None or rank < best["id"]:
                    changed = lines[i][:column] + new + lines[i][column + len(old):]
                    best = {"id": rank, "file": name, "line": i + 1, "kind": kind, "old": stripped,
                            "new": changed.strip(), "text": changed}
            if best:
                ranked.append(best)
    return sorted(ranked, key=lambda c: c["id"])


# --- the copy and its build -------------------------------------------------------------------------------------------

def sources(root):
    """The files that git knows or would take; all files where there is no git."""
    if (root / ".git").exists():
        out = subprocess.run(["git", "ls-files", "-zco", "--exclude-standard"], cwd=root, check=True,
                             stdout=subprocess.PIPE).stdout
        return [name for name in out.decode().split("\0") if name and (root / name).is_file()]
    names = [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()]
    return [name for name in names if not name.startswith("build")]


def copy_sources(root, tree):
    """Makes the tree equal to the sources. Files with the same bytes keep their time, so that ninja leaves them."""
    names = set(sources(root))
    for name in names:
        source, copy = root / name, tree / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
        if os.access(source, os.X_OK) != os.access(copy, os.X_OK):
            shutil.copymode(source, copy)
    for old in [p for p in tree.rglob("*") if p.is_file()]:
        if old.relative_to(tree).as_posix() not in names:
            old.unlink()


class Workplace:
    """The folder build-mutants: the copy, its build, the baseline and the record."""

    def __init__(self, root, folder, jobs):
        self.root, self.folder, self.jobs = root, folder, jobs
        self.tree, self.build = folder / "tree", folder / "build"
        self.lines = {}  # file -> line -> names of tests
        self.tests = {}

    def prepare(self):
        self.tree.mkdir(parents=True, exist_ok=True)
        copy_sources(self.root, self.tree)
        flags = "-O2 -fprofile-instr-generate -fcoverage-mapping -fsanitize=bounds -fsanitize-trap=bounds " \
            "-DSPLATSMITH_RED_ZONES=1 -Werror=incompatible-pointer-types " \
            "-Werror=int-conversion -Werror=implicit-function-declaration"
        self.command(["cmake", "-G", "Ninja", "-S", self.tree, "-B", self.build, "-DCMAKE_C_COMPILER=clang",
                      "-DCMAKE_BUILD_TYPE=Mutants", "-DCMAKE_C_FLAGS_MUTANTS=" + flags, "-DSPLATSMITH_TESTS_SHARED=ON",
                      "-DSPLATSMITH_CUDA=OFF", "-DCMAKE_SHARED_LINKER_FLAGS=" +
                      ("-fuse-ld=lld" if shutil.which("ld.lld") else "")])
        programs = re.findall(r"^(test_\w+): ", self.command(["ninja", "-C", self.build, "-t", "targets", "all"]), re.M)
        self.command(["ninja", "-C", self.build, f"-j{self.jobs}", *self.always(), *programs])
        shown = json.loads(self.command(["ctest", "--test-dir", self.build, "--show-only=json-v1"]))
        for test in shown["tests"]:
            if "command" not in test or not re.match(r"(?:test|op)_", test["name"]) or LEFT_OUT_TESTS.search(test["name"]) \
                    or SKIP.search(test["name"]):
                continue
            properties = {p["name"]: p["value"] for p in test["properties"]}
            self.tests[test["name"]] = {
                "name": test["name"], "command": test["command"], "folder": properties.get("WORKING_DIRECTORY", self.build),
                "environment": dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
                "target": os.path.basename(test["command"][0])}

    @staticmethod
    def always():
        return ["splatsmith_linked", "splatsmith", "splatsmith_modules"]

    def command(self, words):
        done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
        if done.returncode:
            sys.exit("%s failed:\n%s" % (" ".join(map(str, words)), done.stdout[-4000:]))
        return done.stdout

    def compile(self, targets):
        """True if ninja builds the inputs of the tests."""
        words = ["ninja", "-C", str(self.build), f"-j{self.jobs}", *self.always(), *sorted(targets)]
        return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def run(self, test, seconds, profile="/dev/null"):
        """'passed', 'failed' or 'timeout', seconds of CPU, and seconds that it ran."""
        data = self.root / "shared" / "data"
        data = data if data.is_dir() else self.root.parent / "shared" / "data"
        environment = {**os.environ, **({"SPLATSMITH_DATA": str(data)} if data.is_dir() else {}),
                       **test["environment"], "LLVM_PROFILE_FILE": str(profile), "MALLOC_PERTURB_": "165"}
        start = time.monotonic()
        child = subprocess.Popen(test["command"], cwd=test["folder"], env=environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                 preexec_fn=limit)
        timer = threading.Timer(seconds, end_group, [child.pid])
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        took = time.monotonic() - start
        timer.cancel()
        end_group(child.pid)  # also what it started and left
        child.returncode = os.waitstatus_to_exitcode(status)
        verdict = "passed" if child.returncode == 0 else "timeout" if took >= seconds else "failed"
        return verdict, usage.ru_utime + usage.ru_stime, took

    # --- the baseline

    def objects(self):
        library = [p for p in self.build.rglob("libsplatsmith_linked.so")]
        return library + [p for p in (self.build / "splatsmith", self.build / "lib/splatsmith/splatsmith_mpi.so")
                          if p.is_file()]

    def measure(self, test):
        """Runs a test once and reads which lines it executed."""
        profiles = self.folder / "profiles" / test["name"]
        shutil.rmtree(profiles, ignore_errors=True)
        profiles.mkdir(parents=True)
        verdict, seconds, took = self.run(test, PATIENCE * LONGEST, profiles / "%m.profraw")
        verdict = "too long" if verdict == "passed" and seconds > LONGEST else verdict
        lines = {}
        raw = list(profiles.glob("*.profraw"))
        if verdict == "passed" and raw:
            name = None
            for line in self.coverage(profiles, raw).splitlines():
                if line.startswith("SF:"):
                    name = self.name_of(line[3:])
                elif name and line.startswith("DA:") and not line.endswith(",0"):
                    lines.setdefault(name, []).append(int(line[3:].split(",")[0]))
        shutil.rmtree(profiles, ignore_errors=True)
        return {"verdict": verdict, "seconds": round(seconds, 2), "took": round(took, 2), "lines": lines}

    def coverage(self, profiles, raw):
        """The lines of the raw profiles, as lcov. A child that the test left may still write its own: tried twice."""
        merged, objects = profiles / "merged", self.objects()
        for last in (False, True):
            try:
                self.command(["llvm-profdata", "merge", "-sparse", "--failure-mode=all", *raw, "-o", merged])
                return self.command(["llvm-cov", "export", "-format=lcov", "--skip-expansions", "--num-threads=1",
                                     f"-instr-profile={merged}", objects[0], *[f"-object={o}" for o in objects[1:]]])
            except SystemExit:
                if last:
                    raise
                time.sleep(2)
        return ""

    def name_of(self, path):
        """src/... of a path in the coverage, or None."""
        at = path.rfind("/src/")
        name = path if path.startswith("src/") else path[at + 1:] if at >= 0 else None
        return os.path.normpath(name) if name else None

    def baseline(self):
        record = self.folder / "baseline.json"
        known = json.loads(record.read_text()) if record.is_file() else {}
        library = digest(self.objects())
        missing = []
        for test in self.tests.values():
            key = library + digest([test["command"][0]])
            test["key"] = key
            was = known.get(test["name"], {})
            if was.get("key") != key or was["verdict"] == "failed": # it may have failed by chance
                missing.append(test)
        if missing:
            print(f"baseline: {len(missing)} tests", file=sys.stderr, flush=True)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            running = {pool.submit(self.measure, test): test for test in missing}
            for i, done in enumerate(concurrent.futures.as_completed(running)):
                test = running[done]
                known[test["name"]] = {**done.result(), "key": test["key"]}
                if i % 5 == 4 or i + 1 == len(missing):
                    save(record, known)
        for test in list(self.tests.values()):
            test.update(known[test["name"]])
            if test["verdict"] != "passed":
                print(f"left out: {test['name']}: {test['verdict']} without a change", file=sys.stderr)
                continue
            for name, lines in test.pop("lines").items():
                for line in lines:
                    self.lines.setdefault(name, {}).setdefault(line, []).append(test["name"])

    # --- a mutant

    def order(self, name, tests):
        """Tests named like the file first, then the short ones."""
        path = pathlib.PurePosixPath(name)
        stem = re.sub(r"_(?:cpu|ref|simd|kernel|backward)$", "", path.stem)
        words = set(re.split(r"_", stem)) | {path.parent.name}

        def cost(test):
            own = test in (f"test_{stem}", f"op_{stem}", f"op_{path.parent.name}", f"test_{path.parent.name}")
            shared = len(words & set(test.split("_")[1:]))
            return self.tests[test]["seconds"] * (0.02 if own else 0.3 ** shared)
        return sorted(tests, key=lambda t: (cost(t), t))

    def attempt(self, mutant, budget):
        """Fills the verdict of one mutant."""
        covering = self.lines.get(mutant["file"], {}).get(mutant["line"], [])
        tests = [self.tests[t] for t in self.order(mutant["file"], covering)]
        path = self.tree / mutant["file"]
        text = path.read_text()
        lines = text.split("\n")
        lines[mutant["line"] - 1] = mutant["text"]
        path.write_text("\n".join(lines))
        try:
            if not self.compile({t["target"] for t in tests}):
                return {"verdict": "does not compile"}
            if not tests:
                return {"verdict": "survived", "why": "not executed"}
            return self.try_tests(tests, budget)
        finally:
            path.write_text(text)

    def try_tests(self, tests, budget):
        """Runs tests, some at a time, until one fails twice or the budget is spent."""
        spent, waiting, tried = 0.0, list(tests), 0
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            while waiting and spent < budget:
                some, waiting = waiting[:self.jobs], waiting[self.jobs:]
                limits = [10 + PATIENCE * max(t["took"], t["seconds"]) for t in some]
                for test, seconds, (verdict, used, _) in zip(some, limits, pool.map(self.run, some, limits)):
                    spent += used
                    tried += 1
                    if verdict == "failed":
                        verdict = self.run(test, seconds)[0]  # a test that fails by chance kills nothing
                    if verdict != "passed":
                        return {"verdict": "killed", "by": test["name"], "how": verdict, "tests": tried}
        why = f"budget: {tried} of {len(tests)} tests" if waiting else f"{tried} tests pass"
        return {"verdict": "survived", "why": why, "tests": tried}


def end_group(pid):
    """Ends what a test started, and the test."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def limit():
    for what, most in ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_FSIZE, FILE_SIZE), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def digest(paths):
    total = hashlib.sha256()
    for path in paths:
        total.update(pathlib.Path(path).read_bytes())
    return total.hexdigest()[:16]


def save(path, value):
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value))
    new.replace(path)


# --- the run ----------------------------------------------------------------------------------------------------------

def room_of(name):
    parts = name.split("/")
    return parts[2] if len(parts) > 3 else parts[1] if len(parts) > 2 else parts[0]


def report(mutants):
    """Prints survivors and the table by room."""
    rooms = {}
    for m in mutants:
        room = rooms.setdefault(room_of(m["file"]), {"killed": 0, "survived": 0})
        room[m["verdict"]] += 1
    for m in sorted((m for m in mutants if m["verdict"] == "survived"), key=lambda m: (m["file"], m["line"])):
        print(f"{m['file']}:{m['line']}: {m['kind']}; {m['why']}\n    - {m['old']}\n    + {m['new']}")
    print("\n| room | tried | killed | survived | killed |\n|---|---|---|---|---|")
    total = {"killed": 0, "survived": 0}
    for name, room in sorted(rooms.items()) + [("all", total)]:
        tried = room["killed"] + room["survived"]
        print(f"| {name} | {tried} | {room['killed']} | {room['survived']} | {100 * room['killed'] / max(tried, 1):.0f} % |")
        total = total if room is total else total
        if room is not total:
            total["killed"] += room["killed"]
            total["survived"] += room["survived"]


def main():
    parser = argparse.ArgumentParser(description="Changes one line at a time and reports what the tests notice.")
    parser.add_argument("n", nargs="?", type=int, default=50)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("folder", nargs="?", default="src")
    parser.add_argument("--list", action="store_true", help="print the changes and run nothing")
    parser.add_argument("--again", action="store_true", help="try recorded survivors again")
    parser.add_argument("--json", help="a file for the result")
    parser.add_argument("--root", default=".", help=argparse.SUPPRESS)
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    ranked = candidates(root, options.folder.rstrip("/"), options.seed)
    if options.list:
        for m in ranked[:options.n]:
            print(f"{m['file']}:{m['line']}: {m['kind']}\n    - {m['old']}\n    + {m['new']}")
        return
    place = Workplace(root, pathlib.Path(os.environ.get("BUILD", root / "build-mutants")).resolve(),
                      int(os.environ.get("JOBS", "2")))
    place.prepare()
    place.baseline()
    record = place.folder / "record.json"
    known = json.loads(record.read_text()) if record.is_file() else {}
    done, redrawn = [], 0
    for mutant in ranked:
        if len(done) == options.n:
            break
        result = known.get(mutant["id"])
        if result is None or (options.again and result["verdict"] == "survived"):
            result = place.attempt(mutant, float(os.environ.get("BUDGET", "60")))
            known[mutant["id"]] = result
            save(record, known)
            print(f"{len(done) + 1}/{options.n} {mutant['file']}:{mutant['line']} {mutant['kind']}: {result['verdict']} "
                  f"{result.get('by', result.get('why', ''))}", file=sys.stderr, flush=True)
        if result["verdict"] == "does not compile":
            redrawn += 1
        else:
            done.append({**mutant, **result})
    report(done)
    print(f"\n{redrawn} changes that do not compile were replaced.")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main()
