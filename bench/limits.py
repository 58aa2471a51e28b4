"""Whether a memory limit is kept, and what it costs: one scene below 12 limits, from the least possible to ample, and
without any. Writes limits.json and limits.md, and fails when something that docs/memory.md promises is not so.

Usage: limits.py OUT SPLATSMITH SCENE [TRAIN OPTIONS...]
  OUT         receives limits.json, limits.md and a log of each run
  SPLATSMITH  the program
  SCENE       the scene's folder, such as bonsai

Runs come one after the other on one GPU, the unlimited one first and last: its two speeds tell the noise. The driver's
figure is that of driver_memory.py. Environment: ITERATIONS=30000 N_LIMITS=12 GPU=0 BACKEND=cuda
"""
import json
import math
import os
import re
import subprocess
import sys

from driver_memory import Sampler

OUT, PROGRAM, SCENE = (os.path.abspath(p) for p in sys.argv[1:4])
MORE = sys.argv[4:]
ITERATIONS = os.environ.get("ITERATIONS", "30000")
N_LIMITS = int(os.environ.get("N_LIMITS", "12"))
GPU = os.environ.get("GPU", "0")
BACKEND = os.environ.get("BACKEND", "cuda")
SLACK = 0.03 # of the speed: what the promise allows, and what two runs of one thing may differ by


def train(name, limit):
    """A run below a limit in MiB, or without one: what it printed and what the driver saw."""
    device = ["--backend", BACKEND] + (["--gpu", GPU] if BACKEND == "cuda" else [])
    arguments = ["train", "-s", SCENE, "-m", os.path.join(OUT, name), "--eval", "--iterations", ITERATIONS,
                 "--test_iterations", ITERATIONS, "--save_iterations", ITERATIONS]
    arguments += (["--vram_limit", f"{limit}M"] if limit else []) + MORE + device
    log = os.path.join(OUT, name + ".log")
    with open(log, "w") as out:
        process = subprocess.Popen([PROGRAM] + arguments, stdout=out, stderr=subprocess.STDOUT)
        sampler = Sampler(GPU, process.pid)
        sampler.start()
        code = process.wait()
    peak = sampler.end()
    text = open(log, errors="replace").read()
    speed = re.search(r"\(([\d.]+) it/s\): (\d+) Gaussians", text)
    found = re.findall(r"Evaluating test: L1 [\d.]+ PSNR ([\d.]+)", text)
    given_up = [{"iteration": int(i), "gaussians": int(n), "what": what.strip()} for i, n, what in
                re.findall(r"iteration (\d+): to stay below \S+ \S+ with (\d+) Gaussians: (.*?) from here on", text)]
    least = re.search(r"least possible is (\d+) MiB", text)
    row = {"limit_mib": limit, "code": code, "driver_mib": peak, "given_up": given_up,
           "left_out": len(re.findall(r"is left out", text)), "least_mib": int(least.group(1)) if least else None,
           "it_per_s": float(speed.group(1)) if speed else None, "gaussians": int(speed.group(2)) if speed else None,
           "psnr": float(found[-1]) if found else None}
    print(f"{name:14} code {code} peak {peak:6} MiB  {row['it_per_s']} it/s  {row['gaussians']} Gaussians  "
          f"{[g['what'] for g in given_up]}", flush=True)
    return row


def judge(rows, free, again):
    """What is promised and is not so, in words."""
    wrong = []
    best, ample = free["gaussians"], max(free["driver_mib"], again["driver_mib"])
    speed = min(free["it_per_s"], again["it_per_s"])
    before = None
    for r in rows:
        if r["code"] != 0:
            wrong.append(f"{r['limit_mib']} MiB: exit code {r['code']}")
            continue
        if r["driver_mib"] > r["limit_mib"]:
            wrong.append(f"{r['limit_mib']} MiB: the driver saw {r['driver_mib']}")
        if r["left_out"]:
            wrong.append(f"{r['limit_mib']} MiB: {r['left_out']} steps were left out")
        if r["limit_mib"] >= ample and r["it_per_s"] < (1 - SLACK) * speed:
            wrong.append(f"{r['limit_mib']} MiB: {r['it_per_s']} it/s, and {speed} without a limit")
        # A run that the limit keeps small is a faster one: speeds compare where as many Gaussians are trained.
        if r["gaussians"] < 0.97 * best:
            continue
        if before and r["it_per_s"] < (1 - SLACK) * before["it_per_s"]:
            wrong.append(f"{r['limit_mib']} MiB: {r['it_per_s']} it/s, and {before['it_per_s']} at {before['limit_mib']}")
        before = r
    return wrong


def table_of(rows):
    lines = ["| limit MiB | driver's peak MiB | Gaussians | it/s | test PSNR | given up, at Gaussians |",
             "|---|---|---|---|---|---|"]
    for r in rows:
        given_up = "; ".join(f"{g['what'].strip('`')} at {g['gaussians']:,}" for g in r["given_up"]) or "nothing"
        limit = r["limit_mib"] or "none"
        if r["code"] != 0:
            lines.append(f"| {limit} | {r['driver_mib']} | failed with {r['code']} | | | |")
            continue
        lines.append(f"| {limit} | {r['driver_mib']} | {r['gaussians']:,} | {r['it_per_s']:.0f} | {r['psnr']} | "
                     f"{given_up} |")
    return lines


def main():
    os.makedirs(OUT, exist_ok=True)
    least = train("least", 16 if BACKEND == "cuda" else 1)["least_mib"]
    if not least:
        sys.exit("a limit that is much too small did not name the least possible")
    free = train("unlimited", None)
    if free["code"] != 0:
        sys.exit("the run without a limit failed: " + os.path.join(OUT, "unlimited.log"))
    ample = math.ceil(free["driver_mib"] or least * 4)
    n_below = N_LIMITS - 3
    limits = [math.ceil(least * (ample / least) ** (i / n_below)) for i in range(n_below)]
    limits += [ample, math.ceil(1.02 * ample), math.ceil(1.5 * ample)]
    rows = [train(f"limit_{limit}", limit) for limit in limits]
    again = train("unlimited_again", None)
    wrong = judge(rows, free, again)
    lines = table_of(rows + [free, again]) + [""] + [f"WRONG: {w}" for w in wrong]
    report = {"scene": os.path.basename(SCENE), "iterations": int(ITERATIONS), "options": MORE, "least_mib": least,
              "slack": SLACK, "runs": rows, "unlimited": [free, again], "wrong": wrong}
    with open(os.path.join(OUT, "limits.json"), "w") as file:
        json.dump(report, file, indent=1)
    with open(os.path.join(OUT, "limits.md"), "w") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
