#!/bin/sh
# The main job on the built-in scene: photos in, a splat, its measurements and pictures out. Leaves demo_out/.
set -eu
cd "$(dirname "$0")/.."
out=demo_out
binary=build/splatsmith
rm -rf "$out"
"$binary" sample "$out/scene"
"$binary" train -s "$out/scene" -m "$out/model" --eval --iterations 2000 --test_iterations 500 1000 2000
"$binary" eval -m "$out/model"
"$binary" contact-sheet -m "$out/model" -o "$out/contact_sheet.png" --views 3
cp "$out/model/point_cloud/iteration_2000/point_cloud_fused.ply" "$out/splat.ply"
cp "$out/model/results.json" "$out/results.json"
echo
echo "Splat (open it in any 3DGS viewer): $out/splat.ply"
echo "Measurements on held-out views:     $out/results.json"
echo "Photo, render, error x4:            $out/contact_sheet.png"
echo "The run on one page:                $out/model/report.html"
echo "Model folder (3DGS layout):         $out/model"
