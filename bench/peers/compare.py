"""Other trainers beside this one: the same photos, the same split, our metrics of their files, one table.

Usage: compare.py OUT SPLATSMITH SCENE [NAME=CHECKOUT...] [--iterations 30000] [--resolution 1] [--seeds 3]
                  [--options NAME="..."] [--recipes FILE] [--no-build] [--backend cuda|cpu] [--gpu 0] [--python python3]
  OUT         receives peers.json, peers.md, the log of each run, and the splats
  SPLATSMITH  the program: it trains first, says the split, and measures every splat
  SCENE       a COLMAP scene: images/ and sparse/0
  NAME        of recipes.json (mip-splatting, fastgs, gsplat, opensplat), or of a file like it
  CHECKOUT    the peer's sources, with its submodules: they are built there, and stay as they are otherwise
  --options   more options for a peer's training, or splatsmith="..." for ours

A peer that fails is a line that says so; the exit code is then 1. Times are those of whole processes, decoding and
saving included: ours are taken in the same way. Memory is nvidia-smi's of the process, sampled (driver_memory.py). Peers
have seeds of their own, so their runs are repetitions. No peer's code is part of this program. Faster-GS is trained by
a framework with configuration files: it takes a recipe of your own.
"""
import argparse
import json
import os
import re
import shlex
import socket
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from driver_memory import Sampler  # noqa: E402 (beside the folder of this file)

MIB = 1 << 20


class Failed(Exception):
    """A run that gave no splat: one sentence."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(command, log, cwd=None, env=None, gpu=None):
    """Seconds and the driver's peak in MiB; what is printed goes to the log."""
    with open(log, "ab") as out:
        out.write(("$ " + shlex.join(command) + "\n").encode())
        out.flush()
        begin = time.monotonic()
        try:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=cwd, env=env)
        except OSError as error:
            raise Failed(f"{command[0]} cannot be started: {error.strerror}") from None
        sampler = Sampler(gpu, process.pid) if gpu is not None else None
        if sampler:
            sampler.start()
        code = process.wait()
        seconds = time.monotonic() - begin
        peak = sampler.end() if sampler else 0
    if code != 0:
        raise Failed(f"{os.path.basename(command[0])} ended with {code}; {log} says why")
    return seconds, peak


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


def training_scene(scene, split, out):
    """A scene of the training photos alone, of links."""
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
    seconds, peak = run(command + a.options.get("splatsmith", []), log, gpu=a.gpu_of_run)
    ply = os.path.join(folder, "point_cloud", f"iteration_{a.iterations}", "point_cloud.ply")
    return {"seconds": seconds, "mib": peak, **measure(a, ply, a.scene, log, [])}


def build(a, recipe, checkout, log):
    for step in recipe.get("build", []):
        command = [word.format(python=a.python) for word in step["run"]]
        run(command, log, cwd=os.path.join(checkout, step["in"]))


def theirs(a, name, recipe, checkout, scene, out, number):
    folder, log = os.path.join(out, f"{name}_{number}"), os.path.join(out, f"{name}_{number}.log")
    os.makedirs(folder, exist_ok=True)
    words = {"python": a.python, "scene": os.path.abspath(scene), "out": os.path.abspath(folder),
             "resolution": a.resolution, "iterations": a.iterations, "last": str(int(a.iterations) - 1),
             "port": str(free_port())}
    command = [word.format(**words) for word in recipe["train"]]
    if not os.path.isabs(command[0]) and os.path.exists(os.path.join(checkout, command[0])):
        command[0] = os.path.join(checkout, command[0])
    command += (recipe.get("cpu", []) if a.backend == "cpu" else []) + a.options.get(name, [])
    path = [os.path.join(checkout, p) for p in recipe.get("path", [])] + [os.environ.get("PYTHONPATH", "")]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in path if p), CUDA_VISIBLE_DEVICES=a.gpu)
    seconds, peak = run(command, log, os.path.join(checkout, recipe.get("in", ".")), env, a.gpu_of_run)
    ply = os.path.join(folder, recipe["ply"].format(**words))
    if not os.path.exists(ply):
        raise Failed(f"it left no {ply}")
    return {"seconds": seconds, "mib": peak, **measure(a, ply, a.scene, log, recipe.get("eval", []))}


# ---------------------------------------------------------------- the table

def mean(rows, key):
    return statistics.mean(row[key] for row in rows)


def table(results):
    lines = ["| trainer | runs | seconds, whole process | Gaussians | PSNR | SSIM | memory, MiB |",
             "|---|---|---|---|---|---|---|"]
    for name, result in results.items():
        rows = result["rows"]
        if not rows:
            lines.append(f"| {name} | not run: {result['failed']} | | | | | |")
            continue
        psnr = ", ".join(f"{row['psnr']:.2f}" for row in rows)
        memory = f"{mean(rows, 'mib'):.0f}" if any(row["mib"] for row in rows) else ""
        lines.append(f"| {name} | {len(rows)} | {mean(rows, 'seconds'):.1f} | {mean(rows, 'gaussians'):,.0f} | "
                     f"{mean(rows, 'psnr'):.2f} ({psnr}) | {mean(rows, 'ssim'):.4f} | {memory} |")
        if result["failed"]:
            lines.append(f"| {name} | then: {result['failed']} | | | | | |")
    return "\n".join(lines) + "\n"


def collect(runs):
    """Rows until one fails, and why it did."""
    rows, failed = [], None
    try:
        for one in runs:
            rows.append(one())
    except Failed as error:
        failed = str(error)
    return {"rows": rows, "failed": failed}


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
    parser.add_argument("--python", default=sys.executable)
    a = parser.parse_intermixed_args()
    a.options = {o.split("=", 1)[0]: shlex.split(o.split("=", 1)[1]) for o in a.options if "=" in o}
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
    results = {"splatsmith": collect([lambda seed=seed: ours(a, a.out, seed) for seed in range(a.seeds)])}
    if not results["splatsmith"]["rows"]:
        sys.exit(f"compare.py: splatsmith: {results['splatsmith']['failed']}")
    with open(os.path.join(a.out, "splatsmith_0", "split.json")) as file:
        split = json.load(file)
    for name, checkout in peers:
        recipe, checkout = recipes[name], os.path.abspath(checkout)
        try:
            if not os.path.isdir(checkout):
                raise Failed(f"there is no checkout {checkout}")
            if not a.no_build:
                build(a, recipe, checkout, os.path.join(a.out, f"{name}_build.log"))
            scene = training_scene(a.scene, split, a.out) if recipe.get("training_photos") else a.scene
        except Failed as error:
            results[name] = {"rows": [], "failed": str(error)}
            continue
        results[name] = collect([lambda i=i: theirs(a, name, recipe, checkout, scene, a.out, i)
                                 for i in range(a.seeds)])
    with open(os.path.join(a.out, "peers.json"), "w") as file:
        json.dump({"scene": os.path.basename(os.path.abspath(a.scene)), "resolution": a.resolution,
                   "iterations": a.iterations, "backend": a.backend, "options": a.options, "results": results},
                  file, indent=1)
    with open(os.path.join(a.out, "peers.md"), "w") as file:
        file.write(table(results))
    print(table(results), end="")
    sys.exit(any(result["failed"] for result in results.values()))


if __name__ == "__main__":
    main()
