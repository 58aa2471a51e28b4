"""Compares other trainers with this one: the same photos, the same split, our metrics of their files, one table.

Usage: compare.py OUT SPLATSMITH SCENE [NAME=CHECKOUT...] [--iterations 30000] [--resolution 1] [--seeds 3]
                  [--options NAME="..."] [--recipes FILE] [--no-build] [--backend cuda|cpu] [--gpu 0] [--threads N]
                  [--limit SECONDS] [--budget SECONDS] [--python python3]
  OUT         receives peers.json, peers.md, the log of each run, and the splats
  SPLATSMITH  the program: it trains first, says the split, and measures every splat
  SCENE       a COLMAP scene: images/ and sparse/0
  NAME        of recipes.json (mip-splatting, fastgs, gsplat, opensplat), or of a file like it
  CHECKOUT    the peer's sources, with its submodules: they are built there, and stay as they are otherwise
  --options   more options for a peer's training, or splatsmith="..." for ours
  --threads   processor threads: OMP_NUM_THREADS of a peer, --threads of ours
  --limit     of a training: one that takes longer is ended, and has failed
  --budget    of everything: no run starts that would end later, if it took as long as its trainer's longest so far

A peer that fails is a line that says so; the exit code is then 1. Times are those of whole processes, decoding and
saving included: ours are taken in the same way, with the seconds of all their threads, which other
programs on the machine disturb less. Memory is nvidia-smi's of the process, sampled (driver_memory.py), or on the CPU
the system's largest resident set. Peers have seeds of their own, so their runs are repetitions. No peer's code is part
of this program. Faster-GS is trained by a framework with configuration files: it takes a recipe of your own.
"""
import argparse
import json
import os
import re
import shlex
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from driver_memory import Sampler  # noqa: E402 (in the folder above this file)

MIB = 1 << 20


class Failed(Exception):
    """A run that gave no splat: one sentence."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(command, log, cwd=None, env=None, gpu=None, limit=None):
    """Seconds, those of its threads, and peaks in MiB: the driver's and the resident; what it prints goes to the log."""
    with open(log, "ab") as out:
        out.write(("$ " + shlex.join(command) + "\n").encode())
        out.flush()
        begin = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=cwd, env=env,
                                       start_new_session=True)
        except OSError as error:
            raise Failed(f"{command[0]} cannot be started: {error.strerror}") from None
        sampler = Sampler(gpu, process.pid) if gpu is not None else None
        alarm = threading.Timer(limit, os.killpg, [process.pid, signal.SIGKILL]) if limit else None
        for thread in (sampler, alarm):
            if thread:
                thread.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = code = os.waitstatus_to_exitcode(status)
        peak = sampler.end() if sampler else 0
        if alarm:
            alarm.cancel()
    if code == -signal.SIGKILL and limit and seconds >= limit:
        raise Failed(f"{os.path.basename(command[0])} was not done after {limit:g} seconds; {log} has what it said")
    if code != 0:
        raise Failed(f"{os.path.basename(command[0])} ended with {code}; {log} says why")
    return {"seconds": seconds, "processor_seconds": used.ru_utime + used.ru_stime, "mib": peak,
            "resident_mib": used.ru_maxrss / 1024}


# ---------------------------------------------------------------- photos for those that hold none out

def read_images(path):
    """The records of COLMAP's images.bin: name, bytes."""
    with open(path, "rb") as file:
        data = file.read()
    (n,), at, records = struct.unpack_from("<Q", data), 8, []
    for _ in range(n):
        begin = at
        at += 4 + 7 * 8 + 4  # id, rotation and translation, camera
        end = data.index(b"\0", at)
        name, at = data[at:end].decode(errors="surrogateescape"), end + 1
        (n_points,) = struct.unpack_from("<Q", data, at)
        at += 8 + 24 * n_points
        records.append((name, data[begin:at]))
    return records


def training_scene(scene, out):
    """A scene of the training photos alone, of links; our first run has said which they are."""
    with open(os.path.join(out, "splatsmith_0", "split.json")) as file:
        split = json.load(file)
    folder, model = os.path.join(out, "training_photos"), os.path.join(scene, "sparse", "0")
    os.makedirs(os.path.join(folder, "sparse", "0"), exist_ok=True)
    links = {"images": os.path.join(scene, "images")}
    of_images = ("images.bin", "images.txt", "frames.bin")
    links.update({f"sparse/0/{f}": os.path.join(model, f) for f in os.listdir(model) if f not in of_images})
    for name, target in links.items():
        if not os.path.lexists(os.path.join(folder, name)):
            os.symlink(os.path.abspath(target), os.path.join(folder, name))
    path = os.path.join(model, "images.bin")
    if not os.path.exists(path):
        raise Failed(f"{path} is missing, out of which the test photos would be left")
    test = set(split["test"])
    kept = [r for name, r in read_images(path) if name not in test and os.path.basename(name) not in test]
    with open(os.path.join(folder, "sparse", "0", "images.bin"), "wb") as file:
        file.write(struct.pack("<Q", len(kept)) + b"".join(kept))
    return folder


# ---------------------------------------------------------------- the runs

def measure(a, ply, scene, log, more):
    """Our metrics of a splat, and its Gaussians."""
    command = [a.splatsmith, "eval", "--ply", ply, "-s", scene, "--eval", "-r", a.resolution, "--backend", a.backend]
    printed = subprocess.run(command + more, capture_output=True, text=True, errors="replace", check=False)
    with open(log, "a") as out:
        out.write("$ " + shlex.join(command + more) + "\n" + printed.stdout + printed.stderr)
    row = re.search(r"^test +(\d+) +([\d.]+) +[\d.]+ +([\d.]+)", printed.stdout, re.M)
    if printed.returncode or not row:
        raise Failed(f"its splat cannot be measured; {log} says why")
    with open(ply, "rb") as file:
        count = re.search(rb"element vertex (\d+)", file.read(4096))
    return {"views": int(row[1]), "psnr": float(row[2]), "ssim": float(row[3]), "gaussians": int(count[1])}


def ours(a, out, seed):
    folder, log = os.path.join(out, f"splatsmith_{seed}"), os.path.join(out, f"splatsmith_{seed}.log")
    command = [a.splatsmith, "train", "-s", a.scene, "-m", folder, "--eval", "-r", a.resolution, "--iterations",
               a.iterations, "--test_iterations", "-1", "--seed", str(seed), "--backend", a.backend]
    command += ["--threads", a.threads] if a.threads else []
    costs = run(command + a.options.get("splatsmith", []), log, gpu=a.gpu_of_run, limit=a.limit)
    ply = os.path.join(folder, "point_cloud", f"iteration_{a.iterations}", "point_cloud.ply")
    return {**costs, **measure(a, ply, a.scene, log, [])}


def build(a, recipe, checkout, log):
    for step in recipe.get("build", []):
        command = [word.format(python=a.python) for word in step["run"]]
        run(command, log, cwd=os.path.join(checkout, step["in"]))


def theirs(a, name, recipe, checkout, number):
    folder, log = os.path.join(a.out, f"{name}_{number}"), os.path.join(a.out, f"{name}_{number}.log")
    os.makedirs(folder, exist_ok=True)
    scene = training_scene(a.scene, a.out) if recipe.get("training_photos") else a.scene
    words = {"python": a.python, "scene": os.path.abspath(scene), "out": os.path.abspath(folder),
             "resolution": a.resolution, "iterations": a.iterations, "last": str(int(a.iterations) - 1),
             "port": str(free_port())}
    command = [word.format(**words) for word in recipe["train"]]
    if not os.path.isabs(command[0]) and os.path.exists(os.path.join(checkout, command[0])):
        command[0] = os.path.join(checkout, command[0])
    command += (recipe.get("cpu", []) if a.backend == "cpu" else []) + a.options.get(name, [])
    path = [os.path.join(checkout, p) for p in recipe.get("path", [])] + [os.environ.get("PYTHONPATH", "")]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in path if p), CUDA_VISIBLE_DEVICES=a.gpu)
    env.update({"OMP_NUM_THREADS": a.threads} if a.threads else {})
    costs = run(command, log, os.path.join(checkout, recipe.get("in", ".")), env, a.gpu_of_run, a.limit)
    ply = os.path.join(folder, recipe["ply"].format(**words))
    if not os.path.exists(ply):
        raise Failed(f"it left no {ply}")
    return {**costs, **measure(a, ply, a.scene, log, recipe.get("eval", []))}


# ---------------------------------------------------------------- the table

def mean(rows, key):
    return statistics.mean(row[key] for row in rows)


def table(results, backend):
    memory_of, whose = ("mib", "driver's") if backend == "cuda" else ("resident_mib", "resident")
    lines = ["| trainer | runs | seconds, whole process | of all threads | Gaussians | PSNR | SSIM | "
             f"memory, MiB, {whose} |", "|---|---|---|---|---|---|---|---|"]
    for name, result in results.items():
        rows = result["rows"]
        if not rows:
            lines.append(f"| {name} | not run: {result['failed']} | | | | | | |")
            continue
        psnr = ", ".join(f"{row['psnr']:.2f}" for row in rows)
        memory = f"{mean(rows, memory_of):.0f}" if any(row[memory_of] for row in rows) else ""
        lines.append(f"| {name} | {len(rows)} | {mean(rows, 'seconds'):.1f} | {mean(rows, 'processor_seconds'):.1f} | "
                     f"{mean(rows, 'gaussians'):,.0f} | {mean(rows, 'psnr'):.2f} ({psnr}) | "
                     f"{mean(rows, 'ssim'):.4f} | {memory} |")
        if result["failed"]:
            lines.append(f"| {name} | then: {result['failed']} | | | | | | |")
    return "\n".join(lines) + "\n"


def save(a, results):
    """The runs so far."""
    rows = {name: {"rows": result["rows"], "failed": result["failed"]} for name, result in results.items()}
    with open(os.path.join(a.out, "peers.json"), "w") as file:
        json.dump({"scene": os.path.basename(os.path.abspath(a.scene)), "resolution": a.resolution,
                   "iterations": a.iterations, "backend": a.backend, "threads": a.threads, "options": a.options,
                   "results": rows}, file, indent=1)
    with open(os.path.join(a.out, "peers.md"), "w") as file:
        file.write(table(results, a.backend))


def once(a, results, name, run_one):
    """One run of a trainer that has not failed, if time is left for another."""
    result, begin = results[name], time.monotonic()
    if result["failed"]:
        return
    if a.budget is not None and begin - a.begin + result["longest"] > a.budget:
        result["failed"] = None if result["rows"] else "no time was left"
        return
    try:
        result["rows"].append(run_one())
    except Failed as error:
        result["failed"] = str(error)
    result["longest"] = max(result["longest"], time.monotonic() - begin)
    save(a, results)


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("out")
    parser.add_argument("splatsmith")
    parser.add_argument("scene")
    parser.add_argument("peers", nargs="*")
    parser.add_argument("--iterations", default="30000")
    parser.add_argument("--resolution", default="1")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--options", action="append", default=[])
    parser.add_argument("--recipes", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "recipes.json"))
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("--backend", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--gpu", default="0")
    parser.add_argument("--threads")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--budget", type=float)
    parser.add_argument("--python", default=sys.executable)
    a = parser.parse_intermixed_args()
    a.options = {o.split("=", 1)[0]: shlex.split(o.split("=", 1)[1]) for o in a.options if "=" in o}
    a.begin = time.monotonic()
    a.splatsmith = os.path.abspath(a.splatsmith)
    a.gpu_of_run = a.gpu if a.backend == "cuda" else None
    return a


def main():
    a = arguments()
    with open(a.recipes) as file:
        recipes = json.load(file)
    peers = [p.split("=", 1) for p in a.peers]
    unknown = [p[0] for p in peers if len(p) < 2 or p[0] not in recipes]
    if unknown:
        sys.exit(f"compare.py: {unknown[0]}: a peer is NAME=CHECKOUT, NAME one of {', '.join(recipes)}")
    os.makedirs(a.out, exist_ok=True)
    results = {name: {"rows": [], "failed": None, "longest": 0.0} for name in ["splatsmith"] + [p[0] for p in peers]}
    for name, checkout in peers:
        try:
            if not os.path.isdir(checkout):
                raise Failed(f"there is no checkout {os.path.abspath(checkout)}")
            if not a.no_build:
                build(a, recipes[name], os.path.abspath(checkout), os.path.join(a.out, f"{name}_build.log"))
        except Failed as error:
            results[name]["failed"] = str(error)
    for i in range(a.seeds):  # in turns, so that what changes on the machine meets all of them
        once(a, results, "splatsmith", lambda i=i: ours(a, a.out, i))
        if not results["splatsmith"]["rows"]:
            sys.exit(f"compare.py: splatsmith: {results['splatsmith']['failed']}")
        for name, checkout in peers:
            once(a, results, name, lambda i=i, n=name, c=checkout: theirs(a, n, recipes[n], os.path.abspath(c), i))
    save(a, results)
    print(table(results, a.backend), end="")
    sys.exit(any(result["failed"] for result in results.values()))


if __name__ == "__main__":
    main()
