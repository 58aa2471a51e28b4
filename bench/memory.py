"""Measures the cost of memory options, and that limits hold, on GPUs; writes memory.json and memory.md.

Usage: memory.py OUT SPLATSMITH BONSAI FOX [PART...]
  OUT         receives memory.json, memory.md and a log of each run
  SPLATSMITH  the program
  BONSAI FOX  the scenes' folders
  PART        storage (quality of each storage, three seeds), everything (all options on), large (millions of Gaussians
              under a limit), sweep (20 limits); without any: all

Runs are spread over all GPUs, one at a time on each. The driver's figure is that of driver_memory.py. Environment:
SEEDS="0 1 2"  ITERATIONS=30000 (of bonsai; fox: 7000)  BACKEND=cuda
"""
import concurrent.futures
import json
import os
import queue
import re
import statistics
import subprocess
import sys
import time

from driver_memory import Sampler

OUT, PROGRAM, BONSAI, FOX = (os.path.abspath(p) for p in sys.argv[1:5])
PARTS = sys.argv[5:] or ["storage", "everything", "large", "sweep"]
SEEDS = [int(s) for s in os.environ.get("SEEDS", "0 1 2").split()]
ITERATIONS = int(os.environ.get("ITERATIONS", "30000"))
BACKEND = os.environ.get("BACKEND", "cuda")
STORAGES = {
    "float32": [],
    "16-bit SH": ["--sh_storage", "float16"],
    "quantized moments": ["--optimizer_storage", "quantized"],
    "both": ["--sh_storage", "float16", "--optimizer_storage", "quantized"],
    "SH degree 2": ["--sh_degree", "2"],
}


def count_gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
        return max(1, listed.count("GPU "))
    except OSError:
        return 1


GPUS = queue.Queue()
for gpu_index in range(count_gpus()):
    GPUS.put(gpu_index)


def as_typed(argument):
    """Without the folders of the machine that it was measured on."""
    for folder in (BONSAI, FOX):
        if argument == folder:
            return os.path.basename(folder)
    return argument[len(OUT) + 1:] if argument.startswith(OUT + os.sep) else argument


def run(name, arguments):
    """One run of the program on a GPU of its own: exit code, output, seconds, the driver's peak."""
    gpu = GPUS.get()
    log = os.path.join(OUT, re.sub(r"[^A-Za-z0-9_.-]", "_", name) + ".log")
    command = [PROGRAM] + arguments + ["--backend", BACKEND] + (["--gpu", str(gpu)] if BACKEND == "cuda" else [])
    begin = time.time()
    with open(log, "w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        sampler = Sampler(gpu, process.pid)
        sampler.start()
        code = process.wait()
    peak = sampler.end()
    GPUS.put(gpu)
    text = open(log, errors="replace").read()
    print(f"{'ok' if code == 0 else 'code ' + str(code):8} {name:44} {time.time() - begin:7.1f} s "
          f"{peak:6} MiB", flush=True)
    typed = " ".join(["splatsmith"] + [as_typed(a) for a in arguments])
    return {"name": name, "command": typed, "code": code, "text": text, "seconds": time.time() - begin,
            "driver_mib": peak}


def run_all(jobs):
    with concurrent.futures.ThreadPoolExecutor(GPUS.qsize()) as pool:
        return list(pool.map(lambda job: run(*job), jobs))


def train(scene, folder, seed, extra):
    resolution, iterations = ("1", ITERATIONS) if scene == BONSAI else ("2", min(7000, ITERATIONS))
    return ["train", "-s", scene, "-m", os.path.join(OUT, folder), "--eval", "-r", resolution, "--iterations",
            str(iterations), "--seed", str(seed), "--test_iterations", "-1", "--save_iterations", str(iterations)] + extra


def results_of(r):
    """Quality and speed from what train prints."""
    found = re.findall(r"Evaluating test: L1 [\d.]+ PSNR ([\d.]+) .*SSIM ([\d.]+)", r["text"])
    speed = re.search(r"\(([\d.]+) it/s\): (\d+) Gaussians", r["text"])
    if not found or not speed:
        return None
    return {"psnr": float(found[-1][0]), "ssim": float(found[-1][1]), "it_per_s": float(speed.group(1)),
            "gaussians": int(speed.group(2)), "driver_mib": r["driver_mib"], "command": r["command"]}


def context_of(r):
    """MiB of the driver for the process outside of the named blocks, as train prints them; 0 on the CPU."""
    found = re.search(r"and the driver's ([\d.]+) (MiB|GiB)", r["text"])
    return round(float(found.group(1)) * (1024 if found.group(2) == "GiB" else 1)) if found else 0


def mean(values):
    return statistics.fmean(values) if values else float("nan")


def storage(report, table):
    jobs, keys = [], []
    for scene in (BONSAI, FOX):
        for storage_name, options in STORAGES.items():
            for seed in SEEDS:
                folder = f"{os.path.basename(scene)}_{storage_name.replace(' ', '_')}_{seed}"
                jobs.append((folder, train(scene, folder, seed, options)))
                keys.append((os.path.basename(scene), storage_name))
    results = [(key, results_of(r)) for key, r in zip(keys, run_all(jobs))]
    report["storage"] = [{"scene": k[0], "storage": k[1], **r} for k, r in results if r]
    table.append("| scene | storage | PSNR | SSIM | Gaussians | driver's peak MiB | it/s |\n|---|---|---|---|---|---|---|")
    for key in dict.fromkeys(keys):
        rows = [r for k, r in results if k == key and r]
        table.append(f"| {key[0]} | {key[1]} | {mean([r['psnr'] for r in rows]):.2f} "
                     f"({', '.join('%.2f' % r['psnr'] for r in rows)}) | {mean([r['ssim'] for r in rows]):.4f} | "
                     f"{mean([r['gaussians'] for r in rows]):,.0f} | {max([r['driver_mib'] for r in rows] or [0])} | "
                     f"{mean([r['it_per_s'] for r in rows]):.0f} |")


def everything(report, table):
    options = STORAGES["both"] + ["--data_device", "cpu"]
    jobs = [(f"everything_{s}", train(BONSAI, f"everything_{s}", s, options)) for s in SEEDS]
    jobs.append(("offload_0", train(BONSAI, "offload_0", 0, options + ["--sh_offload"])))
    runs = run_all(jobs)
    context = max(context_of(r) for r in runs)
    report["everything"] = {"context_mib": context, "runs": [{"name": r["name"], **(results_of(r) or {})}
                                                             for r in runs]}
    table.append(f"The driver's memory outside of the blocks: {context} MiB.\n")
    table.append("| run | PSNR | SSIM | Gaussians | driver's peak MiB | without context | it/s |\n|---|---|---|---|---|---|---|")
    for r in report["everything"]["runs"]:
        if "psnr" in r:
            table.append(f"| {r['name']} | {r['psnr']:.2f} | {r['ssim']:.4f} | {r['gaussians']:,} | {r['driver_mib']} | "
                         f"{r['driver_mib'] - context} | {r['it_per_s']:.0f} |")


LARGE = [ # name, Gaussians, limit, further options
    ("6 M, float32", "6M", "5.5G", ["--sh_storage", "float32", "--optimizer_storage", "float32"]),
    ("6 M, 16-bit SH, quantized moments", "6M", "3.2G", STORAGES["both"]),
    ("20 M, everything on", "20M", "8G", STORAGES["both"] + ["--sh_offload"]),
    ("20 M, without offload", "20M", "9G", STORAGES["both"] + ["--sh_offload", "False"]),
]


def large(report, table):
    """A splat of the scene at 7,000 steps, its Gaussians split until there are enough, at 1.7 megapixels."""
    folder = os.path.join(OUT, "grown_from")
    run("grown_from", ["train", "-s", BONSAI, "-m", folder, "--eval", "-r", "1", "--iterations", "7000",
                       "--test_iterations", "-1", "--save_iterations", "7000"])
    ply = os.path.join(folder, "point_cloud", "iteration_7000", "point_cloud.ply")
    jobs = []
    for name, count, limit, options in LARGE:
        out = os.path.join(OUT, name.replace(" ", "_") + ".json")
        jobs.append((name, ["bench", "-s", BONSAI, "--eval", "-r", "1600", "--ply", ply, "--from_iteration", "7050",
                            "--gaussians", count, "--vram_limit", limit, "--warmup", "60", "--num_iterations", "240",
                            "-o", out] + options))
    rows = []
    table.append("| run | limit MiB | driver's peak MiB | named blocks, peak MiB | Gaussians | ms/step | it/s |\n"
                 "|---|---|---|---|---|---|---|")
    for (name, count, limit, _), r in zip(LARGE, run_all(jobs)):
        out = os.path.join(OUT, name.replace(" ", "_") + ".json")
        b = json.load(open(out)) if r["code"] == 0 and os.path.exists(out) else None
        if b:
            del b["iteration_ms"]
        limit_mib = float(limit[:-1]) * 1024
        row = {"name": name, "limit_mib": limit_mib, "driver_mib": r["driver_mib"], "command": r["command"],
               "error": None if b else r["text"][-300:], "bench": b}
        rows.append(row)
        if b:
            named = max(phase["peak_bytes"] for key, phase in b["memory"].items() if key in ("training", "evaluation"))
            table.append(f"| {name} | {limit_mib:.0f} | {r['driver_mib']} | {named / 1048576:.0f} | "
                         f"{b['measurement']['gaussians_last']:,} | {b['speed']['ms_mean']:.1f} | "
                         f"{b['speed']['iterations_per_second']:.1f} |")
        else:
            table.append(f"| {name} | {limit_mib:.0f} | failed: {r['text'].strip().splitlines()[-1:]} |")
    report["large"] = rows


def sweep(report, table):
    jobs, limits = [], []
    for i in range(20):
        limit = int(560 * (4096 / 560) ** (i / 19))
        limits.append(limit)
        jobs.append((f"limit_{limit}", ["train", "-s", BONSAI, "-m", os.path.join(OUT, f"limit_{limit}"), "--eval",
                                        "-r", "2", "--iterations", "1200", "--vram_limit", f"{limit}M",
                                        "--densify_from_iter", "100", "--densification_interval", "50",
                                        "--densify_grad_threshold", "0.00005", "--test_iterations", "-1"]))
    rows = []
    table.append("| limit MiB | driver's peak MiB | Gaussians | what the program said |\n|---|---|---|---|")
    for limit, r in zip(limits, run_all(jobs)):
        result = results_of(r)
        held = r["driver_mib"] <= limit
        rows.append({"limit_mib": limit, "driver_mib": r["driver_mib"], "code": r["code"], "held": held, **(result or {})})
        said = "" if result else r["text"].strip().splitlines()[-1][:150] if r["text"].strip() else "nothing"
        table.append(f"| {limit} | {r['driver_mib']}{'' if held else ' PASSED THE LIMIT'} | "
                     f"{result['gaussians'] if result else '-'} | {said} |")
    report["sweep"] = rows


def main():
    os.makedirs(OUT, exist_ok=True)
    report, table = {"gpus": GPUS.qsize(), "iterations": ITERATIONS, "seeds": SEEDS}, []
    for part in PARTS:
        table.append(f"\n## {part}\n")
        {"storage": storage, "everything": everything, "large": large, "sweep": sweep}[part](report, table)
        with open(os.path.join(OUT, "memory.json"), "w") as file:
            json.dump(report, file, indent=1)
        with open(os.path.join(OUT, "memory.md"), "w") as file:
            file.write("\n".join(table) + "\n")
    print("\n".join(table))
    failed = [r for r in report.get("sweep", []) if not r["held"] or r["code"] not in (0, 1)]
    failed += [r for r in report.get("large", []) if r["error"] or r["driver_mib"] > r["limit_mib"]]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
