#!/bin/sh
# make_seeds.sh BUILD_FOLDER FOLDER: what the fuzzers begin with, in FOLDER/<fuzzer>/: files that the program itself
# writes, those of tests/golden, and a few by hand. Also FOLDER/scene, which two fuzzers train and open.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$2"
mkdir -p "$2"
cd "$2"
splatsmith()
{
    OMP_NUM_THREADS=1 "$build/splatsmith" "$@" >log 2>&1 || { cat log >&2; echo "no seeds: splatsmith $1 failed" >&2; exit 1; }
}

# seed FUZZER NAME [FIRST_BYTE] < FILE: FIRST_BYTE as printf takes it, for fuzzers that read several kinds of files
seed()
{
    mkdir -p "$1"
    { [ -z "${3:-}" ] || printf "%b" "$3"; cat; } >"$1/$2"
}

splatsmith sample scene --width 48 --height 32 --cameras 4 --points 40 --truth_points 20 --supersample 1 --tracks --depths
splatsmith pipeline -s scene -o pipeline --eval --iterations 20 --test_iterations 20 --sh_degree 1 --skip_coarse \
    --skip_refine --skip_texture --checkpoint_iterations 20 --profile_tensors --profile_interval 5 --method tsdf \
    --min_component_faces 1 \
    --target_vertices 100
model=pipeline/train
splatsmith eval -m "$model"
splatsmith bench -s scene --warmup 2 --num_iterations 4 -o bench.json
splatsmith sample surface --width 64 --height 48 --cameras 8 --points 500 --truth_points 20 --supersample 1
splatsmith train -s surface -m surface/model --strategy classic --iterations 60 --sh_degree 0 --report False --tensorboard False
splatsmith mesh -m surface/model --method tsdf --target_vertices 60 \
    -o mesh.ply,mesh.obj,mesh.glb
splatsmith texture -s surface -m mesh.ply --texture_size 64 -o textured.ply,textured.obj,textured.glb

for kind in cameras.bin:0 images.bin:1 points3D.bin:2 cameras.txt:3 images.txt:4 points3D.txt:5; do
    seed colmap "${kind%:*}" "\\000${kind#*:}" <"scene/sparse/0/${kind%:*}"
done
for lens in 2:1110 3:11100 6:111100000000 7:11111; do # model id, parameters: SIMPLE_RADIAL, RADIAL, FULL_OPENCV, FOV
    { printf '\001\000\000\000\000\000\000\000\001\000\000\000'
      printf "\\00${lens%:*}\\000\\000\\000"
      printf '\100\000\000\000\000\000\000\000\060\000\000\000\000\000\000\000'
      for number in $(echo "${lens#*:}" | sed 's/./& /g'); do
          [ "$number" = 0 ] && printf '\000\000\000\000\000\000\000\000' || printf '\000\000\000\000\000\000\360\077'
      done
    } | seed colmap "lens${lens%:*}" '\0000'
done
splat=$model/point_cloud/iteration_20/point_cloud
seed ply splat <"$splat.ply"
seed ply fused <"${splat}_fused.ply"
seed ply points <"$model/input.ply"
printf 'ply\nformat ascii 1.0\nelement vertex 2\nproperty double x\nproperty float y\nproperty int z\n'`
    `'element face 1\nproperty list uchar int vertex_indices\nend_header\n1 2 3\n4 5 6\n3 0 1 1\n' | tee ascii.ply | seed ply ascii
for packed in fused.spz fused.compressed.ply fused.splat fused.sog fused.glb fused.usda fused.html; do
    splatsmith export "${splat}_fused.ply" "$packed"
    seed cloud "${packed#fused.}" <"$packed"
done
seed depth params '\0000' <scene/sparse/0/depth_params.json
seed depth map '\0001' <scene/depths/image_000.png
seed image png <"$(find scene/images -type f | head -n 1)"
grep -o 'data:image/jpeg;base64,[^")]*' "$model/report.html" | head -n 1 | cut -d, -f2 | base64 -d | seed image jpeg
printf '{"camera_angle_x": 0.7, "w": 4, "h": 3, "k1": 0, "ply_file_path": "x.ply", "train_filenames": ["a.png"],'`
    `'"test_filenames": ["./b"], "frames": [{"file_path": "a.png", "fl_x": 3.5, "transform_matrix": [[1,0,0,0],'`
    `'[0,1,0,0],[0,0,1,2],[0,0,0,1]]}, {"file_path": "./b", "transform_matrix": [[2,0,0,0],[0,0,-2,0],[0,2,0,2]]}]}' |
    tee transforms.json | seed transforms transforms '\0000'
printf '{"camera_angle_x": 0.7, "frames": [{"file_path": "./a", "transform_matrix": [[1,0,0,0],[0,1,0,0],'`
    `'[0,0,1,2],[0,0,0,1]]}]}' | seed transforms synthetic '\0001'
printf '{"train": {"file_path": ["a.png"], "cam2world": [[[1,0,0,0],[0,1,0,0],[0,0,1,2],[0,0,0,1]]], "width": [4],'`
    `'"height": [3], "focal": [5]}, "test": {"file_path": [], "cam2world": [], "width": [], "height": [], "focal": []}}' |
    seed transforms metadata '\0002'
printf '<?xml version="1.0"?><document version="2.0.0"><chunk label="c"><sensors><sensor id="0" type="frame">'`
    `'<resolution width="36" height="24"/><calibration type="frame" class="adjusted"><resolution width="36" height="24"/>'`
    `'<f>40</f><cx>1</cx><b1>0.1</b1><k1>-0.1</k1><p1>0.01</p1></calibration></sensor></sensors><components>'`
    `'<component id="3"><transform><rotation>0 -1 0 1 0 0 0 0 1</rotation><translation>1 2 3</translation><scale>2</scale>'`
    `'</transform></component></components><cameras><group id="0"><camera id="0" sensor_id="0" component_id="3" label="a">'`
    `'<transform>1 0 0 1 0 1 0 2 0 0 1 3 0 0 0 1</transform></camera></group><camera id="1" sensor_id="0" label="b"/>'`
    `'</cameras></chunk></document>' | seed metashape cameras
printf '#cameras 1\r\n#name,x,y,alt,heading,pitch,roll,f,px,py,k1,k2,k3,k4,t1,t2\r\n'`
    `'a.png,1,2,3,40,50,60,18,0.01,-0.02,-0.1,0.02,0,0,0.001,0\r\n' | seed poses registration '\0000'
printf '[{"cameras": {"c": {"projection_type": "brown", "width": 48, "height": 32, "focal_x": 0.9, "focal_y": 0.9, "c_x": 0,'`
    `'"c_y": 0.01, "k1": -0.1, "k2": 0.01, "k3": 0, "p1": 0, "p2": 0}}, "shots": {"a.png": {"rotation": [0.1, 0.2, 0.3],'`
    `'"translation": [0, 0, 2], "camera": "c"}}, "points": {"1": {"color": [1, 2, 3], "coordinates": [0, 0.5, 1]}}}]' |
    seed poses reconstruction '\0001'
printf '{"fx": 40.5, "fy": 40, "cx": 24, "cy": 16, "width": 48, "height": 32, "t_00": 1, "t_01": 0, "t_02": 0, "t_03": 2,'`
    `'"t_10": 0, "t_11": 1, "t_12": 0, "t_13": 3, "t_20": 0, "t_21": 0, "t_22": 1, "t_23": 4}' | seed poses keyframe '\0002'
for file in "$source"/tests/golden/*.pt "$source"/tests/golden/torch_checkpoint*.pth; do
    seed cloud "$(basename "$file")" <"$file"
done
for file in "$source"/tests/golden/*.pth; do seed torch "$(basename "$file")" <"$file"; done
printf '\160\000\000\000\000\000\000\000%-112s\000\000\200\077\000\000\000\100\000\074' \
    '{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[],"data_offsets":[8,10]}}' |
    seed safetensors two
seed cfg_args written <"$model/cfg_args"
printf "Namespace(a=[1,(2,'x')], source_path=\"\\\\u00e4\\\\x41'\", images=None, kernel_size=-1.5e-3, eval=True)" |
    seed cfg_args others
seed model_folder split <"$model/split.json"
seed model_folder results <"$model/results.json"
for ending in ply obj glb; do
    seed mesh $ending <mesh.$ending
    seed mesh textured_$ending <textured.$ending
done
printf 'newmtl page_0\nKd 1 1 1\nmap_Kd -clamp on -o 0 0 0 in.png\nnewmtl other\nmap_Kd folder\\absent.png\n' | seed mesh mtl
seed mesh ascii <ascii.ply
seed ply lists <mesh.ply # binary
printf 'v 0 0 0 1 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nvn 0 0 1\nf 1//1 2//1 3//1\nf -4/1/1 -3 -2 -1\n' | seed mesh polygons
seed checkpoint written <"$model/chkpnt20.splatsmith"
seed profile written <"$(find "$model/profiles" -name '*.jsonl' | head -n 1)"
seed history written <"$model/history.jsonl"
printf '\6P5\n3 2\n255\nabcdefP5\n1 1\n255\nxP5 12 1 255\nabcdefghijkl' | seed pgm three
seed bench written <bench.json
for number in 1 -0.5 1e-3 1e308 nan inf 0x1p3 1,5 123456789.123456789; do printf %s "$number" | seed number "n$number"; done
printf 'train\n-s\nscene\n-m=out\n--iterations\n7K\n--test_iterations\n7000\n30000\n--eval\n--lr=0.5' | seed command_line train
printf 'mesh\n-b\n-1,2.5,3\n--vram_limit\n8G\n--max_host_memory=1.5T\n-l0.1,0.3\n--planes\nFalse' | seed command_line mesh
printf 'trian\n-x' | seed command_line wrong
seed stage_file written <"$model/stage.json"
printf '{"version": 1, "train": ["a.png", "sub/b.v2.png"], "test": ["c"]}' | seed test_list split '\0001'
printf 'a.png\n# comment\n b.v2 \nnope\n' | seed test_list list '\0000'
printf '{"ack":3,"camera":{"seq":1,"position":[1,2.5,-3],"quaternion":[1,0,0.5,0],"fov_y":50},"size":[640,360],'`
    `'"what":"depth","moving":true}' | seed viewer message
printf '{"do":"go on","sees":true,"camera":{"seq":1,"position":[1,2,3],"quaternion":[1,0,0,0],"fov_y":50},"size":[64,48],'`
    `'"what":"error","view":3,"box":[-1,-2,-3,1,2,3]}' | seed viewer wish
printf '{"format":"splatsmith camera path","version":1,"fps":30,"width":64,"height":48,"keyframes":[{"time":0,"position":'`
    `'[0,0,0],"quaternion":[1,0,0,0],"fov_y":50},{"time":1.5,"position":[1,0,-2],"quaternion":[0,1,0,0],"fov_y":40}]}' |
    seed camera_path two
printf '\344\1\0\0{"resolution_x":64,"resolution_y":48,"train":true,"fov_y":0.8,"fov_x":1.0,"z_near":0.01,"z_far":100,'`
    `'"shs_python":false,"rot_scale_python":false,"keep_alive":true,"scaling_modifier":0.5,"view_matrix":[1,0,0,0,0,1,0,0,'`
    `'0,0,1,0,0.5,-1,-3,1],"view_projection_matrix":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}' | seed sibr request
printf '\64\0\0\0{"resolution_x":0,"resolution_y":0,"train":0}' | seed sibr no_picture
for host in localhost:80 127.0.0.1 '[::1]:8080' http://gpubox:1; do printf %s "$host" | seed viewer host_${#host}; done
rm -rf pipeline surface fused.* mesh.* textured.* *.json *.ply log
