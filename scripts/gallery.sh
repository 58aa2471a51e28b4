#!/bin/sh
# gallery.sh [FOLDER]: the pictures of docs/gallery.md that the program makes of its built-in scenes on a CPU, minutes. Works
# in FOLDER (build/gallery; what is there is not made again) and writes docs/images/gallery_*.jpg. BINARY: the program, if
# it is not build/splatsmith.
set -eu
cd "$(dirname "$0")/.."
binary=$(realpath "${BINARY:-build/splatsmith}")
here=$PWD
images=$PWD/docs/images
mkdir -p "${1:-build/gallery}"
cd "${1:-build/gallery}"

# train NAME OPTIONS...: the scene NAME, which is there, to the model NAME/model
train()
{
    name=$1
    shift
    [ -e "$name/model/report.html" ] || "$binary" train -s "$name/scene" -m "$name/model" --eval --iterations 2000 "$@"
}

# Photos with things painted over them, which masks leave out: photo, render, error.
[ -e blobs/scene ] || "$binary" sample blobs/scene --width 240 --height 180 --blobs 4
train blobs
"$binary" contact-sheet -m blobs/model -r 180 --views 2 -o "$images/gallery_masks.jpg"

# Photos of many exposures: the same.
[ -e exposure/scene ] || "$binary" sample exposure/scene --width 240 --height 180 --exposure_spread 1
train exposure --exposure
"$binary" contact-sheet -m exposure/model -r 180 --views 2 -o "$images/gallery_exposure.jpg"

# Things on a ground, half of it plain; and what else the viewer shows of one view.
[ -e objects/scene ] || "$binary" sample objects/scene --scene objects --width 320 --height 240 --cameras 60
train objects --target_gaussian_count 60K
"$binary" contact-sheet -m objects/model -r 240 --views 2 -o "$images/gallery_objects.jpg"
python3 "$here/scripts/gallery_views.py" "$binary" objects/model "$images/gallery_"
