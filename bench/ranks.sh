#!/usr/bin/env bash
# Compares trainings by several GPUs with one: views a second, efficiency, and the work of each rank.
#
# Usage: bench/ranks.sh OUT SCENE [GPUS...]
#   OUT    receives ranks_N.json of each number of GPUs and summary.txt
#   GPUS   numbers of them; 1 2 4 by default, those that are there
# Environment, with defaults: SPLATSMITH=splatsmith (the program)  BACKEND=cuda ("cpu": threads stand for GPUs)
#   WARMUP=600 VIEWS=1200 (photos, of which a step takes as many as there are GPUs: all measure the same model)
#   OPTIONS="" (of bench run, such as --gaussians 6000000)
set -eu
[ $# -ge 2 ] || { sed -n '4,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
out=$1
scene=$2
shift 2
[ $# -gt 0 ] || set -- 1 2 4
mkdir -p "$out"
: >"$out/summary.txt"
for n; do
    several=
    [ "$n" = 1 ] || several="--gpus $n"
    # shellcheck disable=SC2086 # options are words
    if "${SPLATSMITH:-splatsmith}" bench run -s "$scene" --backend "${BACKEND:-cuda}" --eval $several \
        --warmup "$((${WARMUP:-600} / n))" --num_iterations "$((${VIEWS:-1200} / n))" ${OPTIONS:-} -o "$out/ranks_$n.json" \
        >"$out/ranks_$n.txt" 2>&1; then
        python3 - "$n" "$out/ranks_$n.json" "$out/ranks_1.json" <<'END' | tee -a "$out/summary.txt"
import json, os, sys
n, path, alone = int(sys.argv[1]), sys.argv[2], sys.argv[3]
r = json.load(open(path))
rate = r["speed"]["views_per_second"]
text = "%d GPUs: %8.1f views/s, %.3f ms a step of %.2f views, %d Gaussians" % (
    n, rate, r["speed"]["ms_mean"], r["speed"]["views_a_step"], r["measurement"]["gaussians_last"])
if os.path.exists(alone):
    text += ", efficiency %.2f" % (rate / json.load(open(alone))["speed"]["views_per_second"] / n)
print(text)
for i, rank in enumerate(r["ranks"]):
    print("  rank %d: %.2f GiB, %.0f instances, %.2f ms in exchanges, %.1f MB sent" % (
        i, rank["peak_bytes"] / 2**30, rank["instances"], rank["exchange_ms"], rank["sent_bytes"] / 1e6))
END
    else
        echo "$n GPUs: failed: $(tail -n 1 "$out/ranks_$n.txt")" | tee -a "$out/summary.txt"
    fi
done
