/* The names of other programs are tables: a name, and the sentence that answers it. */
#include "hints.h"
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct hint {
    const char *name, *text; /* as typed, with underscores */
} hint;

#define TEXTURE "it belongs to 'splatsmith texture'"
#define REFINEMENT "it belongs to 'splatsmith refine'"
#define TRAIN_COMMAND "type 'splatsmith train -s SCENE -m MODEL'"
#define CAMERAS_COMMAND "type 'splatsmith cameras PHOTOS -o SCENE'"
#define VIEW_COMMAND "type 'splatsmith view MODEL'"
#define EXPOSURE "'--exposure' of train finds the exposure of each photo"

/* Programs and scripts of 3DGS, Mip-Splatting, gsplat, nerfstudio and SuGaR. Their endings (.py) are left out. */
static const hint commands[] = {
    {"train", TRAIN_COMMAND "; -s, -m, -r, -i, -w, --eval and --iterations mean the same"},
    {"render", "type 'splatsmith render -m MODEL'"},
    {"metrics", "'splatsmith eval' measures the test views and writes results.json; type 'splatsmith eval -m MODEL'"},
    {"full_eval", "'splatsmith eval' measures model folders; type 'splatsmith eval -m MODEL MODEL'"},
    {"create_fused_ply", "'splatsmith export' does it"},
    {"convert", CAMERAS_COMMAND "; train and pipeline take photos alone, too"},
    {"colmap", CAMERAS_COMMAND ", which runs COLMAP; train and pipeline take photos alone, too"},
    {"gaussian_splatting", TRAIN_COMMAND},
    {"gsplat", TRAIN_COMMAND},
    {"ns_train", TRAIN_COMMAND},
    {"ns_process_data", CAMERAS_COMMAND "; PHOTOS may be a video"},
    {"ns_export", "type 'splatsmith export -m MODEL -o splat.ply'"},
    {"ns_viewer", VIEW_COMMAND},
    {"ns_eval", "type 'splatsmith eval -m MODEL'"},
    {"ns_render", "type 'splatsmith render -m MODEL'"},
    {"train_full_pipeline", "'splatsmith pipeline' does it"},
    {"train_coarse_density", "'splatsmith coarse -r density' does it"},
    {"train_coarse_sdf", "'splatsmith coarse -r sdf' does it"},
    {"train_coarse_dn_consistency", "'splatsmith coarse -r dn_consistency' does it"},
    {"extract_mesh", "'splatsmith mesh' does it"},
    {"simple_trainer", "'splatsmith train' does it"},
    {"benchmark_training", "'splatsmith bench run' does it"},
    {"compare_benchmarks", "'splatsmith bench compare' does it"},
    {"analyze_tensor_profile", "'splatsmith profile' does it"},
    {"monitor_vram", "'splatsmith monitor' does it"},
    {"monitor_vram_v2", "'splatsmith monitor' does it"},
    {"convert_blender_data", "'splatsmith train' reads the Blender scenes of NeRF as they are; --load_allres reads the "
                             "multi-scale ones"},
    {"train_refined", "'splatsmith refine' does it"},
    {"refined_mesh", "'splatsmith texture' does it"},
    {"extract_refined_mesh_with_texture", "'splatsmith texture' does it"},
    {"viewer", "'splatsmith view' shows a splat in a browser, and train --viewer while it is trained"},
    {"run_viewer", "'splatsmith view' shows a splat in a browser, and train --viewer while it is trained"},
};

/* Options of SuGaR's second half, then of 3DGS, gsplat and others. */
static const hint options[] = {
    {"gaussians_per_triangle", REFINEMENT},
    {"n_gaussians_per_surface_triangle", REFINEMENT},
    {"refinement_iterations", REFINEMENT},
    {"normal_consistency_factor", REFINEMENT},
    {"square_size", TEXTURE},
    {"postprocess_mesh", TEXTURE},
    {"postprocess_density_threshold", TEXTURE},
    {"postprocess_iterations", TEXTURE},
    {"train_test_exp", EXPOSURE},
    {"app_opt", EXPOSURE},
    {"use_bilateral_grid", EXPOSURE},
    {"depth_loss", "'--sfm_depth' of train trains on the depth of the model's points"},
    {"pose_opt", "cameras stay as the scene has them in this version"},
    {"max_resolution", "'--resolution' takes a width"},
    {"alpha_mode", "'--mask_mode' says what the alpha of photos is"},
    {"help_all", "'--help all' shows every option"},
    {"compare", "'splatsmith bench compare BASELINE CANDIDATE' does it"},
};

static const char *find(const hint *hints, size_t n, const char *name, size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(hints[i].name) == length && strncmp(hints[i].name, name, length) == 0) return hints[i].text;
    return NULL;
}

const char *cli_command_hint(const char *name)
{
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".py") == 0) length -= 3;
    return find(commands, sizeof commands / sizeof commands[0], name, length);
}

static bool has_ending(const char *path, bool (*get_format)(size_t index, splat_file_format *format))
{
    const char *dot = strrchr(path, '.');
    splat_file_format format;
    for (size_t i = 0; dot && get_format(i, &format); i++)
        if (strcasecmp(dot, format.ending) == 0) return true;
    return false;
}

const char *cli_path_hint(const char *path, char *text, size_t size)
{
    bool is_path = strchr(path, '/') || strchr(path, '.');
    if (strlen(path) >= CLI_PATH_MAX - 64) return NULL;
    if (!cli_path_exists(path)) return is_path ? "it is no command, and there is no such file or folder" : NULL;
    char *word = cli_command_text((char *[]){(char *)(uintptr_t)path, NULL}); /* as a shell takes it */
    if (!word) return NULL;
    bool is_file = has_ending(path, splat_model_get_format) || has_ending(path, splat_mesh_get_format);
    if (is_file || splat_stage_is_model_folder(path))
        snprintf(text, size, "a command comes first: 'splatsmith view %s' shows it", word);
    else
        snprintf(text, size, "a command comes first: 'splatsmith train -s %s -m MODEL' makes a splat of it, "
                 "'splatsmith pipeline -s %s -o FOLDER' a textured mesh, too", word, word);
    free(word);
    return text;
}

/* SuGaR's letters -c and -r, which other commands have here. */
static const hint letters_of_train[] = {
    {"c", "train starts from photos; 'splatsmith coarse -c MODEL' goes on from a splat, and 'splatsmith pipeline' runs "
          "all stages"},
};

const char *cli_option_hint(const splat_line_command *command, const char *name)
{
    bool is_letter = name[0] && !name[1]; /* means something else elsewhere */
    if (is_letter && strcmp(command->name, "train") == 0)
        return find(letters_of_train, sizeof letters_of_train / sizeof letters_of_train[0], name, 1);
    if (is_letter && strcmp(command->name, "pipeline") != 0) return NULL;
    return find(options, sizeof options / sizeof options[0], name, strlen(name));
}

const splat_line_option *cli_number_option(const splat_line_command *command, const splat_line_option *option,
                                           const char *value)
{
    bool is_number = value && *value && strspn(value, "0123456789") == strlen(value);
    if (value && *value == '-') is_number = value[1] && strspn(value + 1, "0123456789") == strlen(value + 1);
    if (option->letter != 'r' || option->kind != SPLAT_LINE_CHOICE || !is_number) return option;
    for (size_t i = 0; i < splat_line_n_options; i++)
        if ((splat_line_options[i].commands & command->bit) && strcmp(splat_line_options[i].name, "resolution") == 0)
            return &splat_line_options[i];
    return option;
}

/* -r is a size in 'train', and the regularization in the others, as in SuGaR. */
const char *cli_value_hint(const splat_line_option *option, const char *value)
{
    static const char *const modes[] = {"density", "sdf", "dn_consistency", "multiview"};
    bool is_size = *value == '-' || (*value >= '0' && *value <= '9');
    if (option->letter != 'r') return NULL;
    if (option->kind == SPLAT_LINE_CHOICE) return is_size ? "the size of the pictures is --resolution here" : NULL;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(value, modes[i]) == 0)
            return "-r names the regularization in 'splatsmith coarse' and 'splatsmith pipeline'";
    return NULL;
}

const char *cli_word_hint(const splat_line_command *command, const char *word)
{
    char config[CLI_PATH_MAX];
    if (!cli_path_exists(word)) return NULL;
    bool is_model =
        snprintf(config, sizeof config, "%s/cfg_args", word) < (int)sizeof config && cli_path_exists(config);
    bool takes_scene = false, takes_model = false;
    for (size_t i = 0; i < splat_line_n_options; i++) {
        if (!(splat_line_options[i].commands & command->bit)) continue;
        takes_scene = takes_scene || splat_line_options[i].letter == 's';
        takes_model = takes_model ||
                      (splat_line_options[i].letter == 'm' && splat_line_options[i].group == SPLAT_LINE_GROUP_INPUT);
    }
    if (is_model && takes_model) return "-m";
    return takes_scene ? "-s" : NULL;
}
