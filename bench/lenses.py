"""Compares photos of every camera model with those of a pinhole camera: the cost of undistortion for a splat.

Usage: lenses.py OUT SPLATSMITH [--models opencv,fov,...|all|wide] [--seeds 3,4] [--iterations 2000] [--width 240]
                 [--cameras 30] [--fine 2] [--supersample 2] [--jobs 6] [--backend cuda|cpu] [--gpu 0] [--keep]
  OUT         receives lenses.json, lenses.md, the log of each run, and with --keep the scenes and splats
  SPLATSMITH  the program
  --models    words of `sample --distortion`; all: those that one pinhole camera shows; wide: those that are cut into
              crops, equirectangular and wide_fisheye, which are trained for as many times the steps as a photo has
              crops, so that each is seen as often as a photo of the others
  --fine      photos are that many times as wide as --width, and are loaded at --width: undistorting and reducing them
              takes one step then, and a photo that was resampled is as fine as one that was not. Wide ones are as fine
              as --width in their middle, and are not reduced
  --supersample  rays along a pixel's side, for making the photos: most of the time
  --jobs      scenes that are made, trained and measured at a time, which share the machine's threads

A scene of a seed has the same world and the same poses through every lens. Each splat is measured on the pinhole
camera's test photos, which none was trained on, by the same command: each lens shows all of the world that the pinhole
camera does, one that shows more may be better than it, and one that is worse lost something. A run that fails is a line
that says so; the exit code is then 1. Each run is a line as it ends, and the files have what has ended.
"""
import argparse
import concurrent.futures
import json
import math
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time

NARROW = ["simple_radial", "radial", "opencv", "opencv_fisheye", "full_opencv", "fov", "simple_radial_fisheye",
          "radial_fisheye", "thin_prism_fisheye", "rad_tan_thin_prism_fisheye", "simple_division", "division",
          "simple_fisheye", "fisheye", "eucm"]
WIDE = {"equirectangular": 6, "wide_fisheye": 5}  # and their crops
FIELD = 50  # degrees over the width of the pinhole camera
WANTED = 0.1  # dB that a lens may cost


class Failed(Exception):
    """A run that gave no figure: one sentence."""


def run(command, log):
    """Prints a line, also to the log."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive"})  # threads that wait leave others theirs
    with open(log, "a") as out:
        out.write("$ " + shlex.join(command) + "\n" + done.stdout + done.stderr)
    if done.returncode:
        raise Failed(f"{command[1]} ended with {done.returncode}; {log} says why")
    return done.stdout


def size_of(a, model):
    """Width and height of the photos, so that a pixel in the middle is as wide as one of the pinhole camera's."""
    focal = 0.5 * a.width / math.tan(math.radians(FIELD / 2))
    if model == "equirectangular":
        width = 2 * round(math.pi * focal)
        return width, width // 2
    if model == "wide_fisheye":
        width = 2 * round(math.pi / 2 * focal)
        return width, 3 * width // 4
    return a.fine * a.width, a.fine * a.width * 3 // 4


def threads(a):
    return ["--threads", str(max(1, len(os.sched_getaffinity(0)) // a.jobs))]


def make(a, model, seed, scene, log):
    width, height = size_of(a, model)
    run([a.splatsmith, "sample", scene, "--distortion", model, "--seed", str(seed), "--cameras", str(a.cameras),
         "--width", str(width), "--height", str(height), "--supersample", str(a.supersample)] + threads(a), log)


def train_and_measure(a, model, seed, folder, truth):
    begin = time.monotonic()
    log = os.path.join(a.out, f"{model}_{seed}.log")
    scene, splat = os.path.join(folder, f"{model}_{seed}"), os.path.join(folder, f"splat_{model}_{seed}")
    steps = a.iterations * WIDE.get(model, 1)
    machine = threads(a) + ["--backend", a.backend] + (["--gpu", a.gpu] if a.backend == "cuda" else [])
    if model != "none":
        make(a, model, seed, scene, log)
    run([a.splatsmith, "train", "-s", scene, "-m", splat, "--eval", "-r", "1" if model in WIDE else str(a.fine),
         "--iterations", str(steps), "--seed", str(seed), "--quiet"] + machine, log)
    ply = os.path.join(splat, "point_cloud", f"iteration_{steps}", "point_cloud.ply")
    printed = run([a.splatsmith, "eval", "--ply", ply, "-s", truth, "--eval", "-r", str(a.fine)] + machine, log)
    row = re.search(r"^test +(\d+) +([\d.]+) +[\d.]+ +([\d.]+)", printed, re.M)
    if not row:
        raise Failed(f"its splat cannot be measured; {log} says why")
    with open(ply, "rb") as file:
        count = re.search(rb"element vertex (\d+)", file.read(4096))
    if not a.keep:
        shutil.rmtree(splat)
        if model != "none":
            shutil.rmtree(scene)
    return {"seed": seed, "psnr": float(row[2]), "ssim": float(row[3]), "gaussians": int(count[1]),
            "seconds": round(time.monotonic() - begin, 1)}


def table(results, n_seeds):
    """The results of models whose runs have all ended."""
    pinhole = {row["seed"]: row["psnr"] for row in results["none"]["rows"]}
    lines = [f"| model | PSNR on the pinhole camera's test views | less than its own | within {WANTED} dB | SSIM | "
             "Gaussians |", "|---|---|---|---|---|---|"]
    for model, result in results.items():
        rows = sorted(result["rows"], key=lambda row: row["seed"])
        if result["failed"]:
            lines.append(f"| {model} | failed: {result['failed']} | | | | |")
        if result["failed"] or len(rows) < n_seeds or len(pinhole) < n_seeds:
            continue
        psnr = ", ".join(f"{row['psnr']:.2f}" for row in rows)
        loss = statistics.mean(pinhole[row["seed"]] - row["psnr"] for row in rows)
        lines.append(f"| {model} | {statistics.mean(row['psnr'] for row in rows):.2f} ({psnr}) | {loss:+.2f} | "
                     f"{'yes' if loss <= WANTED else 'no'} | {statistics.mean(row['ssim'] for row in rows):.4f} | "
                     f"{statistics.mean(row['gaussians'] for row in rows):,.0f} |")
    return "\n".join(lines) + "\n"


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("out")
    parser.add_argument("splatsmith")
    parser.add_argument("--models", default="all")
    parser.add_argument("--seeds", default="3,4")
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--width", type=int, default=240)
    parser.add_argument("--cameras", type=int, default=30)
    parser.add_argument("--fine", type=int, default=2)
    parser.add_argument("--supersample", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--backend", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--gpu", default="0")
    parser.add_argument("--keep", action="store_true")
    a = parser.parse_args()
    a.splatsmith = os.path.abspath(a.splatsmith)
    a.seeds = [int(s) for s in a.seeds.split(",")]
    a.models = {"all": NARROW, "wide": list(WIDE)}.get(a.models) or a.models.split(",")
    unknown = [m for m in a.models if m not in NARROW + list(WIDE)]
    if unknown:
        sys.exit(f"lenses.py: {unknown[0]} is none of {', '.join(NARROW + list(WIDE))}")
    return a


def save(a, results):
    """The files, of what has ended; returns the table."""
    text = table(results, len(a.seeds))
    with open(os.path.join(a.out, "lenses.md"), "w") as file:
        file.write(text)
    with open(os.path.join(a.out, "lenses.json"), "w") as file:
        json.dump({"width": a.width, "cameras": a.cameras, "fine": a.fine, "supersample": a.supersample,
                   "iterations": a.iterations, "backend": a.backend, "results": results}, file, indent=1)
    return text


def main():
    a = arguments()
    folder = os.path.join(a.out, "work")
    os.makedirs(folder, exist_ok=True)
    truth = {seed: os.path.join(folder, f"none_{seed}") for seed in a.seeds}
    results = {model: {"rows": [], "failed": None} for model in ["none"] + a.models}
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        made = [pool.submit(make, a, "none", seed, truth[seed], os.path.join(a.out, f"none_{seed}.log"))
                for seed in a.seeds if not os.path.exists(truth[seed])]
        try:
            for one in made:
                one.result()
        except Failed as error:
            sys.exit(f"lenses.py: {error}")
        runs = {pool.submit(train_and_measure, a, model, seed, folder, truth[seed]): (model, seed)
                for model in results for seed in a.seeds}
        for one in concurrent.futures.as_completed(runs):
            model, seed = runs[one]
            try:
                row = one.result()
                results[model]["rows"].append(row)
                print(f"{model} {seed}: {row['psnr']:.2f} dB, SSIM {row['ssim']:.4f}, {row['gaussians']:,} Gaussians, "
                      f"{row['seconds']:.0f} s", flush=True)
            except Failed as error:
                results[model]["failed"] = str(error)
                print(f"{model} {seed}: {error}", flush=True)
            text = save(a, results)
    if not a.keep:
        shutil.rmtree(folder)
    print(text, end="")
    return 1 if any(result["failed"] for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
