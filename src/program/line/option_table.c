/* The options, as data. */
#include "line/option_table.h"

#include "line/command_bits.h"
#include "line/parts.h"

#include <limits.h>

#define ANY 1e300 /* no limit but that of the type */
#define SHARED 1, 0 /* the range of the field's line in a .def of splatsmith/ */

/* The columns level and group: which help shows the option (splat_line_level), and under which title. */
#define BASIC(group) SPLAT_LINE_BASIC, SPLAT_LINE_GROUP_##group
#define STAGE(group) SPLAT_LINE_STAGE, SPLAT_LINE_GROUP_##group
#define ADVANCED(group) SPLAT_LINE_ADVANCED, SPLAT_LINE_GROUP_##group

/* The offset of a field; refuses to compile when its type is not the one the kind stores. */
#define AT(field, type)                                                                                                \
    (offsetof(splat_line_parts, field) + 0 * sizeof(_Generic(((splat_line_parts *)0)->field, type: 0)))
#define FLAG(field) SPLAT_LINE_FLAG, AT(field, bool), NULL, 0, 0
#define TEXT(field, metavar) SPLAT_LINE_TEXT, AT(field, const char *), metavar, 0, 0
#define CHOICE(field, words) SPLAT_LINE_CHOICE, AT(field, const char *), words, 0, 0
#define INT(field, ...) SPLAT_LINE_INT, AT(field, int), "N", __VA_ARGS__
#define PORT(field, usual) SPLAT_LINE_PORT, AT(field, int), "[PORT=" usual "]", 0, 65535
#define HELP(field) SPLAT_LINE_HELP, AT(field, splat_line_help), "[all]", 0, 0
#define SIZE(field, ...) SPLAT_LINE_SIZE, AT(field, int), "N", __VA_ARGS__
#define INTS(field) SPLAT_LINE_INTS, AT(field, splat_line_list), "N...", -1, INT_MAX
#define COUNT(field, ...) SPLAT_LINE_COUNT, AT(field, size_t), "N", __VA_ARGS__
#define SEED(field) SPLAT_LINE_SEED, AT(field, uint64_t), "N", 0, ANY
#define REAL(field, ...) SPLAT_LINE_REAL, AT(field, float), "X", __VA_ARGS__
#define DOUBLE(field, ...) SPLAT_LINE_DOUBLE, AT(field, double), "X", __VA_ARGS__
#define WORD(field, type, words) SPLAT_LINE_WORD, AT(field, type), words, 0, 0
#define GIB(field, ...) SPLAT_LINE_GIB, AT(field, double), "SIZE", __VA_ARGS__
#define LIMIT(field, metavar) SPLAT_LINE_LIMIT, AT(field, splat_line_limit), metavar, 0, 0
#define IGNORED_TEXT(metavar) ADVANCED(IGNORED), TEXT(general.ignored_text, metavar)
#define IGNORED_FLAG ADVANCED(IGNORED), FLAG(general.ignored_flag)

/* The words of --strategy. */
static const char strategy_words[] = ""
#define SPLAT_STRATEGY(word, table, help) "|" #word
#define SPLAT_FORMER_STRATEGY(table)
#include "train/density/strategies.def"
    ;
#define STRATEGIES (strategy_words + 1) /* without the first bar */
static const char strategies_help[] = "density control"
#define SPLAT_STRATEGY(word, table, help) "; " #word ": " help
#define SPLAT_FORMER_STRATEGY(table)
#include "train/density/strategies.def"
    ;

/* A line of a table of options of splatsmith/, by its kind: `at` is its field in splat_line_parts. The number's range,
 * where none follows, is that of the field's line. */
#define LIBRARY_LINE(part, name, field, kind, letter, aliases, commands, level, group, help, fallback)                 \
    {#name, letter, aliases, commands, level(group), LINE_##kind(part.field, SHARED), help, fallback},
#define LINE_INT(at, ...) INT(at, __VA_ARGS__)
#define LINE_SIZE(at, ...) SIZE(at, __VA_ARGS__)
#define LINE_FLAG(at, ...) FLAG(at)
#define LINE_REAL(at, ...) REAL(at, __VA_ARGS__)
#define LINE_DOUBLE(at, ...) DOUBLE(at, __VA_ARGS__)
#define LINE_GIB(at, ...) GIB(at, __VA_ARGS__)
#define LINE_COUNT(at, ...) COUNT(at, __VA_ARGS__)
#define LINE_U64(at, ...) SEED(at)
#define LINE_FOLDER(at, ...) TEXT(at, "FOLDER")
#define LINE_FOLDER_OR_NONE(at, ...) TEXT(at, "FOLDER|none")
#define LINE_SKY(at, ...) TEXT(at, "auto|none|FOLDER")
#define LINE_FILE(at, ...) TEXT(at, "FILE")
#define LINE_MODEL(at, ...) TEXT(at, "MODEL")
#define LINE_PROGRAM(at, ...) TEXT(at, "PROGRAM")
#define LINE_ADDRESS(at, ...) TEXT(at, "ADDRESS")
#define LINE_SH_STORAGE(at, ...) WORD(at, splat_sh_storage, SPLAT_WORDS_SH_STORAGE)
#define LINE_OPTIMIZER_STORAGE(at, ...) WORD(at, splat_optimizer_storage, SPLAT_WORDS_OPTIMIZER_STORAGE)
#define LINE_MASK_MODE(at, ...) WORD(at, splat_mask_mode, SPLAT_WORDS_MASK_MODE)
#define LINE_SPLIT_RULE(at, ...) WORD(at, splat_split_rule, SPLAT_WORDS_SPLIT_RULE)
#define LINE_UNDISTORT(at, ...) WORD(at, splat_undistort, SPLAT_WORDS_UNDISTORT)
#define LINE_SAMPLE_SCENE(at, ...) WORD(at, splat_sample_scene, SPLAT_WORDS_SAMPLE_SCENE)
#define LINE_SAMPLE_DISTORTION(at, ...) WORD(at, splat_sample_distortion, SPLAT_WORDS_SAMPLE_DISTORTION)
#define LINE_MESH_METHOD(at, ...) WORD(at, splat_mesh_method, SPLAT_WORDS_MESH_METHOD)
#define LINE_MESH_POINT_SOURCE(at, ...) WORD(at, splat_mesh_point_source, SPLAT_WORDS_MESH_POINT_SOURCE)
#define LINE_MESH_SURFACE(at, ...) WORD(at, splat_mesh_surface, SPLAT_WORDS_MESH_SURFACE)
#define LINE_TEXTURE_BAKE(at, ...) WORD(at, splat_texture_bake, SPLAT_WORDS_TEXTURE_BAKE)
#define LINE_MATCHER(at, ...) WORD(at, splat_matcher, SPLAT_WORDS_MATCHER)
#define LINE_MAPPER(at, ...) WORD(at, splat_mapper, SPLAT_WORDS_MAPPER)
#define LINE_CAMERA_QUALITY(at, ...) WORD(at, splat_camera_quality, SPLAT_WORDS_CAMERA_QUALITY)

const char *const splat_line_group_titles[SPLAT_LINE_N_GROUPS] = {
    "Input", "Output", "Scene", "Training", "Mip filter and sampling", "Learning rates", "Density control",
    "Surface", "Memory",
    "Mesh", "Evaluation and saving", "Sample scene", "Machine", "General", "Accepted without effect"};

/* Within a command names and letters are unique, and the help lists the options of a group in this order. The options
 * of training stand in train_options.def, those of a scene in scene_options.def. Ranges are those of the option's
 * meaning; the library checks again. */
const splat_line_option splat_line_options[] = {
    /* the scene */
#define SPLAT_OPTION_LINE(...) LIBRARY_LINE(scene, __VA_ARGS__)
#include "splatsmith/scene_options.def"

    /* input */
    {"model_path", 'm', "model_paths", (MODEL | EXPORT) & ~(MESH_ALONE | TEXTURE), BASIC(INPUT),
     TEXT(model.model_path, "FOLDER"),
     "the model folder that train wrote", ""},
    {"model_path", 'm', "coarse_model_path", MESH_ALONE, BASIC(INPUT), TEXT(model.model_path, "FOLDER"),
     "the model folder that train or coarse wrote", ""},
    {"model_path", 'm', "refined_model_path", TEXTURE, BASIC(INPUT), TEXT(model.model_path, "FOLDER|FILE"),
     "the folder that refine wrote, or a mesh ({meshes read})", ""},
    {"gs_output_dir", 'c', "checkpoint_path", MESH_ALONE, BASIC(INPUT), TEXT(model.gs_output_dir, "FOLDER"),
     "the model folder, if -m is not given; the name in SuGaR's scripts", ""},
    {"iteration", 0, "iteration_to_load", MODEL | EXPORT, BASIC(INPUT), INT(model.iteration, -1, INT_MAX),
     "the saved iteration of the model folder; -1: the last", NULL},
    {"ply", 'c', "input_ply,checkpoint_path", TEXTURE, BASIC(INPUT), TEXT(model.ply, "FILE"),
     "the splat that is bound to the mesh", "that of the folder of -m"},
    {"ply", 0, "input_ply", (MODEL | EXPORT | ALONE(COARSE)) & ~TEXTURE, BASIC(INPUT), TEXT(model.ply, "FILE"),
     "a splat instead of the model folder's ({splats read})", ""},
    {"mesh", 0, NULL, RENDER, BASIC(INPUT), TEXT(model.mesh_file, "FILE"),
     "draw this mesh ({meshes read}) instead of a splat", ""},
    {"mesh", 0, NULL, SHEET, BASIC(INPUT), TEXT(model.mesh_file, "FILE"),
     "rows of photo, this mesh, and the splat of -m or --ply; with -s alone the error of the mesh", ""},
    {"mesh", 0, NULL, EVAL, BASIC(INPUT), TEXT(model.mesh_file, "FILE"),
     "measure this mesh instead of a splat, over all pixels and over those that it covers", ""},
    {"diffuse_only", 0, NULL, EVAL, ADVANCED(FILTER), FLAG(eval.diffuse_only),
     "only spherical harmonics of degree 0; the results are named ours_<iteration>_diffuseonly", NULL},
    {"texture_filter", 0, NULL, RENDER | EVAL | SHEET, ADVANCED(MESH),
     WORD(mesh_draw.filter, splat_mesh_filter, "trilinear|nearest|anisotropic"),
     "with --mesh: trilinear: mip maps, as mesh viewers; nearest: the texel, as SuGaR; anisotropic: up to 16 "
     "samples along a slanted pixel", NULL},
    {"supersampling", 0, NULL, RENDER | EVAL | SHEET, ADVANCED(MESH), INT(mesh_draw.supersampling, 1, 8),
     "with --mesh: samples along each side of a pixel", NULL},
    {"start_checkpoint", 0, NULL, ALONE(TRAIN), STAGE(INPUT), TEXT(run.start_checkpoint, "FILE|latest"),
     "continue from a checkpoint, ours or a published trainer's chkpntN.pth; latest: the model folder's "
     "newest readable one", ""},
    {"start_checkpoint", 0, NULL, BENCH, STAGE(INPUT), TEXT(run.start_checkpoint, "FILE"),
     "start from a checkpoint of the same scene, or a chkpntN.pth", ""},

    {"ply", 0, "input_ply", BENCH, BASIC(INPUT), TEXT(model.ply, "FILE"),
     "start from this splat instead of the scene's points", ""},
    {"model_path", 'm', NULL, BENCH, BASIC(INPUT), TEXT(model.model_path, "FOLDER"),
     "start from the splat of a model folder, with its scene, size and split", ""},
    {"from_iteration", 0, NULL, BENCH, BASIC(INPUT), INT(bench.from_iteration, 0, INT_MAX),
     "the iteration of the splat of -m or --ply; else train up to it first",
     "with -m the last saved one, else 0"},
    {"mode", 0, NULL, BENCH, BASIC(INPUT), CHOICE(bench.mode, "training|data|render"),
     "run: measure training steps, decoding and uploading of photos, or views of a model (-m or --ply)", NULL},

    /* output */
    {"output", 'o', NULL, BENCH, BASIC(OUTPUT), TEXT(output.path, "FOLDER|FILE.json"),
     "run: a folder for the JSON and its charts, or the JSON alone; report: a folder for Markdown and HTML", "none"},
    {"max_slowdown", 0, NULL, BENCH, BASIC(OUTPUT), TEXT(bench.max_slowdown, "PERCENT"),
     "compare: exit with 4 if an iteration takes this much longer, for example 5%", "none"},
    {"quality_tolerance", 0, NULL, BENCH, BASIC(OUTPUT), TEXT(bench.quality_tolerance, "PERCENT"),
     "compare: exit with 4 if PSNR, SSIM or LPIPS is worse by more; report: the tolerance of its verdicts",
     "compare: none, report: 0.5%"},
    {"model_path", 'm', "result_dir", ALONE(TRAIN), BASIC(OUTPUT), TEXT(model.model_path, "FOLDER"),
     "the model folder to write", "<scene>_output/<experiment name or date_time>"},
    {"experiment_name", 0, NULL, ALONE(TRAIN), ADVANCED(OUTPUT), TEXT(output.experiment_name, "NAME"),
     "the last part of the default model folder", "date_time"},
    {"experiment_name", 0, NULL, ALONE(COARSE), ADVANCED(OUTPUT), TEXT(output.experiment_name, "NAME"),
     "the last part of the default model folder", "sugarcoarse_3Dgs..."},
    {"delete_first", 0, NULL, ALONE(TRAIN), ADVANCED(OUTPUT), FLAG(output.delete_first),
     "delete the model folder's contents after the first step; another folder is refused", NULL},
    {"output", 'o', "output_path", RENDER, BASIC(OUTPUT), TEXT(output.path, "FOLDER"), "the folder of the pictures",
     "the model folder"},
    {"output", 'o', "output_ply", EXPORT, BASIC(OUTPUT), TEXT(output.path, "FILE"),
     "the file to write: {splats written}",
     "with -m: point_cloud_fused.ply next to the input"},
    {"output", 'o', NULL, SHEET, BASIC(OUTPUT), TEXT(output.path, "FILE"), "the PNG or JPEG to write", ""},
    {"spz_version", 0, NULL, EXPORT, BASIC(OUTPUT), CHOICE(export.spz_version, "3|4"),
     "version of SPZ files; most viewers read 3", NULL},
    {"fused", 0, NULL, EXPORT, BASIC(OUTPUT), FLAG(export.fused),
     "bake the 3D filter into scales and opacities, for other viewers",
     "True with -m, False with --ply"},
    {"bboxmin", 'b', NULL, EXPORT, STAGE(OUTPUT), TEXT(surface.bbox_min, "X,Y,Z"),
     "lower corner of a box in the world; Gaussians with centres outside are removed", ""},
    {"bboxmax", 'B', NULL, EXPORT, STAGE(OUTPUT), TEXT(surface.bbox_max, "X,Y,Z"), "upper corner of that box", ""},
    {"up_axis", 0, NULL, EXPORT, BASIC(OUTPUT), CHOICE(export.up_axis, "x|y|z|-x|-y|-z"),
     "turn the splat until this axis points up", "the scene's"},
    {"scene_up", 0, NULL, EXPORT, ADVANCED(OUTPUT), CHOICE(export.scene_up, "x|y|z|-x|-y|-z"),
     "the axis that points up in the scene; COLMAP's scenes mostly -y, Blender's z", NULL},
    {"scale", 0, NULL, EXPORT, BASIC(OUTPUT), DOUBLE(export.scale, 1e-9, 1e9),
     "scale the splat by this factor, about the origin", NULL},
    {"views", 0, NULL, SHEET, BASIC(OUTPUT), INT(sheet.n_views, 1, 1000), "rows: evenly spread test views", NULL},
    {"what", 0, NULL, RENDER, BASIC(OUTPUT), TEXT(render.what, "LIST"),
     "pictures of each view, separated by commas: rgb (renders and photos), depth (16-bit PNG, PFM), median "
     "(depth at half of the light), normal, alpha, density (Gaussians blended a pixel); with --mesh: rgb, "
     "depth, normal, shaded (gray faces, backs in red)",
     "rgb"},
    {"exposure", 0, NULL, RENDER, BASIC(OUTPUT), CHOICE(render.exposure, "neutral|own"),
     "colours of the train views: neutral, or own: as train --exposure found them (exposure.json)", NULL},
    {"skip_train", 0, NULL, RENDER, BASIC(OUTPUT), FLAG(render.skip_train), "leave the train views out", NULL},
    {"random_views", 0, NULL, RENDER, BASIC(OUTPUT), COUNT(render.random_views.n, 1, 1000000),
     "instead: N novel views between neighbouring training cameras, with poses as transforms.json and "
     "sparse/0", ""},
    {"path", 0, "camera_path", RENDER, BASIC(OUTPUT), TEXT(render.camera_path, "FILE"),
     "instead: pictures along a camera path of the viewer's page, in the folder of -o, or as a film (by "
     "ffmpeg) if -o ends in .mp4", ""},
    {"perturb", 0, NULL, RENDER, ADVANCED(OUTPUT), TEXT(render.perturb, "T,R"),
     "with --random_views: deviation of the position, in distances to the nearest camera, and rotation, in "
     "degrees", "0.1,2"},
    {"seed", 0, NULL, RENDER, BASIC(OUTPUT), SEED(render.random_views.seed),
     "for --random_views: the same seed gives the same views", NULL},
    {"skip_test", 0, NULL, RENDER, ADVANCED(OUTPUT), FLAG(render.skip_test), "leave the test views out", NULL},

#define SPLAT_OPTION_LINE(...) LIBRARY_LINE(clean, __VA_ARGS__)
#include "splatsmith/clean_options.def"

    /* cameras of photos */
    {"output", 'o', "output_dir", CAMERAS, BASIC(OUTPUT), TEXT(output.path, "SCENE"),
     "the scene to write; the same command continues after an interruption", ""},
#define SPLAT_OPTION_LINE(...) LIBRARY_LINE(cameras, __VA_ARGS__)
#include "splatsmith/cameras_options.def"

    /* scene */

    /* the options of training: before and after these, as the help lists them, what the command line adds */
    {"vram_limit", 0, "memory_limit,max_vram", WORK, BASIC(MEMORY), LIMIT(machine.vram_limit, "SIZE|PERCENT|max"),
     "keep GPU memory, with the driver's context, below this (8G, 500M, 80%, max: the free memory) in the "
     "cheapest ways; on the CPU backend the program's arrays count",
     "none"},
    {"regularization_type", 'r', "regularization", COARSE, BASIC(SURFACE),
     CHOICE(coarse.regularization, "dn_consistency|density|sdf|multiview"),
     "losses that lay Gaussians on surfaces: density: that of flat, opaque Gaussians; dn_consistency: also "
     "normals that agree with the depth; sdf: distances to the rendered depth; multiview: flat Gaussians, "
     "normals as before, depth and photos that agree between views",
     NULL},
    {"coarse_iterations", 0, NULL, COARSE, ADVANCED(SURFACE), INT(coarse.iterations, 1, 1e8),
     "last iteration of this stage, which begins at 7000 for any splat (with -i above 7000 and N above that, "
     "at -i)", NULL},
    {"strategy", 0, "densification_strategy,strategy_type", STEPS, BASIC(DENSITY),
     CHOICE(training.strategy, STRATEGIES), strategies_help, NULL},
    {"quality", 0, NULL, STEPS, STAGE(DENSITY), CHOICE(training.quality, "normal|high"),
     "high: the same as --strategy high", NULL},
#define SPLAT_TRAIN_LINE(name, field, kind, low, high, letter, aliases, commands, level, group, help, fallback)        \
    LIBRARY_LINE(train, name, field, kind, letter, aliases, commands, level, group, help, fallback)
#define SPLAT_TRAIN_SHORTHAND(name, commands, level, group, help)                                                      \
    {#name, 0, NULL, commands, level(group), FLAG(training.name), help, NULL},
#include "splatsmith/train_options.def"

    /* training */
    {"num_iterations", 0, NULL, BENCH, BASIC(TRAINING), INT(bench.options.iterations, 1, 1e8),
     "steps to measure; photos with --mode data, views with --mode render", NULL},
    {"warmup", 0, NULL, BENCH, BASIC(TRAINING), INT(bench.options.warmup, 0, 1e8),
     "steps, or views, before the measurement", NULL},
    {"width", 0, NULL, BENCH, ADVANCED(SCENE), INT(bench.width, 1, 65500),
     "with --mode render and --height: pixels of the views", "the scene's"},
    {"height", 0, NULL, BENCH, ADVANCED(SCENE), INT(bench.height, 1, 65500), "see --width", "the scene's"},
    {"label", 0, NULL, BENCH, BASIC(OUTPUT), TEXT(bench.label, "NAME"),
     "run: the name of the result in compare and report", "the name of its folder"},
    {"notes", 0, NULL, BENCH, ADVANCED(OUTPUT), TEXT(bench.notes, "TEXT"),
     "run: a sentence that report prints", "none"},
    {"stages", 0, NULL, BENCH, BASIC(TRAINING), FLAG(bench.options.stages),
     "then time each stage in up to 300 more steps", "True"},
    {"eval_only", 0, NULL, ALONE(TRAIN), ADVANCED(TRAINING), FLAG(training.eval_only),
     "no training: measure the last saved iteration of the model folder", NULL},

    /* filter */
    {"kernel_size", 'k', NULL, (MODEL | ALONE(COARSE)) & ~TEXTURE, ADVANCED(FILTER), REAL(train.kernel_size, 0, 100),
     "variance of the 2D filter, as for train", "the model's"},
    {"render_mode", 0, NULL, MODEL & ~TEXTURE, ADVANCED(FILTER), CHOICE(model.render_mode, "auto|mip|classic"),
     "mip: the 2D Mip filter; classic: 3DGS's fixed dilation; auto: the mode of the PLY's training", NULL},

    /* coarse training; -i, -r, -n and -e are SuGaR's letters */
    {"model_path", 'c', "checkpoint_path,gs_output_dir", ALONE(COARSE), BASIC(INPUT), TEXT(model.model_path, "FOLDER"),
     "the model folder of the splat to begin with", ""},
    {"iteration", 'i', "iteration_to_load", ALONE(COARSE), BASIC(INPUT), INT(model.iteration, -1, INT_MAX),
     "its saved iteration; -1: the last", NULL},
    {"start_checkpoint", 0, "resume_checkpoint", ALONE(COARSE), STAGE(INPUT), TEXT(run.start_checkpoint, "FILE|latest"),
     "continue from a checkpoint of this stage; latest: the output folder's newest readable one", ""},
    {"output", 'o', "output_dir", ALONE(COARSE), BASIC(OUTPUT), TEXT(output.path, "FOLDER"),
     "the model folder to write", "<model>_mesh/<experiment name or sugarcoarse_3Dgs...>"},
    {"export_ply", 0, NULL, COARSE, ADVANCED(OUTPUT), FLAG(coarse.export_ply),
     "save the splat as a PLY at the end; False: save a checkpoint instead", "True"},
    {"use_gradient_checkpointing", 0, NULL, COARSE, IGNORED_FLAG,
     "there is no graph of operations, so nothing is computed twice", NULL},

    /* refinement; -m, -c, -g, -f, -n, -b and -B are SuGaR's letters */
    {"mesh", 'm', "mesh_path", REFINE, BASIC(INPUT), TEXT(model.mesh_file, "FILE|FOLDER"),
     "the mesh to begin with ({meshes read}); with --deform the folder of a refinement", ""},
    {"gs_output_dir", 'c', "checkpoint_path", REFINE, BASIC(INPUT), TEXT(model.gs_output_dir, "FOLDER|FILE"),
     "the splat of the mesh, for its colours; a model folder also gives the scene, its size and its split",
     "none: such a mesh is grey"},
    {"iteration", 'i', "iteration_to_load", REFINE, BASIC(INPUT), INT(model.iteration, -1, INT_MAX),
     "the saved iteration of -c, with --deform of -m; -1: the last", NULL},
    {"start_checkpoint", 0, "resume_checkpoint", REFINE, STAGE(INPUT), TEXT(run.start_checkpoint, "FILE|latest"),
     "continue from a checkpoint of this stage; latest: the output folder's newest readable one", ""},
    {"deform", 0, "edited_mesh", REFINE, BASIC(INPUT), TEXT(refine.deform, "FILE"),
     "train nothing: the Gaussians of a refinement follow this edited mesh, with the same vertices and faces "
     "in order; -o names the splat to write", ""},
    {"output", 'o', "output_dir", REFINE, BASIC(OUTPUT), TEXT(output.path, "FOLDER|FILE"),
     "the model folder to write; with --deform the file", "<model>_mesh/sugarfine_..., without -c <scene>_output/..."},
    {"experiment_name", 0, NULL, REFINE, ADVANCED(OUTPUT), TEXT(output.experiment_name, "NAME"),
     "the last part of the default model folder", "sugarfine_..."},
    {"refinement_iterations", 'f', "iterations,max_steps", REFINE, STAGE(TRAINING),
     INT(refine.iterations, 1, 1e8), "training steps", "15000"},
    {"refinement_time", 0, NULL, REFINE | PIPELINE, BASIC(TRAINING), CHOICE(refine.time, "short|medium|long"),
     "2000, 7000 or 15000 steps", ""},
    {"random_background", 0, NULL, REFINE, ADVANCED(TRAINING), FLAG(train.random_background),
     "a random background colour in each step, for an opaque surface", "True"},
    {"gaussians_per_triangle", 'g', "n_gaussians_per_surface_triangle", REFINE | PIPELINE, STAGE(SURFACE),
     CHOICE(refine.gaussians_per_triangle, "1|3|4|6"), "Gaussians bound to each triangle", "1"},
    {"keep_rest", 0, NULL, REFINE, ADVANCED(SURFACE), FLAG(refine.keep_rest),
     "keep Gaussians of -c that the mesh lacks, a quarter of the bound ones at most", "False"},
    {"keep_rest", 0, NULL, PIPELINE, STAGE(MESH), FLAG(refine.keep_rest),
     "keep Gaussians that the mesh lacks", "True"},
    {"normal_consistency_factor", 'n', NULL, REFINE, ADVANCED(SURFACE),
     REAL(train.refine.normal_consistency_factor, 0, 1e3), "weight of the normals of neighbouring triangles", NULL},
    {"render_mode", 0, NULL, REFINE, ADVANCED(FILTER), CHOICE(model.render_mode, "auto|classic|mip"),
     "classic: 3DGS's fixed dilation, without gaps between triangles smaller than pixels; mip: the 2D Mip "
     "filter; auto: classic", NULL},
    {"kernel_size", 'k', NULL, REFINE, ADVANCED(FILTER), REAL(train.kernel_size, 0, 100),
     "with --render_mode mip: variance of the 2D filter, in square pixels", NULL},

    /* the pipeline; -i, -r and -n are SuGaR's letters */
    {"gs_output_dir", 'c', "checkpoint_path", PIPELINE, BASIC(INPUT), TEXT(model.gs_output_dir, "FOLDER|FILE"),
     "an existing splat, instead of training one: its model folder, a PLY or a checkpoint", ""},
    {"iteration", 'i', "iteration_to_load", PIPELINE, ADVANCED(INPUT), INT(model.iteration, -1, INT_MAX),
     "with -c FOLDER: its saved iteration; -1: the last", NULL},
    {"coarse_checkpoint", 0, NULL, PIPELINE, STAGE(INPUT), TEXT(pipeline.coarse_checkpoint, "FOLDER|FILE"),
     "the result of a coarse training, instead of the stages up to it", ""},
    {"output", 'o', "output_dir", PIPELINE, BASIC(OUTPUT), TEXT(output.path, "FOLDER"),
     "the folder of all stages", "<scene>_output/<experiment name or pipeline>"},
    {"experiment_name", 0, NULL, PIPELINE, ADVANCED(OUTPUT), TEXT(output.experiment_name, "NAME"),
     "the last part of the default folder", "pipeline"},
    {"delete_first", 0, NULL, PIPELINE, ADVANCED(OUTPUT), FLAG(output.delete_first), "run every stage again", NULL},
    {"skip_training", 0, NULL, PIPELINE, ADVANCED(TRAINING), FLAG(pipeline.skip_training),
     "train no splat; needs -c or --coarse_checkpoint, which imply it", NULL},
    {"skip_coarse", 0, NULL, PIPELINE, ADVANCED(TRAINING), FLAG(pipeline.skip_coarse),
     "make the mesh from the trained splat, without coarse training", NULL},
    {"skip_refine", 0, "skip_refinement", PIPELINE, BASIC(TRAINING), FLAG(pipeline.skip_refine),
     "bind no Gaussians to the mesh: texture the extracted mesh", NULL},
    {"skip_texture", 0, NULL, PIPELINE, BASIC(TRAINING), FLAG(pipeline.skip_texture), "end before the texture", NULL},
    {"iterations", 0, "max_steps,iter,total_train_iters,gs_iterations", PIPELINE, BASIC(TRAINING),
     INT(train.iterations, 1, 1e8), "training steps of the first stage", "7000"},
    {"low_poly", 0, NULL, PIPELINE, STAGE(MESH), FLAG(pipeline.low_poly),
     "200,000 vertices, for 6 Gaussians a triangle", NULL},
    {"high_poly", 0, NULL, PIPELINE, BASIC(MESH), FLAG(pipeline.high_poly),
     "1,000,000 vertices, for 1 Gaussian a triangle", NULL},
    {"refinement_iterations", 'f', NULL, PIPELINE, STAGE(MESH), INT(refine.iterations, 1, 1e8),
     "training steps of the refinement", "28 for each training photo, at least 1000 and at most 5000"},
    {"normal_consistency_factor", 0, NULL, PIPELINE, ADVANCED(MESH), REAL(pipeline.normal_consistency_factor, 0, 1e6),
     "weight of the normals of neighbouring triangles in the refinement", "0.1"},
    {"export_obj", 't', "export_uv_textured_mesh", PIPELINE, BASIC(MESH), FLAG(pipeline.export_obj),
     "write the textured mesh also as an OBJ, next to the GLB", NULL},

    /* memory */
    {"fragmentation", 0, NULL, WORK, ADVANCED(MEMORY), CHOICE(machine.fragmentation, "aggressive|normal|minimal"),
     "how eagerly unused memory goes back to the driver", NULL},
    {"gaussians", 0, NULL, PLAN, BASIC(MEMORY), COUNT(plan.n_gaussians, 0, 4e9),
     "Gaussians to plan for; 0: --target_gaussian_count, or an estimate by the scene's points", NULL},
    {"gaussians", 0, NULL, BENCH, BASIC(MEMORY), COUNT(plan.n_gaussians, 0, 4e9),
     "split Gaussians until there are N before measuring; 0: do not split", NULL},
    {"device_memory", 0, NULL, PLAN, BASIC(MEMORY), LIMIT(plan.device_memory, "SIZE"),
     "plan for a card with this much memory instead of the one found", ""},
    {"sh_degree", 0, NULL, (MODEL | EXPORT | ALONE(COARSE)) & ~TEXTURE, ADVANCED(MEMORY),
     INT(model.reduce_sh_degree, 0, 3),
     "cut the bands above this degree off the loaded splat", "the model's"},

    /* mesh */
    {"output", 'o', "mesh_output,mesh_output_dir", MESH_ALONE, BASIC(OUTPUT), TEXT(output.path, "FILE,...|FOLDER"),
     "the meshes to write: {meshes written}, separated by commas; for a FOLDER mesh.ply and SuGaR's name; "
     "several levels add _level03 and so on", "mesh/iteration_N in the model folder"},
#define SPLAT_OPTION_LINE(...) LIBRARY_LINE(mesh, __VA_ARGS__)
#include "splatsmith/mesh_options.def"
    {"use_marching_cubes", 0, NULL, MESH, ADVANCED(MESH), FLAG(surface.use_marching_cubes),
     "the same as --method marching_cubes", NULL},
    {"surface_level", 'l', "surface_levels", MESH, STAGE(MESH), TEXT(surface.levels, "X,..."),
     "level, marching_cubes: the density of the surface, above 0 and below 1; each of several makes a mesh", "0.3"},
    {"use_centers_to_extract_mesh", 0, NULL, MESH, ADVANCED(MESH), FLAG(surface.use_centers),
     "the same as --points centers", NULL},
    {"use_vanilla_3dgs", 0, NULL, MESH, ADVANCED(MESH), FLAG(surface.use_vanilla_3dgs),
     "the splat has no coarse training; this changes only SuGaR's file name", NULL},
    {"remove_floaters", 0, NULL, MESH | EXPORT, STAGE(MESH), FLAG(surface.remove_floaters),
     "first remove Gaussians in free space, through which two or more training views see a surface", NULL},
    {"dome", 0, NULL, EXPORT, ADVANCED(OUTPUT), FLAG(export.dome),
     "add 2000 Gaussians with the colours of the sky behind the splat, for viewers that know no sky", NULL},
    {"min_views", 0, NULL, EXPORT, BASIC(OUTPUT), INT(export.min_views, 0, 100000),
     "remove Gaussians that fewer training views show (at least 1/255 of a pixel's light); 0: none", NULL},
    {"bboxmin", 'b', NULL, MESH | REFINE, STAGE(MESH), TEXT(surface.bbox_min, "X,Y,Z"),
     "lower corner of the box that the mesh ends at, in the world", "none"},
    {"bboxmax", 'B', NULL, MESH | REFINE, STAGE(MESH), TEXT(surface.bbox_max, "X,Y,Z"),
     "upper corner of that box", "none"},
    {"max_host_memory", 0, NULL, MESH | TEXTURE, STAGE(MEMORY), GIB(surface.max_host_memory, 0, 1e6),
     "refuse work that may need more host memory, without decoded photos; 0: no limit", NULL},

    /* texture */
    {"output", 'o', NULL, TEXTURE, BASIC(OUTPUT), TEXT(output.path, "FILE,..."),
     "the files to write: .glb, .obj, .ply; several separated by commas", "textured.glb in the folder of -m"},
#define SPLAT_OPTION_LINE(...) LIBRARY_LINE(texture, __VA_ARGS__)
#include "splatsmith/texture_options.def"

    /* evaluation and saving */
    {"test_iterations", 0, NULL, TRAIN | COARSE | REFINE, STAGE(SAVING), INTS(run.test_iterations),
     "measure the test views and five train views after these steps, and after the last; -1: only after the last",
     "7000 30000"},
    {"test_iterations", 0, NULL, BENCH, STAGE(SAVING), INTS(run.test_iterations),
     "with --mode training: measure the test views after these steps, too; the time does not count", "none"},
    {"save_iterations", 0, NULL, TRAIN | COARSE | REFINE, STAGE(SAVING), INTS(run.save_iterations),
     "save the splat after these steps; the last one is always saved", "7000 30000"},
    {"checkpoint_iterations", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(SAVING), INTS(run.checkpoint_iterations),
     "write a checkpoint for --start_checkpoint after these steps", ""},
    {"checkpoint_interval", 0, NULL, TRAIN | COARSE | REFINE, BASIC(SAVING), INT(run.checkpoint_interval, 0, INT_MAX),
     "write a checkpoint every N steps and keep the newest two; 0: none; two failures in a row end the run "
     "with code 3", NULL},
    {"enable_lpips", 0, NULL, TRAIN | COARSE | REFINE | EVAL | BENCH, STAGE(SAVING), FLAG(lpips.enable),
     "also measure LPIPS, if its weights are found", "True, but for trainings with --vram_limit"},
    {"lpips_net", 0, NULL, TRAIN | COARSE | REFINE | EVAL | BENCH, ADVANCED(SAVING),
     CHOICE(lpips.options.net, "vgg|alex|squeeze"),
     "the network of LPIPS", NULL},

       {"lpips_weights", 0, NULL, TRAIN | COARSE | REFINE | EVAL | BENCH, ADVANCED(SAVING),
     TEXT(lpips.options.weights, "PATH"),
     "weights of LPIPS: a safetensors file or a folder (of splatsmith-lpips-convert)",
     "SPLATSMITH_LPIPS_WEIGHTS"},

       {"lpips_normalize", 0, NULL, TRAIN | COARSE | REFINE | EVAL | BENCH, ADVANCED(SAVING),
     FLAG(lpips.options.normalize),
     "feed LPIPS pictures from -1 to 1, as its authors do, and not from 0 to 1, as 3DGS does", NULL},
    {"tensorboard", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(SAVING), FLAG(run.tensorboard),
     "write curves, histograms and pictures for TensorBoard into the model folder", "True"},
    {"tensorboard_tags", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(SAVING),
     CHOICE(run.tensorboard_tags, "default|upstream"),
     "names of the curves: default has all, upstream has those of the published trainer", NULL},
    {"report", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(SAVING), FLAG(run.report),
     "write report.html when the run ends, and history.jsonl meanwhile",
     "True"},
    {"profile_tensors", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(MEMORY), FLAG(run.profile_tensors),
     "profile memory by category, in profiles/ of the model folder and TensorBoard", NULL},
    {"profile_interval", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(MEMORY), SIZE(run.profile_interval, 1, INT_MAX),
     "with --profile_tensors: iterations from sample to sample", NULL},
    {"snapshot_iterations", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(MEMORY), INTS(run.snapshot_iterations),
     "list all memory blocks after these iterations, as JSON in profiles/", ""},
    {"folder", 0, NULL, PROFILE, BASIC(INPUT), TEXT(profile.folder, "OUT"),
     "with latest: where the runs are", "the current folder"},
    {"svg", 0, NULL, PROFILE, BASIC(OUTPUT), TEXT(profile.svg, "FILE"),
     "draw memory by category over the iterations", ""},

    /* sample scene */
#define SPLAT_OPTION_LINE(name, field, kind, level, help)                                                              \
    LIBRARY_LINE(sample, name, field, kind, 0, NULL, SAMPLE, level, SAMPLE, help, NULL)
#include "splatsmith/sample_options.def"

    /* machine */
    {"data_device", 0, NULL, STEPS | COARSE | REFINE, ADVANCED(MACHINE), CHOICE(training.data_device, "cuda|cpu"),
     "on a GPU: keep training photos in its memory if they fit easily (cuda), or upload one a step (cpu)", NULL},
    {"backend", 0, NULL, WORK, BASIC(MACHINE), CHOICE(machine.context.backend, "auto|cpu|cuda"),
     "where to compute", "auto"},
    {"gpu", 0, NULL, WORK, BASIC(MACHINE), INT(machine.context.gpu, 0, 1023), "which GPU", NULL},
    {"deterministic", 0, NULL, WORK, ADVANCED(MACHINE), FLAG(machine.context.deterministic),
     "on a GPU: the same bytes on every run, more slowly; the CPU always gives the same bytes", NULL},
    {"threads", 0, NULL, WORK | INFO | MESH_REPORT | CAMERAS, ADVANCED(MACHINE), INT(machine.context.threads, 0, 4096),
     "CPU threads; the result does not depend on it", "all"},
    {"simd", 0, NULL, WORK | INFO, ADVANCED(MACHINE), CHOICE(machine.context.simd, "auto|avx512|avx2|c"),
     "instruction set of the CPU", "auto"},

    {"gpus", 0, NULL, TRAIN | COARSE | BENCH | PLAN, STAGE(MACHINE), TEXT(machine.gpus, "N|all"),
     "train on N GPUs of this host, from --gpu on, with N photos a step (with --backend cpu: N threads; "
     "mpirun -n N: processes); pipeline: in train and coarse", NULL},

    /* view */
    {"port", 0, "viewer", VIEW, BASIC(MACHINE), INT(viewer.port, 0, 65535),
     "the port of the page; 0: any free port", "8080, or the next one that is not busy"},
    {"viewer", 0, NULL, TRAIN | COARSE | REFINE, BASIC(MACHINE), PORT(page.port, "8080"),
     "show the splat in a browser during the training, at this port (0: any free one; none: 8080 or the next "
     "free one)",
     "not shown"},
    {"sibr", 0, NULL, VIEW | TRAIN | COARSE | REFINE, ADVANCED(MACHINE), PORT(viewer.sibr_port, "6009"),
     "listen for the original network viewers (SIBR) at this port (0: any free one; none: 6009 or the next "
     "free one); everyone who reaches the port may look and hold the training",
     "not listened for"},
    {"viewer_budget", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(MACHINE), DOUBLE(page.budget, 0.1, 100),
     "percent of the training time for pictures while a client looks", NULL},
    {"viewer_stay", 0, NULL, ALONE(TRAIN | COARSE | REFINE), ADVANCED(MACHINE), FLAG(page.stay),
     "continue to show the splat after the training, until Ctrl-C",
     "True in a terminal where a page is open at the end, or none ever was; else False"},
#define SPLAT_OPTION_LINE(...) LIBRARY_LINE(viewer, __VA_ARGS__)
#include "splatsmith/viewer_options.def"

    /* monitor */
    {"pid", 'p', NULL, MONITOR, BASIC(INPUT), INT(monitor.pid, 1, INT_MAX),
     "the process to watch; without it the machine alone is shown", ""},
    {"interval", 0, NULL, MONITOR, BASIC(GENERAL), REAL(monitor.interval, 0.01, 86400),
     "seconds between two samples", NULL},
    {"csv", 0, "monitor_csv,logfile", MONITOR, BASIC(OUTPUT), TEXT(monitor.csv, "FILE"),
     "append a row for each sample to this file", ""},
    {"gpu", 0, NULL, MONITOR, BASIC(MACHINE), INT(machine.context.gpu, 0, 1023),
     "which GPU, in the order of nvidia-smi", NULL},
    {"monitor_csv", 0, NULL, TRAIN | COARSE | REFINE, ADVANCED(OUTPUT), TEXT(run.monitor_csv, "FILE"),
     "append a row a second with the state of GPU and host to this file", ""},

    /* general */
    {"quiet", 'q', NULL, TALKING, BASIC(GENERAL), FLAG(general.quiet), "print nothing but errors", NULL},
    {"reference", 0, "ground_truth", MESH_REPORT, BASIC(INPUT), TEXT(mesh_report.options.reference, "FILE"),
     "the true surface, a mesh or points ({meshes read}): measure distances to it and from it", ""},
    {"reference_points", 0, NULL, MESH_REPORT, BASIC(INPUT), TEXT(mesh_report.options.reference_points, "FILE"),
     "points of the true surface for completeness, in all and for each value of a property subset", ""},
    {"reference_margin", 0, NULL, MESH_REPORT, ADVANCED(INPUT), DOUBLE(mesh_report.options.reference_margin, -1, 1e6),
     "compare the mesh inside the reference's box, grown on every side by this part of its diagonal; -1: all "
     "of the mesh", NULL},
    {"scan", 0, NULL, MESH_REPORT, BASIC(GENERAL), FLAG(mesh_report.options.scan),
     "scan mesh and reference from near the photos (sparse/0 next to the reference): invented surface, holes", NULL},
    {"samples", 0, NULL, MESH_REPORT, BASIC(GENERAL), COUNT(mesh_report.options.n_samples, 1, 1e9),
     "points drawn on the surfaces for the distances", NULL},
    {"seed", 0, NULL, MESH_REPORT, BASIC(GENERAL), SEED(mesh_report.options.seed), "of those points", NULL},
    {"thresholds", 0, NULL, MESH_REPORT, BASIC(GENERAL), TEXT(mesh_report.thresholds, "X,..."),
     "distances, in scene units, for precision, completeness and F-score; at most 8",
     "0.005,0.01,0.02,0.05 where points have subsets, else 0.25, 0.5, 1 and 2 % of the reference's diagonal"},
    {"json", 0, NULL, MESH_REPORT, BASIC(OUTPUT), TEXT(mesh_report.json, "FILE"), "write the figures as JSON", ""},
    {"tensorboard", 0, NULL, MESH_REPORT, BASIC(OUTPUT), TEXT(mesh_report.tensorboard, "FOLDER"),
     "add the figures to this folder of TensorBoard events, as Mesh/...", ""},
    {"step", 0, NULL, MESH_REPORT, ADVANCED(OUTPUT), INT(mesh_report.step, 0, INT_MAX),
     "the step of those events", NULL},
    {"help", 'h', NULL, ALL, BASIC(GENERAL), HELP(general.help),
     "print this help; all: with every option", ""},

    /* options of other trainers that scripts pass along */
    {"antialiasing", 0, NULL, TRAIN, IGNORED_FLAG, "the Mip filters are always on", NULL},
    {"antialiasing", 0, NULL, MODEL | EXPORT, IGNORED_FLAG,
     "the model's file has the mode; see --render_mode", NULL},
    {"ray_jitter", 0, NULL, MODEL | EXPORT, IGNORED_FLAG, "only training samples inside pixels", NULL},
    {"resample_gt_image", 0, NULL, MODEL | EXPORT, IGNORED_FLAG, "only training samples inside pixels", NULL},
    {"sample_more_highres", 0, NULL, MODEL | EXPORT, IGNORED_FLAG, "only training chooses views", NULL},
    {"batch_views", 0, NULL, TRAIN | COARSE, IGNORED_FLAG, "several GPUs or processes always have a photo each", NULL},
    {"split_views", 0, NULL, TRAIN | COARSE | BENCH, IGNORED_FLAG,
     "several GPUs or processes always have a photo each", NULL},
    {"center_bbox", 0, NULL, MESH, IGNORED_FLAG, "without --bboxmin and --bboxmax the mesh is that of the whole scene",
     NULL},
    {"background", 0, NULL, MESH, IGNORED_FLAG,
     "the mesh is that of the whole scene, or ends at --bboxmin and --bboxmax", NULL},
    {"optimizer_type", 0, NULL, TRAIN, ADVANCED(IGNORED), CHOICE(general.ignored_text, "default"),
     "Adam is the only one", NULL},
    {"kernel_size", 'k', NULL, EXPORT, IGNORED_TEXT("X"), "the splat's file has its 3D filter", NULL},
    {"white_background", 'w', NULL, EXPORT, IGNORED_FLAG, "a splat is exported without its scene", NULL},
    {"high_dram", 0, NULL, STEPS | MODEL | COARSE | REFINE, IGNORED_FLAG,
     "--image_cache_gb limits the memory of photos", NULL},
    {"binary_search_iterations", 0, NULL, TRAIN, IGNORED_TEXT("N"),
     "--target_gaussian_count is met exactly, without a search", NULL},
    {"binary_search_max", 0, NULL, TRAIN, IGNORED_TEXT("X"), "--target_gaussian_count is met exactly, without a search",
     NULL},
    {"binary_search_min", 0, NULL, TRAIN, IGNORED_TEXT("X"), "--target_gaussian_count is met exactly, without a search",
     NULL},
    {"compute_cov3D_python", 0, NULL, TRAIN | MODEL | EXPORT, IGNORED_FLAG,
     "there is one implementation of covariances", NULL},
    {"convert_SHs_python", 0, NULL, TRAIN | MODEL | EXPORT, IGNORED_FLAG,
     "there is one implementation of colours", NULL},
    {"data_device", 0, NULL, MODEL | EXPORT, IGNORED_TEXT("DEVICE"), "one photo at a time is on the device", NULL},
    {"debug", 0, NULL, TRAIN | MODEL | EXPORT | COARSE, IGNORED_FLAG, "errors are always checked and reported", NULL},
    {"debug_from", 0, NULL, TRAIN | COARSE, IGNORED_TEXT("N"), "errors are always checked and reported", NULL},
    {"detect_anomaly", 0, NULL, TRAIN | COARSE, IGNORED_FLAG,
     "NaN and infinity always stop the training with an error", NULL},
    {"disable_viewer", 0, NULL, TRAIN, IGNORED_FLAG, "viewers are off unless --viewer or --sibr asks for them", NULL},
    {"position_lr_delay_mult", 0, NULL, STEPS | COARSE | REFINE, IGNORED_TEXT("X"),
     "the rate of the means has no delayed start", NULL},
    {"ip", 0, NULL, TRAIN, IGNORED_TEXT("ADDRESS"), "for SIBR's network viewer: --sibr_host", NULL},
    {"port", 0, NULL, TRAIN, IGNORED_TEXT("N"), "for SIBR's network viewer, which --sibr listens for", NULL},
};

/* The range of a field of the library's structs, from its line. */
static splat_line_range shared_range(size_t offset)
{
    static const struct { size_t offset; splat_line_range range; } shared[] = {
#define LIMITS_RANGE(low, high) {low, high, false}
#define LIMITS_OR_ZERO(low, high) {low, high, true}
#define LIMITS_FREE {0, 0, false}
#define SPLAT_OPTION(field, kind, start, range, saved) {offsetof(splat_line_parts, scene.field), LIMITS_##range},
#include "splatsmith/scene_options.def"
#define SPLAT_OPTION(field, kind, start, other, range) {offsetof(splat_line_parts, sample.field), LIMITS_##range},
#include "splatsmith/sample_options.def"
#define SPLAT_TRAIN_OPTION(row, name, field, kind, start, low, high, effect, other)                                    \
    {offsetof(splat_line_parts, train.field), {low, high, false}},
#include "splatsmith/train_options.def"
#define SPLAT_OPTION(field, kind, start, range) {offsetof(splat_line_parts, mesh.field), LIMITS_##range},
#include "splatsmith/mesh_options.def"
#define SPLAT_OPTION(field, kind, start, range) {offsetof(splat_line_parts, texture.field), LIMITS_##range},
#include "splatsmith/texture_options.def"
#define SPLAT_OPTION(field, kind, start, range) {offsetof(splat_line_parts, clean.field), LIMITS_##range},
#include "splatsmith/clean_options.def"
#define SPLAT_OPTION(field, kind, start, range) {offsetof(splat_line_parts, cameras.field), LIMITS_##range},
#include "splatsmith/cameras_options.def"
#define SPLAT_OPTION(field, kind, start, range) {offsetof(splat_line_parts, viewer.field), LIMITS_##range},
#include "splatsmith/viewer_options.def"
    };
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        if (shared[i].offset == offset) return shared[i].range;
    return (splat_line_range){0, 0, false};
}

splat_line_range splat_line_option_range(const splat_line_option *option)
{
    if (option->low > option->high) return shared_range(option->offset);
    return (splat_line_range){option->low, option->high, false};
}

const size_t splat_line_n_options = sizeof splat_line_options / sizeof splat_line_options[0];
_Static_assert(sizeof splat_line_options / sizeof splat_line_options[0] <= SPLAT_LINE_OPTIONS_MAX,
               "splat_line.given is too small");
