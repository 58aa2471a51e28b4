/* What users of other programs type: which command or option does it here, or that nothing does. */
#include "cli.h"

#include <string.h>

typedef struct hint {
    const char *name, *text; /* as typed, with underscores */
} hint;

#define REFINEMENT "refinement and texture are not part of this version; the last stage is the mesh"

/* Scripts of 3DGS, Mip-Splatting, gsplat and SuGaR. Their endings (.py) are left out. */
static const hint commands[] = {
    {"metrics", "'splatsmith eval' measures the test views and writes results.json"},
    {"full_eval", "'splatsmith eval' measures model folders"},
    {"create_fused_ply", "'splatsmith export' does it"},
    {"convert", "photos alone need COLMAP first: its feature_extractor, matcher, mapper and image_undistorter"},
    {"train_full_pipeline", "'splatsmith pipeline' does it"},
    {"train_coarse_density", "'splatsmith coarse -r density' does it"},
    {"train_coarse_sdf", "'splatsmith coarse -r sdf' does it"},
    {"train_coarse_dn_consistency", "'splatsmith coarse -r dn_consistency' does it"},
    {"extract_mesh", "'splatsmith mesh' does it"},
    {"simple_trainer", "'splatsmith train' does it"},
    {"train_refined", REFINEMENT},
    {"refine", REFINEMENT},
    {"refined_mesh", REFINEMENT},
    {"extract_refined_mesh_with_texture", REFINEMENT},
    {"texture", REFINEMENT},
    {"view", "there is no viewer; 'splatsmith export' writes a PLY for those that exist"},
    {"viewer", "there is no viewer; 'splatsmith export' writes a PLY for those that exist"},
    {"run_viewer", "there is no viewer; 'splatsmith export' writes a PLY for those that exist"},
};

/* Of SuGaR's second half, then of 3DGS, gsplat and others. */
static const hint options[] = {
    {"g", REFINEMENT},
    {"f", REFINEMENT},
    {"gaussians_per_triangle", REFINEMENT},
    {"n_gaussians_per_surface_triangle", REFINEMENT},
    {"refinement_iterations", REFINEMENT},
    {"normal_consistency_factor", REFINEMENT},
    {"square_size", REFINEMENT},
    {"postprocess_mesh", REFINEMENT},
    {"postprocess_density_threshold", REFINEMENT},
    {"postprocess_iterations", REFINEMENT},
    {"depths", "depth supervision is not part of this version"},
    {"depth_l1_weight_init", "depth supervision is not part of this version"},
    {"depth_l1_weight_final", "depth supervision is not part of this version"},
    {"train_test_exp", "exposure compensation is not part of this version"},
    {"masks", "masks are not part of this version; photos with alpha are laid on the background"},
    {"optimizer_type", "there is one optimizer, Adam; leave the option away"},
    {"strategy", "there is one way to densify; --target_gaussian_count caps the number of Gaussians"},
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

const char *cli_option_hint(const cli_command *command, const char *name)
{
    bool is_letter = name[0] && !name[1]; /* means something else elsewhere */
    if (is_letter && strcmp(command->name, "pipeline") != 0) return NULL;
    return find(options, sizeof options / sizeof options[0], name, strlen(name));
}

/* -r is a size in 'train', and the regularization in the others, as in SuGaR. */
const char *cli_value_hint(const cli_option *option, const char *value)
{
    bool is_size = *value == '-' || (*value >= '0' && *value <= '9');
    return option->letter == 'r' && is_size ? "the size of the pictures is --resolution here" : NULL;
}
