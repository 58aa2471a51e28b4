#!/usr/bin/env bash
# Hardware counters of the kernels of bin, raster and raster_backward, by Nsight Compute.
#
# Usage: bench/counters.sh OUT SCENE [OPTIONS of bench run...]
#   OUT    receives counters.txt (the table), counters.json, counters.csv (all counters of all launches), bench.json
# Environment, with defaults: SPLATSMITH=splatsmith (the program)  NCU=ncu  WARMUP=3000 (steps before the counters)
#   MEASURED=1000 (steps of the bench without ncu; 0: no bench)  LAUNCHES=84 (kernels that are measured)
#   A_STEP=7 (kernels of a step that match KERNELS)  KERNELS (names, joined by |)
# ncu runs one kernel at a time, with cold caches, so no kernel overlaps with the second stream. The stage of the bench
# minus its kernels is the cost of launches and of that overlap. The clocks stay as they are. Needs python3.
set -eu
[ $# -ge 2 ] || { sed -n '4,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
scene=$2
shift 2
mkdir -p "$out"
program=${SPLATSMITH:-splatsmith}
ncu=${NCU:-ncu}
warmup=${WARMUP:-3000}
kernels=${KERNELS:-count|lists|emit|sort|merge_runs|raster|rows_backward}
metrics=gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed
metrics=$metrics,lts__throughput.avg.pct_of_peak_sustained_elapsed,l1tex__throughput.avg.pct_of_peak_sustained_active
metrics=$metrics,sm__throughput.avg.pct_of_peak_sustained_elapsed,sm__cycles_active.avg,sm__cycles_elapsed.max
metrics=$metrics,smsp__issue_active.avg.pct_of_peak_sustained_active,smsp__inst_executed.sum
metrics=$metrics,smsp__thread_inst_executed_per_inst_executed.ratio,smsp__warps_eligible.avg.per_cycle_active
metrics=$metrics,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread
metrics=$metrics,launch__shared_mem_per_block_static,launch__shared_mem_per_block_dynamic,launch__grid_size
metrics=$metrics,launch__block_size,lts__t_sectors_op_red.sum,lts__t_sectors_op_atom.sum
metrics=$metrics,l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
for pipe in alu fma xu lsu; do
    metrics=$metrics,sm__inst_executed_pipe_$pipe.avg.pct_of_peak_sustained_active
done
for reason in barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard math_pipe_throttle membar \
    mio_throttle no_instruction not_selected short_scoreboard wait; do
    metrics=$metrics,smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio
done

run()
{
    "$@" >"$out/log.txt" 2>&1 || { tail -n 20 "$out/log.txt" >&2; echo "counters: failed: $1" >&2; exit 1; }
}

rm -f "$out/bench.json" "$out/counters.ncu-rep"
[ "${MEASURED:-1000}" = 0 ] || run "$program" bench run -s "$scene" -r 1 --eval --warmup "$warmup" \
    --num_iterations "${MEASURED:-1000}" -o "$out/bench.json" "$@"
run "$ncu" --force-overwrite --clock-control none --launch-skip "$((warmup * ${A_STEP:-7}))" \
    --launch-count "${LAUNCHES:-84}" -k "regex:^($kernels)_kernel" --metrics "$metrics" -o "$out/counters" \
    "$program" bench run -s "$scene" -r 1 --eval --stages False --warmup "$warmup" --num_iterations 50 "$@"
"$ncu" --import "$out/counters.ncu-rep" --csv --page raw --print-units base >"$out/counters.csv"
python3 - "$out" <<'END' | tee "$out/counters.txt"
import csv, json, os, sys

out = sys.argv[1]
rows = list(csv.reader(line for line in open(os.path.join(out, "counters.csv")) if line.startswith('"')))
names, launches = rows[0], [dict(zip(rows[0], row)) for row in rows[2:]]  # rows[1]: units


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("nan")


STALL = "smsp__average_warps_issue_stalled_"
kernels = {}
for launch in launches:
    name = launch["Kernel Name"].split("(")[0].split("<")[0].split()[-1]
    kernels.setdefault(name, []).append(launch)
table = {}
for name, of in kernels.items():
    mean = {key: sum(number(one[key]) for one in of) / len(of) for key in names if "__" in key}
    stalls = sorted(((mean[key], key[len(STALL):].split("_per_issue")[0]) for key in mean if key.startswith(STALL)),
                    reverse=True)
    table[name] = {
        "launches": len(of),
        "us": mean["gpu__time_duration.sum"] / 1e3,
        "us_most": max(number(one["gpu__time_duration.sum"]) for one in of) / 1e3,
        "working_pct": 100 * mean["sm__cycles_active.avg"] / mean["sm__cycles_elapsed.max"],
        "dram_pct": mean["dram__throughput.avg.pct_of_peak_sustained_elapsed"],
        "l2_pct": mean["lts__throughput.avg.pct_of_peak_sustained_elapsed"],
        "l1_pct": mean["l1tex__throughput.avg.pct_of_peak_sustained_active"],
        "sm_pct": mean["sm__throughput.avg.pct_of_peak_sustained_elapsed"],
        "issue_pct": mean["smsp__issue_active.avg.pct_of_peak_sustained_active"],
        "occupancy_pct": mean["sm__warps_active.avg.pct_of_peak_sustained_active"],
        "eligible": mean["smsp__warps_eligible.avg.per_cycle_active"],
        "lanes": mean["smsp__thread_inst_executed_per_inst_executed.ratio"],
        "minst": mean["smsp__inst_executed.sum"] / 1e6,
        "pipes_pct": {pipe: mean["sm__inst_executed_pipe_%s.avg.pct_of_peak_sustained_active" % pipe]
                      for pipe in ("alu", "fma", "xu", "lsu")},
        "red_ksectors": mean["lts__t_sectors_op_red.sum"] / 1e3,
        "atom_ksectors": mean["lts__t_sectors_op_atom.sum"] / 1e3,
        "bank_kconflicts": mean["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] / 1e3,
        "registers": mean["launch__registers_per_thread"],
        "shared_bytes": mean["launch__shared_mem_per_block_static"] + mean["launch__shared_mem_per_block_dynamic"],
        "grid": mean["launch__grid_size"], "block": mean["launch__block_size"],
        "stalls": {reason: value for value, reason in stalls},
    }
columns = [("us", "%.1f"), ("us_most", "%.1f"), ("working_pct", "%.0f"), ("dram_pct", "%.0f"), ("l2_pct", "%.0f"),
           ("l1_pct", "%.0f"), ("sm_pct", "%.0f"), ("issue_pct", "%.0f"), ("occupancy_pct", "%.0f"),
           ("eligible", "%.2f"), ("lanes", "%.1f"), ("minst", "%.2f"), ("red_ksectors", "%.0f"),
           ("atom_ksectors", "%.0f"), ("bank_kconflicts", "%.0f"), ("registers", "%.0f"), ("shared_bytes", "%.0f"),
           ("grid", "%.0f"), ("block", "%.0f")]
print("| kernel | " + " | ".join(key for key, _ in columns) + " | alu, fma, xu, lsu % | stalls, warps an issue |")
print("|---" * (len(columns) + 3) + "|")
for name, k in table.items():
    print("| %s | " % name + " | ".join(form % k[key] for key, form in columns) + " | " +
          ", ".join("%.0f" % k["pipes_pct"][pipe] for pipe in ("alu", "fma", "xu", "lsu")) + " | " +
          ", ".join("%s %.2f" % pair for pair in list(k["stalls"].items())[:5]) + " |")
record = {"kernels": table}
path = os.path.join(out, "bench.json")
if os.path.exists(path):
    bench = json.load(open(path))
    stages = record["stages_ms"] = {name: stage["ms"] for name, stage in bench["stages_ms"].items()}
    record["step_ms"] = bench["speed"]["ms_mean"]
    of_stage = {"raster": ["raster_kernel", "raster_depth_kernel"],
                "raster backward": ["rows_backward_kernel", "rows_depth_backward_kernel"]}
    others = sum(of_stage.values(), [])
    of_stage["bin"] = [name for name in table if name not in others]
    print("\nstep %.3f ms; stages: %s" % (record["step_ms"], ", ".join("%s %.3f" % pair for pair in stages.items())))
    for stage, members in of_stage.items():
        alone = sum(table[name]["us"] for name in members if name in table) / 1e3
        print("%s: kernels alone %.3f ms, stage %.3f ms, overlap and launches %.3f ms"
              % (stage, alone, stages.get(stage, float("nan")), stages.get(stage, float("nan")) - alone))
json.dump(record, open(os.path.join(out, "counters.json"), "w"), indent=1)
END
