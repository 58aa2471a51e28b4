#!/bin/sh
# mesh_picture.sh [FOLDER]: the README's picture of a textured mesh. Goes the whole way as SuGaR does, not that of the
# defaults, on the built-in scene in FOLDER (mesh_out; minutes on a CPU, and it goes on where it stopped) and leaves
# photo, textured mesh and bound Gaussians of three test views in docs/images/textured_sample.jpg. test_pipeline_long
# measures the same run.
set -eu
cd "$(dirname "$0")/.."
out=${1:-mesh_out}
binary=build/splatsmith
[ -e "$out/scene" ] || "$binary" sample "$out/scene"
"$binary" pipeline -s "$out/scene" -o "$out/result" --eval --iterations 3000 -r dn_consistency --points level \
    --regularize_after 7600 --coarse_iterations 9000 --n_samples 10000 --poisson_depth 9 -v 60000 \
    --refinement_iterations 2000 --export_obj
"$binary" contact-sheet --mesh "$out/result/textured.glb" -m "$out/result/refine" --views 3 \
    -o docs/images/textured_sample.jpg
