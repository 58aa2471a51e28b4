#!/bin/sh
# blender.sh FOLDER: lets Blender open meshes that make_assets.sh makes in FOLDER (check_blender.py). Leaves with 77
# without Blender (scripts/install_deps.sh --blender): that is no verdict about Splatsmith.
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { echo "usage: blender.sh FOLDER"; exit 2; }
command -v blender > /dev/null || { echo "SKIPPED: blender is absent; Blender has opened none of our meshes"; exit 77; }
"$here/make_assets.sh" "$1" || exit 1
room=0,-1,0:6,4,3
HOME=$1 blender --background --factory-startup --python-exit-code 1 --python "$here/check_blender.py" -- \
    "$1/box.glb:0.2,-0.9,0.3" "$1/room.glb:$room" "$1/room_LOD1.glb:$room" "$1/room_LOD2.glb:$room"
