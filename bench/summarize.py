"""Reads what bench/run_device.sh measured, writes summary.json and prints the table.

Usage: summarize.py WORK OUT SCENE SEEDS ITERATIONS
"""
import json
import os
import re
import statistics
import sys

MIB = 1048576.0


def text_of(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def json_of(path):
    try:
        return json.loads(text_of(path))
    except ValueError:
        return None


def bench_of(path):
    """A result of `bench`, without the times of single iterations."""
    result = json_of(path)
    if result:
        result.pop("iteration_ms", None)
    return result


def samples_of(path):
    """Memory in use by the driver's count, MiB."""
    return [float(line) for line in text_of(path).split("\n") if re.fullmatch(r"\s*\d+(\.\d+)?\s*", line)]


def peak_of(path, idle):
    samples = samples_of(path)
    return {"peak_mib": max(samples) - idle, "samples": len(samples)} if samples else None


def context_of(work, idle):
    """The driver's count outside of the named blocks: a run with next to none of these, most of its time training.
    The median leaves out its start and the copies that end the benchmark."""
    bench = bench_of(work + "/context.json")
    samples = [s for s in samples_of(work + "/bench_context.memory") if s > idle + 16]
    if not bench or len(samples) < 5:
        return None
    blocks = bench["memory"]["training"]["peak_bytes"] / MIB
    return {"context_mib": statistics.median(samples) - idle - blocks, "blocks_mib": blocks, "samples": len(samples)}


def training_of(work, seed, iterations):
    """One seed: the loop's wall clock without evaluations and saves, and what `eval` wrote."""
    log = text_of(f"{work}/train_{seed}.log")
    done = re.search(r"Trained (\d+) steps in \S+ \(([\d.]+) it/s\): (\d+) Gaussians", log)
    if not done or float(done.group(2)) == 0:
        return None
    result = {"seed": int(seed), "iterations": int(done.group(1)), "it_per_s": float(done.group(2)),
              "seconds": int(done.group(1)) / float(done.group(2)), "gaussians": int(done.group(3))}
    for at, psnr, ssim in re.findall(r"\[ITER (\d+)\] Evaluating test: .* PSNR ([\d.]+) .* SSIM ([\d.]+)", log):
        result[f"at_{at}"] = {"PSNR": float(psnr), "SSIM": float(ssim)}
    results = (json_of(f"{work}/model_{seed}/results.json") or {}).get(f"ours_{iterations}", {})
    result.update({key: results[key] for key in ("PSNR", "SSIM", "L1") if key in results})
    return result


def mean_of(runs, key):
    values = [run[key] for run in runs if run.get(key) is not None]
    return statistics.fmean(values) if values else None


def views_of(log):
    """Test views that an `eval` measured."""
    found = re.search(r"^test +(\d+) ", text_of(log), re.MULTILINE)
    return int(found.group(1)) if found else None


def collect(work, out, scene, seeds, iterations):
    idle_samples = samples_of(work + "/idle.memory")
    idle = idle_samples[0] if idle_samples else 0.0
    records = [line.split("\t") for line in text_of(work + "/records").splitlines()]
    runs = [run for run in (training_of(work, seed, iterations) for seed in seeds) if run]
    bench, deterministic = bench_of(out + "/bench_3000.json"), bench_of(out + "/bench_deterministic.json")
    summary = {
        "schema": "splatsmith-device-1",
        "scene": os.path.basename(scene.rstrip("/")),
        "device": bench["environment"]["device"] if bench else None,
        "info": text_of(work + "/info.log").splitlines(),
        "commands": {name: {"status": status, "seconds": float(seconds)} for name, status, seconds in records},
        "failed": [name for name, status, _ in records if status != "ok"],
        "bench_3000": bench,
        "deterministic": deterministic,
        "training": runs,
        "mean": {key: mean_of(runs, key) for key in ("seconds", "it_per_s", "gaussians", "PSNR", "SSIM", "L1")},
        "memory": {
            "note": "the driver's figure for the whole device less what it said before the first process; training is "
                    "the process of the first seed with its own evaluations, evaluation is `splatsmith eval`; context "
                    "is a process with next to no blocks, less its blocks",
            "idle_mib": idle if idle_samples else None,
            "context": context_of(work, idle),
            "named_blocks_mib": bench["memory"]["training"]["peak_bytes"] / MIB if bench else None,
            "training": peak_of(f"{work}/train_{seeds[0]}.memory", idle) if seeds else None,
            "evaluation": [],
        },
    }
    if bench and deterministic:
        summary["deterministic_cost"] = deterministic["speed"]["ms_mean"] / bench["speed"]["ms_mean"] - 1
    for name in [f"eval_{seeds[0]}", "eval_all"] if seeds else []:
        peak, views = peak_of(f"{work}/{name}.memory", idle), views_of(f"{work}/{name}.log")
        if peak and views:
            summary["memory"]["evaluation"].append({"test_views": views, **peak})
    return summary


def number(value, form):
    return format(value, form) if value is not None else "-"


def print_training(summary):
    print(f"{'seed':>6} {'iterations':>10} {'seconds':>8} {'it/s':>8} {'Gaussians':>10} {'PSNR':>7} {'SSIM':>7} "
          f"{'PSNR at 7000':>13}")
    for run in summary["training"]:
        print(f"{run['seed']:>6} {run['iterations']:>10} {run['seconds']:>8.2f} {run['it_per_s']:>8.1f} "
              f"{run['gaussians']:>10} {number(run.get('PSNR'), '7.3f')} {number(run.get('SSIM'), '7.4f')} "
              f"{number(run.get('at_7000', {}).get('PSNR'), '13.2f')}")
    mean = summary["mean"]
    print(f"{'mean':>6} {'':>10} {mean['seconds']:>8.2f} {mean['it_per_s']:>8.1f} {mean['gaussians']:>10.0f} "
          f"{number(mean['PSNR'], '7.3f')} {number(mean['SSIM'], '7.4f')}")


def print_bench(summary):
    bench = summary["bench_3000"]
    speed, measured = bench["speed"], bench["measurement"]
    first = measured["first_iteration"]
    print(f"{first - 1} to {first - 1 + measured['iterations']}: {speed['iterations_per_second']:.1f} it/s, "
          f"{speed['ms_mean']:.3f} ms a step (median {speed['ms_median']:.3f}, p95 {speed['ms_p95']:.3f}), "
          f"{measured['gaussians_last']} Gaussians, {measured['instances']:.0f} instances, copy "
          f"{speed['copy_gb_per_s']:.0f} GB/s")
    for name, stage in bench["stages_ms"].items():
        ratio = f"{stage['ms'] / stage['limit_ms']:7.1f} x limit" if stage["limit_ms"] > 0 else ""
        print(f"  {name:<24} {stage['ms']:8.4f} ms {ratio}")
    if "deterministic_cost" in summary:
        print(f"--deterministic: {summary['deterministic']['speed']['iterations_per_second']:.1f} it/s, "
              f"{100 * summary['deterministic_cost']:.1f} % more time a step")


def print_memory(memory):
    context, training = memory["context"], memory["training"]
    print(f"memory, MiB: context {number(context and context['context_mib'], '.0f')}, named blocks of the benchmark "
          f"{number(memory['named_blocks_mib'], '.0f')}; as the driver sees it: training "
          f"{number(training and training['peak_mib'], '.0f')}" +
          "".join(f", evaluation of {e['test_views']} views {e['peak_mib']:.0f}" for e in memory["evaluation"]))


def main():
    work, out, scene, seeds, iterations = sys.argv[1:6]
    summary = collect(work, out, scene, seeds.split(), iterations)
    with open(out + "/summary.json", "w") as file:
        json.dump(summary, file, indent=1)
        file.write("\n")
    print(f"{summary['scene']} on {summary['device'] or 'an unknown device'}")
    if summary["bench_3000"]:
        print_bench(summary)
    if summary["training"]:
        print_training(summary)
    print_memory(summary["memory"])
    print(f"{len(summary['commands'])} commands, {len(summary['failed'])} failed" +
          (": " + ", ".join(summary["failed"]) if summary["failed"] else ""))


main()
