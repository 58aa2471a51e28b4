#!/bin/sh
# make_assets.sh FOLDER: box.glb (by MAKE_MESHES), and room.glb with room_LOD1.glb and room_LOD2.glb, which the program
# named by SPLATSMITH_BINARY paints. Up is (0.2, -0.9, 0.3) in the first, -y in the others; the room is 6 x 4, 3 high.
set -eu
mkdir -p "$1"
MESHES_FOLDER=$1 "$MAKE_MESHES" > "$1/make_meshes.txt" 2>&1 || { cat "$1/make_meshes.txt"; exit 1; }
rm -rf "$1/room" "$1"/room*.glb
"$SPLATSMITH_BINARY" sample "$1/room" --scene room --width 160 --height 120 --cameras 24 --quiet
"$SPLATSMITH_BINARY" texture -s "$1/room" -m "$1/room/ground_truth_mesh.ply" -o "$1/room.glb" --lods 2 --quiet \
    --max_texture 1024 --texel_density 0.8 --texture_polish 2 --backend cpu
