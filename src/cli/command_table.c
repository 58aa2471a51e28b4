/* The commands, as data. */
#include "cli.h"
#include "command_bits.h"

const cli_command cli_commands[] = {
    {"cameras", CAMERAS, cmd_cameras, "PHOTOS|VIDEO -o SCENE [options]", "PHOTOS",
     "find the cameras of photos, or of a video's frames, with COLMAP",
     "PHOTOS is a folder of JPEG and PNG files, or one with images/ in it. COLMAP must be installed (apt-get install\n"
     "colmap), for videos ffmpeg, too; COLMAP's log lies in SCENE. Ctrl-C loses little: the same command goes on.\n"
     "'train' and 'pipeline' do the same when -s names photos without cameras or a video.\n\n"
     "  splatsmith cameras photos -o data/garden\n"
     "  splatsmith train -s data/garden -m out/garden --eval", false},
    {"train", ALONE(TRAIN), cmd_train, "-s SCENE [-m MODEL] [options]", NULL,
     "train a splat from photos, with cameras or without",
     "Ctrl-C ends after the step in progress and saves the splat; a second Ctrl-C quits at once.\n\n"
     "  splatsmith train -s data/garden -m out/garden --eval -r 4 -i images_4", false},
    {"eval", EVAL, cmd_eval, "-m MODEL [MODEL...] [options]", "MODEL...", "measure a splat against the test photos",
     "Writes results.json and per_view.json into the model folders. Pictures are rounded to 8 bits before\n"
     "they are measured. With --ply FILE -s SCENE and no -m the numbers are only printed.", false},
    {"render", RENDER, cmd_render, "-m MODEL [--mesh FILE] | --ply FILE -s SCENE -o FOLDER [options]", NULL,
     "write pictures of the train and test views",
     "Pictures go to {train,test}/ours_N/test_preds_R and the photos beside them to gt_R; those of a\n"
     "mesh to {train,test}/mesh_<name of its file>.\n\n"
     "  splatsmith render --mesh out/garden/mesh/iteration_30000/mesh.ply -m out/garden --what shaded,rgb", false},
    {"export", EXPORT, cmd_export, "IN OUT | -m MODEL [-o FILE] | --ply FILE -o FILE [options]", "FILE...",
     "write a splat for other viewers, or in another format",
     "The end of the name of what is written chooses its format. IN OUT is --ply IN -o OUT.\n\n"
     "  splatsmith export -m out/garden --output_ply garden_fused.ply\n"
     "  splatsmith export garden_fused.ply garden.spz", false},
    {"contact-sheet", SHEET, cmd_contact_sheet, "-m MODEL -o FILE [options]", NULL,
     "write one PNG with photos, renders and errors", NULL, false},
    {"bench", BENCH, cmd_bench, "[run] -s SCENE [options] | compare BASELINE CANDIDATE... | report RESULT...",
     "run|compare|report FILE...", "measure the training loop, and compare measurements",
     "A RESULT is what run wrote: the folder, or the JSON in it. compare exits with 0, with 4 when\n"
     "--max_slowdown or --quality_tolerance is passed, and with 2 when a file cannot be used.\n\n"
     "  splatsmith bench run -s data/bonsai --eval --from_iteration 3000 --num_iterations 1000 -o before\n"
     "  splatsmith bench compare before after --max_slowdown 5% --quality_tolerance 0.5%\n"
     "  splatsmith bench report before step1 after -o report", false},
    {"coarse", ALONE(COARSE), cmd_coarse, "-c MODEL [-r multiview|dn_consistency|density|sdf] [options]", NULL,
     "lay the Gaussians of a trained splat on surfaces (SuGaR), for a mesh",
     "Goes on from the splat with the same photos. The result is a model folder like that of train: eval, render\n"
     "and mesh take it with -m.\n\n"
     "  splatsmith coarse -c out/garden -o out/garden_coarse\n"
     "  splatsmith mesh -m out/garden_coarse", false},
    {"mesh", ALONE(MESH), cmd_mesh, "-m MODEL | --ply FILE -s SCENE -o FILE [options]", NULL,
     "make a mesh from a splat",
     "The surface is what the training views see of the splat, and agree on unless --points says otherwise. Of\n"
     "levels, without -o, a PLY with SuGaR's name, such as sugarmesh_3Dgs7000_level03_decim1000000.ply, is\n"
     "written beside mesh.ply.\n\n"
     "  splatsmith mesh -m out/garden -o garden.ply,garden.glb --poisson_depth 9\n"
     "  splatsmith mesh -m out/garden --surface_level 0.1,0.3,0.5", false},
    {"refine", REFINE, cmd_refine,
     "-s SCENE -m MESH [-c SPLAT] [-o FOLDER] [options] | --deform EDITED -m REFINED -o FILE", NULL,
     "train a mesh with Gaussians bound to its triangles (SuGaR), or make them follow an edited mesh",
     "Vertices and flat Gaussians in the triangles are trained on the photos. The result is a model folder like that\n"
     "of train, with mesh.ply beside each splat: Gaussian face * gaussians_per_triangle + j lies in the face.\n\n"
     "  splatsmith refine -c out/garden -m out/garden/mesh/iteration_7000/mesh.ply -o out/garden_refined\n"
     "  splatsmith refine --deform edited.ply -m out/garden_refined -o edited_splat.ply", false},
    {"pipeline", PIPELINE, cmd_pipeline, "-s SCENE [-o FOLDER] [-c MODEL] [options]", NULL,
     "from photos to a textured mesh: train, coarse, mesh, refine and texture, as far as missing",
     "Each stage has its own folder with a file, stage.json, that says with which settings it was made.\n"
     "The same command goes on where it stopped; a stage whose settings changed runs again, with those\n"
     "after it. An option that several stages know goes to each of them. The results lie in the folder:\n"
     "textured.glb, refined.ply and refined_mesh.ply.\n\n"
     "  splatsmith pipeline -s data/garden -o out/garden --eval --high_poly --refinement_time short\n"
     "  splatsmith pipeline -s data/garden -o out/garden2 -c out/garden_splat --skip_training --high_poly", false},
    {"plan", PLAN, cmd_plan, "-s SCENE --vram_limit 8G [options]", NULL,
     "tell what training will hold in memory, and how to stay below a limit",
     "Works without a GPU: --device_memory 16G names the card.\n\n"
     "  splatsmith plan -s data/garden --vram_limit 8G --gaussians 6M", false},
    {"sample", SAMPLE, cmd_sample, "FOLDER [options]", "FOLDER", "write a ray-traced scene whose surface is known",
     "The folder must be absent or empty.\nWithout --scene a small one, to try things with; objects and room "
     "are for measuring surfaces:\n\n"
     "  splatsmith sample room --scene room\n"
     "  splatsmith mesh-report mesh.ply --reference room/ground_truth_mesh.ply \\\n"
     "    --reference_points room/ground_truth.ply", false},
    {"info", INFO, cmd_info, "[options]", NULL, "print the version and what this machine offers", NULL, false},
    {"view", VIEW, cmd_view, "MODEL|FILE|SCENE|MESH [-s SCENE] [options]", "MODEL|FILE|SCENE|MESH",
     "show a splat, a scene or a mesh in a browser",
     "MODEL is a folder that train wrote, FILE a splat of any format; SCENE a folder with photos and cameras,\n"
     "whose points are shown; MESH a PLY with faces, an OBJ or a GLB. Pictures are rendered here and sent to the\n"
     "page whose address is printed; it needs no network but this machine's. Ctrl-C ends it.\n\n"
     "  splatsmith view out/garden\n"
     "  splatsmith view garden.ply -s data/garden --port 9000\n"
     "  splatsmith view data/garden\n"
     "  splatsmith view out/garden/textured.glb -s data/garden", false},
    {"monitor", MONITOR, cmd_monitor, "[--pid N] [options]", NULL, "show GPU, machine and a process live",
     "Ctrl-C ends it. Without an NVIDIA driver the machine and the process are shown alone.\n\n"
     "  splatsmith monitor --pid 4711 --interval 5 --csv load.csv", false},
    {"profile", PROFILE, cmd_profile, "RUN|latest [options]", "RUN", "judge the memory of a run: peaks, leaks, savings",
     "RUN is a model folder that was trained with --profile_tensors, or one of its profiles/*.jsonl;\n"
     "latest is the newest one below --folder.\n\n  splatsmith profile latest --folder output --svg memory.svg", false},
    {"texture", TEXTURE, cmd_texture, "-s SCENE -m FOLDER|MESH [-c SPLAT] -o FILE [options]", NULL,
     "paint a mesh with the photos of its scene",
     "The mesh gets texture coordinates and a texture; colours of its vertices go. What no photo sees takes\n"
     "the colours of the bound Gaussians, if there are any, else those of its neighbours.\n\n"
     "  splatsmith texture -s data/garden -m out/garden_refined -o garden.glb,garden.obj\n"
     "  splatsmith texture -s data/garden -m out/garden/mesh/iteration_30000/mesh.ply -o garden.glb", false},
    {"mesh-report", MESH_REPORT, cmd_mesh_report, "FILE [--reference FILE] [options]", "FILE",
     "measure a mesh: topology, triangles, normals, distances to a reference",
     "FILE is a mesh of any format that --reference takes.\n\n"
     "  splatsmith mesh-report mesh.ply --reference ground_truth.ply --json report.json\n"
     "  splatsmith mesh-report mesh.ply --reference ground_truth_mesh.ply \\\n"
     "    --reference_points ground_truth.ply", false},
    {"help", DOCS, cmd_help, "[COMMAND [all]]", "COMMAND...",
     "print the help of a command; all: with every option", NULL, false},
    {"man", DOCS, cmd_man, "[COMMAND]", "COMMAND", "print the manual page, or that of a command", NULL, true},
    {"completion", DOCS, cmd_completion, "bash", "SHELL", "print the completion script of a shell", NULL, true},
};
const size_t cli_n_commands = sizeof cli_commands / sizeof cli_commands[0];
