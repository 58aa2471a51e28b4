#!/bin/sh
# Stands in for colmap in tests: what its versions say of themselves, which options they know and refuse, what they print
# and where. FAKE_DIALECT: 3.8, 3.13 or 4.1; FAKE_CUDA: with; FAKE_MODELS: a folder whose folders the mapper copies,
# FAKE_WEAK_MODELS: the same with lower demands than its own;
# FAKE_FAULT: COMMAND:KIND, what goes wrong (below); FAKE_CALLS: the file that every call is appended to.
dialect=${FAKE_DIALECT:-3.8}
[ -z "${FAKE_CALLS:-}" ] || echo "$*" >>"$FAKE_CALLS"

say() { # progress: up to 3.8 on stdout, since then as a log on stderr
    if [ "$dialect" = 3.8 ]; then echo "$*"; else echo "I20261121 10:00:00.000000 123 file.cc:1] $*" >&2; fi
}

case $dialect in
3.8) extraction=SiftExtraction size=SiftExtraction matching=SiftMatching ;;
3.13) extraction=FeatureExtraction size=SiftExtraction matching=FeatureMatching ;;
*) extraction=FeatureExtraction size=FeatureExtraction matching=FeatureMatching ;;
esac
title="Structure-from-Motion and Multi-View Stereo"
command=$1
case ${FAKE_FAULT:-}:$command in illegal:help) kill -4 $$ ;; esac
case $command in
help)
    if [ "$dialect" = 4.1 ]; then
        echo "COLMAP -- $title" # 4.1 has a command for its version
    else
        printf 'COLMAP %s -- %s\n              (Commit Unknown on Unknown %s CUDA)\n' "$dialect" "$title" "${FAKE_CUDA:-without}"
    fi
    exit 0 ;;
version)
    [ "$dialect" = 4.1 ] || { echo "ERROR: Command \`version\` not recognized." >&2; exit 1; }
    echo "COLMAP 4.1.1 (Commit abc on 2026-08-08 ${FAKE_CUDA:-without} CUDA)"
    exit 0 ;;
feature_extractor)
    options="image_path image_list_path ImageReader.camera_model ImageReader.single_camera
        ImageReader.single_camera_per_folder ImageReader.existing_camera_id $extraction.use_gpu $extraction.num_threads
        $size.max_image_size SiftExtraction.max_num_features" ;;
exhaustive_matcher) options="$matching.use_gpu $matching.num_threads ExhaustiveMatching.block_size" ;;
sequential_matcher) options="$matching.use_gpu $matching.num_threads SequentialMatching.overlap" ;;
vocab_tree_matcher)
    options="$matching.use_gpu $matching.num_threads"
    [ "$dialect" = 3.13 ] || options="$options VocabTreeMatching.vocab_tree_path" ;;
global_mapper)
    [ "$dialect" = 4.1 ] || { echo "ERROR: Command \`$command\` not recognized." >&2; exit 1; }
    options="image_path output_path" ;;
spatial_matcher)
    [ "$dialect" != 3.13 ] || { echo "ERROR: Command \`$command\` not recognized." >&2; exit 1; }
    options="$matching.use_gpu $matching.num_threads" ;;
matches_importer) options="$matching.use_gpu $matching.num_threads match_list_path match_type" ;;
mapper)
    options="image_path output_path Mapper.num_threads Mapper.ba_global_function_tolerance Mapper.min_model_size
        Mapper.init_min_num_inliers Mapper.init_min_tri_angle Mapper.init_max_forward_motion
        Mapper.tri_min_angle Mapper.filter_min_tri_angle" ;;
*) echo "ERROR: Command \`$command\` not recognized." >&2; exit 1 ;;
esac
options="database_path $options"
shift

if [ "${1:-}" = -h ]; then
    help=$(printf 'Options can either be specified via command-line or by defining them in a .ini file.\n\n  -h [ --help ]\n'
        for name in $options; do echo "  --$name arg (=1)"; done)
    if [ "$dialect" = 3.8 ]; then echo "$help"; else echo "$help" >&2; fi
    exit 0
fi

while [ $# -gt 0 ]; do
    name=${1#--}
    case " $(echo $options) " in
    *" $name "*) ;;
    *) echo "ERROR: Failed to parse options - unrecognised option '$1'." >&2; exit 1 ;;
    esac
    case $name in
    database_path) database=$2 ;;
    image_path) images=$2 ;;
    image_list_path) list=$2 ;;
    match_list_path) pairs=$2 ;;
    *vocab_tree_path) [ -f "$2" ] || { echo "no tree $2" >&2; exit 9; } ;;
    output_path) output=$2 ;;
    *use_gpu) gpu=$2 ;;
    *init_min_num_inliers) inliers=$2 ;;
    esac
    shift 2
done

fault=
case ${FAKE_FAULT:-} in "$command":*) fault=${FAKE_FAULT#*:} ;; esac
case $fault in
exit) echo "E20261121 something that nobody knows" >&2; exit 3 ;;
once) [ -e "$database.once" ] || { : >"$database.once"; echo "something that happens once" >&2; exit 1; } ;;
memory) kill -9 $$ ;;
crash) kill -11 $$ ;;
talk) while :; do echo "chatter"; done & ;; # what it leaves goes on to write
gpu) [ "$gpu" = 0 ] || { echo "qt.qpa.xcb: could not connect to display" >&2; exit 134; } ;;
disk) echo "SQLite error: database or disk is full" >&2; exit 1 ;;
matches) echo "WARNING: No images with matches found in the database."; echo "ERROR: failed to create sparse model"; exit 1 ;;
start)
    echo "  => No good initial image pair found."
    [ "${inliers:-100}" -lt 100 ] || { echo "ERROR: failed to create sparse model"; exit 1; } ;;
weak) [ "${inliers:-100}" -ge 100 ] || exit 1 ;;
never) echo "  => No good initial image pair found."; echo "ERROR: failed to create sparse model"; exit 1 ;;
nothing) exit 0 ;;
half) mkdir -p "$output/0"; cp "$FAKE_MODELS/0/cameras.bin" "$output/0"; exit 1 ;;
hang|deaf)
    echo "begun" >>"$database"
    [ $fault = hang ] || trap '' TERM # a program that does not care
    sleep 600 &
    echo "$$ $!" >"$FAKE_CALLS.pids"
    wait
    while :; do sleep 1; done ;;
esac

case $command in
feature_extractor)
    [ -d "$images" ] || exit 9
    n=$(grep -c . "$list") i=0
    while read -r name; do
        i=$((i + 1))
        [ -f "$images/$name" ] || { echo "no photo $name" >&2; exit 9; }
        say "Processed file [$i/$n]"
        echo "  Name:            $name"
    done <"$list"
    echo "features" >>"$database" ;;
exhaustive_matcher)
    [ -f "$database" ] || exit 9
    for i in 1 2 3; do for j in 1 2 3; do say "Matching block [$i/3, $j/3] in 0.001s"; done; done ;;
sequential_matcher|vocab_tree_matcher|spatial_matcher) say "Matching image [1/2] in 0.4s"; say "Matching image [2/2] in 0.4s" ;;
matches_importer) [ -s "$pairs" ] || exit 9; say "Matching block [1/1]" ;;
mapper|global_mapper)
    [ -d "$output" ] || exit 9
    say "Registering image #4 (3)"
    models=$FAKE_MODELS
    [ "${inliers:-100}" -ge 100 ] || models=${FAKE_WEAK_MODELS:-$FAKE_MODELS}
    cp -r "$models"/* "$output"
    [ "$fault" != cut ] || head -c 100 "$FAKE_MODELS/0/images.bin" >"$output/0/images.bin" ;; # a full disk
esac
