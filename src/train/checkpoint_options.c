/* The options of a run by name, for a checkpoint's header and for the list of what changed since it was written. */
#include "train/checkpoint.h"

#include "io/number.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { KIND_INT, KIND_BOOL, KIND_FLOAT, KIND_U64, KIND_SH, KIND_OPTIMIZER, KIND_LOSS, KIND_TEXT } kind;

typedef struct option {
    const char *name;
    kind kind;
    size_t offset;
} option;

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are stored as 64 bits");
_Static_assert(sizeof(splat_sh_storage) == sizeof(int) && sizeof(splat_optimizer_storage) == sizeof(int) &&
                   sizeof(splat_regularization) == sizeof(int),
               "choices are read as int");

#define OPTION(name, kind) {#name, kind, offsetof(splat_train_options, name)}
#define COARSE(name, kind) {#name, kind, offsetof(splat_train_options, coarse.name)}
static const option train_options[] = {
    OPTION(iterations, KIND_INT),
    OPTION(sh_degree, KIND_INT),
    OPTION(white_background, KIND_BOOL),
    OPTION(random_background, KIND_BOOL),
    OPTION(kernel_size, KIND_FLOAT),
    OPTION(ray_jitter, KIND_BOOL),
    OPTION(resample_gt_image, KIND_BOOL),
    OPTION(photos_on_host, KIND_BOOL),
    OPTION(sample_more_highres, KIND_BOOL),
    OPTION(position_lr_init, KIND_FLOAT),
    OPTION(position_lr_final, KIND_FLOAT),
    OPTION(position_lr_delay_mult, KIND_FLOAT),
    OPTION(position_lr_max_steps, KIND_INT),
    OPTION(feature_lr, KIND_FLOAT),
    OPTION(opacity_lr, KIND_FLOAT),
    OPTION(scaling_lr, KIND_FLOAT),
    OPTION(rotation_lr, KIND_FLOAT),
    OPTION(lambda_dssim, KIND_FLOAT),
    OPTION(percent_dense, KIND_FLOAT),
    OPTION(densification_interval, KIND_INT),
    OPTION(opacity_reset_interval, KIND_INT),
    OPTION(densify_from_iter, KIND_INT),
    OPTION(densify_until_iter, KIND_INT),
    OPTION(densify_grad_threshold, KIND_FLOAT),
    OPTION(min_opacity_threshold, KIND_FLOAT),
    OPTION(target_gaussian_count, KIND_U64),
    OPTION(seed, KIND_U64),
    OPTION(sh_storage, KIND_SH),
    OPTION(optimizer_storage, KIND_OPTIMIZER),
    OPTION(sh_offload, KIND_BOOL),
    OPTION(max_instances, KIND_U64),
    OPTION(max_gaussians, KIND_U64),
    COARSE(regularization, KIND_LOSS),
    COARSE(first_iteration, KIND_INT),
    COARSE(regularize_after, KIND_INT),
    COARSE(entropy_factor, KIND_FLOAT),
    COARSE(prune_opacity, KIND_FLOAT),
    COARSE(estimation_factor, KIND_FLOAT),
    COARSE(normal_factor, KIND_FLOAT),
    COARSE(dn_factor, KIND_FLOAT),
    COARSE(n_samples, KIND_U64),
    COARSE(neighbor_interval, KIND_INT),
    COARSE(full_res_normals, KIND_BOOL),
};
#undef OPTION

#define OPTION(name, kind) {#name, kind, offsetof(splat_scene_options, name)}
static const option scene_options[] = {
    OPTION(source_path, KIND_TEXT), OPTION(images, KIND_TEXT),   OPTION(resolution, KIND_INT),
    OPTION(eval, KIND_BOOL),        OPTION(llffhold, KIND_INT),  OPTION(test_camera_count, KIND_INT),
    OPTION(load_allres, KIND_BOOL),
};
#undef OPTION

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *const losses[] = {"none", "density", "sdf", "dn_consistency"}; /* by splat_regularization */

/* A value in words, as the command line takes it. */
static void describe(const option *o, const void *options, char *text, size_t size)
{
    char number[32];
    const void *at = (const char *)options + o->offset;
    switch (o->kind) {
    case KIND_INT: snprintf(text, size, "%d", *(const int *)at); break;
    case KIND_BOOL: snprintf(text, size, "%s", *(const bool *)at ? "True" : "False"); break;
    case KIND_FLOAT: snprintf(text, size, "%s", splat_number_format(number, *(const float *)at)); break;
    case KIND_U64: snprintf(text, size, "%" PRIu64, *(const uint64_t *)at); break;
    case KIND_SH: snprintf(text, size, "%s", *(const int *)at == SPLAT_SH_FLOAT16 ? "float16" : "float32"); break;
    case KIND_OPTIMIZER:
        snprintf(text, size, "%s", *(const int *)at == SPLAT_OPTIMIZER_QUANTIZED ? "quantized" : "float32");
        break;
    case KIND_LOSS: snprintf(text, size, "%s", losses[*(const int *)at]); break;
    case KIND_TEXT: snprintf(text, size, "%s", *(char *const *)at ? *(char *const *)at : ""); break;
    }
    for (char *c = text; o->kind == KIND_TEXT && *c; c++)
        if ((unsigned char)*c >= 0x80 || (unsigned char)*c < 0x20) *c = '?'; /* JSON wants UTF-8; it is for reading */
}

/* Numbers and flags as such; what JSON's integers cannot hold, and words, as text. */
static json_t *value_of(const option *o, const void *options)
{
    char text[512];
    const void *at = (const char *)options + o->offset;
    if (o->kind == KIND_INT) return json_integer(*(const int *)at);
    if (o->kind == KIND_BOOL) return json_boolean(*(const bool *)at);
    describe(o, options, text, sizeof text);
    if (o->kind == KIND_FLOAT) return json_real(splat_number_parse(text, NULL)); /* 0.1, not 0.100000001 */
    if (o->kind == KIND_U64 && *(const uint64_t *)at <= INT64_MAX)
        return json_integer((json_int_t)*(const uint64_t *)at);
    return json_string(text);
}

static json_t *options_json(const option *list, size_t n, const void *options)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) json_object_set_new(object, list[i].name, value_of(&list[i], options));
    return object;
}

json_t *splat_train_options_json(const splat_train_options *options)
{
    return options_json(train_options, COUNT(train_options), options);
}

json_t *splat_scene_options_json(const splat_scene_options *options)
{
    return options_json(scene_options, COUNT(scene_options), options);
}

/* ---------------------------------------------------------------- what changed */

static void describe_old(const option *o, const json_t *value, char *text, size_t size)
{
    char number[32];
    if (json_is_boolean(value))
        snprintf(text, size, "%s", json_is_true(value) ? "True" : "False");
    else if (json_is_integer(value) && o->kind != KIND_FLOAT)
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_number(value))
        snprintf(text, size, "%s", splat_number_format(number, (float)json_number_value(value)));
    else
        snprintf(text, size, "%s", json_is_string(value) ? json_string_value(value) : "?");
}

static void tell_changes(const splat_context *context, const option *list, size_t n, const void *options,
                         const json_t *old)
{
    for (size_t i = 0; i < n; i++) {
        char before[512], now[512];
        const json_t *value = json_object_get(old, list[i].name);
        if (!value) continue; /* a version that did not have the option */
        describe_old(&list[i], value, before, sizeof before);
        describe(&list[i], options, now, sizeof now);
        if (strcmp(before, now) != 0)
            splat_log(context, SPLAT_LOG_NOTICE, "changed since the checkpoint: --%s was %s, is %s", list[i].name,
                      before, now);
    }
}

void splat_checkpoint_tell_changes(const splat_trainer *t, const json_t *header)
{
    tell_changes(t->context, train_options, COUNT(train_options), &t->options,
                 json_object_get(header, "train_options"));
    tell_changes(t->context, scene_options, COUNT(scene_options), &t->scene->options,
                 json_object_get(header, "scene_options"));
}
