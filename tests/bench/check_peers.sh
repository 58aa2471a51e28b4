#!/bin/sh
# bench/peers/compare.py with peers that are none: one that hands in a splat, if it was given the training photos alone,
# one that fails, one that is not there, and one that does not end. Usage: check_peers.sh SPLATSMITH SOURCE
set -eu
splatsmith=$1
compare=$2/bench/peers/compare.py
if ! command -v python3 >/dev/null; then
    echo "SKIPPED: bench/peers: there is no python3"
    exit 77
fi
rm -rf peers && mkdir -p peers/checkout && cd peers
"$splatsmith" sample scene --cameras 16 --width 64 --height 48 >/dev/null 2>&1
"$splatsmith" train -s scene -m model --eval --iterations 60 --backend cpu --threads 1 >/dev/null 2>&1
cat >checkout/train.py <<'EOF'
import os, shutil, struct, sys
scene, out = sys.argv[1:3]
with open(os.path.join(scene, "sparse", "0", "images.bin"), "rb") as file:
    (n,) = struct.unpack("<Q", file.read(8))
if n != 14 or not os.path.exists(os.path.join(scene, "images", "image_001.png")) or not os.path.exists("built"):
    sys.exit(3)
shutil.copy(os.environ["HANDED_IN"], os.path.join(out, "splat.ply"))
EOF
cat >recipes.json <<'EOF'
{"fake": {"build": [{"in": ".", "run": ["{python}", "-c", "open('built', 'w')"]}], "training_photos": true,
          "train": ["{python}", "train.py", "{scene}", "{out}"], "ply": "splat.ply"},
 "broken": {"train": ["{python}", "-c", "import sys; sys.exit(5)"], "ply": "splat.ply"},
 "absent": {"train": ["none"], "ply": "splat.ply"},
 "endless": {"train": ["{python}", "-c", "import time; time.sleep(100)"], "ply": "splat.ply"}}
EOF
code=0
HANDED_IN=$PWD/model/point_cloud/iteration_60/point_cloud.ply python3 "$compare" out "$splatsmith" scene \
    fake=checkout broken=checkout absent=nowhere --recipes recipes.json --iterations 60 --seeds 2 --backend cpu \
    --options splatsmith="--threads 1" >said || code=$?
cat said

# expect WHAT COMMAND...
expect()
{
    what=$1
    shift
    "$@" >/dev/null || { echo "FAILED: $what"; exit 1; }
}
expect "a peer that failed is an error" [ "$code" = 1 ]
figures=$("$splatsmith" eval --ply model/point_cloud/iteration_60/point_cloud.ply -s scene --eval --backend cpu \
    2>/dev/null | awk '$1 == "test" && $2 == 2 { printf "%.2f (%.2f, %.2f) | %.4f", $3, $3, $3, $5 }')
expect "its splat has the figures of eval ($figures)" grep -qF " | $figures |" said
expect "two runs are two" grep -q '^| fake | 2 |' said
expect "why a peer was not run" grep -q '^| broken | not run: python3.* ended with 5; out/broken_0.log says why' said
expect "what is not there" grep -q '^| absent | not run: there is no checkout .*/nowhere' said
expect "the table is a file" cmp said out/peers.md
expect "a peer without a recipe is refused" sh -c \
    "! python3 $compare out $splatsmith scene other=checkout --recipes recipes.json 2>&1 | grep -v 'NAME one of fake'"
python3 "$compare" out2 "$splatsmith" scene endless=checkout --recipes recipes.json --iterations 60 --seeds 3 \
    --backend cpu --threads 1 --limit 2 --budget 2 >said2 || true
cat said2
expect "a peer that does not end is ended" grep -q '^| endless | not run: .* was not done after 2 seconds' said2
expect "no run starts when time is up" grep -q '^| splatsmith | 1 |' said2
echo "all of it was so"
