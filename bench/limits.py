"""Checks that memory limits are kept, and measures their cost: scenes below 12 limits, from the least possible to ample, and
without any. Writes limits.json and limits.md, and fails when something that docs/memory.md promises is not so.

Usage: limits.py OUT SPLATSMITH SCENE... [-- TRAIN OPTIONS...]
  OUT         receives limits.json, limits.md and SCENE.log, what all runs of a scene printed
  SPLATSMITH  the program
  SCENE       a scene's folder, such as bonsai

Runs come one after the other on one GPU, of each scene the unlimited one first and last: those two tell the noise.
Growth is hurried so that limits bite early (GROWTH, to 1.2 million), unless there are train options. The driver's
figure is nvidia-smi's for the process, context included, sampled every 50 ms (driver_memory.py). Speeds are compared
step by step, where both runs have as many Gaussians: a run that its limit keeps small is a faster one.
Environment: ITERATIONS=3000 N_LIMITS=12 LIMIT_S=540 (no run begins later) GPU=0 BACKEND=cuda LIMITS="MIB..." (those
instead)
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

from driver_memory import Sampler

ITERATIONS = int(os.environ.get("ITERATIONS", "3000"))
N_LIMITS = int(os.environ.get("N_LIMITS", "12"))
LIMITS = [int(mib) for mib in os.environ.get("LIMITS", "").split()]
LIMIT_S = float(os.environ.get("LIMIT_S", "540"))
GPU = os.environ.get("GPU", "0")
BACKEND = os.environ.get("BACKEND", "cuda")
GROWTH = ["--densify_from_iter", str(ITERATIONS // 15), "--densify_until_iter", str(ITERATIONS * 4 // 5),
          "--densification_interval", str(max(10, ITERATIONS // 60)), "--densify_grad_threshold", "0.0001",
          "--opacity_reset_interval", str(2 * ITERATIONS), "--target_gaussian_count", "1200000"]
SLACK = 0.03       # of the time: what the promise allows
SAME_COUNT = 0.03  # counts so near each other are the same
WARM_UP = 0.1      # of the steps, while photos are still being decoded
LEAST_SHARED = 0.1 # of the steps: fewer that two runs share have no meaning
MIB = 1 << 20


class Runs:
    """Runs of the program on one scene; what they print goes to one log."""

    def __init__(self, program, scene, log, options):
        self.program, self.scene, self.log, self.options = program, scene, log, options

    def command(self, name, limit):
        device = ["--backend", BACKEND] + (["--gpu", GPU] if BACKEND == "cuda" else [])
        return [self.program, name, "-s", self.scene, "--eval", "--iterations", str(ITERATIONS)] + (
            ["--vram_limit", f"{limit}M"] if limit else []) + self.options + device

    def run(self, name, command):
        """Exit code, what was printed, the driver's peak in MiB."""
        with tempfile.TemporaryFile("w+", errors="replace") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
            sampler = Sampler(GPU, process.pid)
            sampler.start()
            code = process.wait()
            peak = sampler.end()
            out.seek(0)
            text = out.read()
        with open(self.log, "a") as log:
            log.write(f"==== {name}: {' '.join(command)}\n{text}==== exit {code}\n\n")
        return code, text, peak

    def plan(self, limit):
        return steps_of(self.run(f"plan {limit}", self.command("plan", limit))[1])

    def train(self, name, limit):
        with tempfile.TemporaryDirectory() as folder:
            never = ["-m", folder, "--test_iterations", str(ITERATIONS), "--save_iterations", "-1"]
            code, text, peak = self.run(name, self.command("train", limit) + never)
            row = result_of(limit, code, text, peak, history_of(os.path.join(folder, "history.jsonl")))
        print(f"{os.path.basename(self.scene)} {name:10} code {code}  driver {row['driver_mib']} MiB  "
              f"{row['it_per_s']} it/s  {row['gaussians']} Gaussians  {[g['what'] for g in row['given_up']]}",
              flush=True)
        return row


def steps_of(text):
    """The features that growth gives up, with their counts, as plan and train print them."""
    return [{"gaussians": int(n), "what": what.strip()} for n, what in
            re.findall(r"^  beyond +(\d+)  (.*?) +cost: ", text, re.M)]


def history_of(path):
    """Lines of every tenth step: [iteration, seconds, Gaussians, MiB of blocks on the device]."""
    if not os.path.exists(path):
        return []
    lines = [json.loads(line) for line in open(path)]
    rows = []
    for line in lines:
        if "step_ms" in line:
            blocks = sum(v for k, v in line["memory"].items() if k not in ("process", "driver"))
            rows.append([line["iteration"], line["seconds"], int(line["gaussians"]), blocks / MIB])
    return rows


def result_of(limit, code, text, peak, history):
    """The driver is asked once a second, blocks are counted at every step: its memory outside of them is the difference
    of the peaks."""
    most = max([h[3] for h in history] or [0])
    peak = peak or math.ceil(most)
    for h in history:
        h[3] += peak - most
    speed = re.search(r"\(([\d.]+) it/s\): (\d+) Gaussians", text)
    found = re.findall(r"Evaluating test: L1 [\d.]+ PSNR ([\d.]+)", text)
    given_up = [{"iteration": int(i), "gaussians": int(n), "what": what.strip()} for i, n, what in
                re.findall(r"iteration (\d+): to stay below \S+ \S+ with (\d+) Gaussians: (.*?) from here on", text)]
    least = re.search(r"least possible is (\d+) MiB", text)
    return {"limit_mib": limit, "code": code, "driver_mib": peak, "announced": steps_of(text), "given_up": given_up,
            "left_out": len(re.findall(r"is left out", text)),
            "least_mib": int(least.group(1)) if least else None, "it_per_s": float(speed.group(1)) if speed else None,
            "gaussians": int(speed.group(2)) if speed else None, "psnr": float(found[-1]) if found else None,
            "end_ms": ms_of_last_fifth(history), "history": history, "error": None if code == 0 else text[-300:]}


# ---------------------------------------------------------------- comparing


def ms_of_last_fifth(history):
    """A step where nothing grows any more."""
    end = [h for h in history if h[0] >= 0.8 * ITERATIONS]
    return 1e3 * (end[-1][1] - end[0][1]) / (end[-1][0] - end[0][0]) if len(end) > 1 else None


def time_ratio(a, b, most_mib=math.inf):
    """Time of a over that of b, over the steps in which both have as many Gaussians and b holds at most so much. None
    when there are too few."""
    of_b = {h[0]: (h, before) for before, h in zip(b["history"], b["history"][1:])}
    time_a = time_b = n_steps = 0
    for before, h in zip(a["history"], a["history"][1:]):
        if h[0] not in of_b or before[0] < WARM_UP * ITERATIONS:
            continue
        hb, before_b = of_b[h[0]]
        if abs(h[2] - hb[2]) <= SAME_COUNT * hb[2] and hb[3] <= most_mib:
            time_a += h[1] - before[1]
            time_b += hb[1] - before_b[1]
            n_steps += h[0] - before[0]
    return time_a / time_b if n_steps >= LEAST_SHARED * ITERATIONS and time_b > 0 else None


def judge_plan(row, planned):
    """Differences between the run and `plan`."""
    name, wrong = f"{row['limit_mib']} MiB", []
    if [s["what"] for s in planned] != [s["what"] for s in row["announced"]]:
        wrong.append(f"{name}: plan says {[s['what'] for s in planned]}, train {[s['what'] for s in row['announced']]}")
    beyond = {s["what"]: s["gaussians"] for s in planned}
    most = max([h[2] for h in row["history"]] or [0])
    first = min([h[2] for h in row["history"]] or [0])  # beyond 0: already the first do not fit
    for given in row["given_up"]:
        n = beyond.get(given["what"])
        if n is None:
            wrong.append(f"{name}: {given['what']} was given up at {given['gaussians']:,}, and plan does not name it")
        elif given["gaussians"] > 1.05 * max(n, first) or most < 0.9 * n:
            wrong.append(f"{name}: {given['what']} was given up at {given['gaussians']:,}, and plan says {n:,}; "
                         f"at most there were {most:,}")
    return wrong


def judge(rows, free, again, plans):
    """Broken promises, in words, and the noise; adds to each row the ratio of its time to that of the unlimited run and
    to that of the limit below."""
    wrong = []
    noise = max(abs((time_ratio(free, again) or 1) - 1), abs((time_ratio(again, free) or 1) - 1))
    slack = max(SLACK, noise)
    before = None
    for r in rows:
        name = f"{r['limit_mib']} MiB"
        if r["code"] != 0:
            wrong.append(f"{name}: exit code {r['code']}: {r['error']}")
            continue
        if r["driver_mib"] > r["limit_mib"]:
            wrong.append(f"{name}: the driver saw {r['driver_mib']}")
        if r["left_out"]:
            wrong.append(f"{name}: {r['left_out']} steps were left out")
        both = [t for t in (time_ratio(r, free, r["limit_mib"]), time_ratio(r, again, r["limit_mib"])) if t]
        r["beside_free"] = min(both) if both else None # where the unlimited run fits below this limit
        r["beside_below"] = time_ratio(r, before) if before else None
        if r["beside_free"] and r["beside_free"] > 1 + slack:
            wrong.append(f"{name}: {r['beside_free']:.3f} times the time without a limit, where that fits")
        if r["beside_below"] and r["beside_below"] > 1 + slack:
            wrong.append(f"{name}: {r['beside_below']:.3f} times the time below {before['limit_mib']} MiB")
        wrong += judge_plan(r, plans.get(r["limit_mib"], []))
        before = r
    return wrong, noise


def text_of(ratio):
    return f"{ratio:.3f}" if ratio else ""


def table_of(rows):
    lines = ["| limit MiB | driver's peak MiB | Gaussians | it/s | ms a step at the end | time / unlimited where that "
             "fits | time / limit below | test PSNR | given up, at Gaussians |",
             "|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        given_up = "; ".join(f"{g['what']} at {g['gaussians']:,}" for g in r["given_up"]) or "nothing"
        limit = r["limit_mib"] or "none"
        if r["code"] != 0:
            lines.append(f"| {limit} | {r['driver_mib']} | failed with {r['code']} | | | | | | |")
            continue
        lines.append(f"| {limit} | {r['driver_mib']} | {r['gaussians']:,} | {r['it_per_s']:.0f} | {r['end_ms']:.3f} | "
                     f"{text_of(r.get('beside_free'))} | {text_of(r.get('beside_below'))} | {r['psnr']} | {given_up} |")
    return lines


def limits_between(least, ample):
    """All but three lie between the least possible and what the run takes without a limit, in equal ratios."""
    n_below = N_LIMITS - 3
    limits = [math.ceil(least * (ample / least) ** (i / n_below)) for i in range(n_below)]
    return sorted(set(limits + [ample, math.ceil(1.02 * ample), math.ceil(1.5 * ample)]))


def measure(runs, deadline):
    """One scene: its part of the report, and its table's lines."""
    refused = runs.train("least", 16 if BACKEND == "cuda" else 1)
    free = runs.train("unlimited", None)
    if not refused["least_mib"] or free["code"] != 0:
        return {"wrong": ["a limit that is much too small did not name the least possible" if free["code"] == 0 else
                          f"the run without a limit failed: {free['error']}"]}, []
    rows, plans, wrong = [], {}, []
    for limit in sorted(set(LIMITS)) or limits_between(refused["least_mib"], free["driver_mib"]):
        if time.monotonic() > deadline:
            wrong.append(f"{limit} MiB: no time was left")
            continue
        plans[limit] = runs.plan(limit)
        rows.append(runs.train(f"{limit} MiB", limit))
    again = runs.train("again", None)
    found, noise = judge(rows, free, again, plans)
    wrong += found
    report = {"least_mib": refused["least_mib"], "noise": noise, "slack": max(SLACK, noise), "plans": plans,
              "runs": rows, "unlimited": [free, again], "wrong": wrong}
    return report, table_of(rows + [free, again]) + [f"\nNoise of two equal runs: {100 * noise:.1f} %."]


def main():
    arguments, options = sys.argv[1:], GROWTH
    if "--" in arguments:
        options = arguments[arguments.index("--") + 1:]
        arguments = arguments[:arguments.index("--")]
    if len(arguments) < 3:
        sys.exit(__doc__)
    out, program, *scenes = (os.path.abspath(p) for p in arguments)
    os.makedirs(out, exist_ok=True)
    report, lines, wrong = {"iterations": ITERATIONS, "options": options, "scenes": {}}, [], []
    begin = time.monotonic()
    for i, scene in enumerate(scenes):
        name = os.path.basename(scene)
        log = os.path.join(out, name + ".log")
        open(log, "w").close()
        deadline = begin + LIMIT_S * (i + 1) / len(scenes) # what a scene leaves is the next one's
        part, table = measure(Runs(program, scene, log, options), deadline)
        report["scenes"][name] = part
        wrong += [f"{name}: {w}" for w in part["wrong"]]
        lines += [f"### {name}", ""] + table + [""]
        with open(os.path.join(out, "limits.json"), "w") as file:
            json.dump(report, file)
        with open(os.path.join(out, "limits.md"), "w") as file:
            file.write("\n".join(lines + [f"WRONG: {w}" for w in wrong]) + "\n")
    print("\n".join(lines + [f"WRONG: {w}" for w in wrong]))
    print(f"{time.monotonic() - begin:.0f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
