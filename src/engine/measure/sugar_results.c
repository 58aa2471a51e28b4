/* SuGaR's results_<method>..._normal....json, by what its names of folders and meshes say. */
#include "measure/sugar_results.h"

#include "base/file.h"
#include "io/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of a name such as sugarmesh_3Dgs7000_densityestim02_sdfnorm02_level03_decim1000000, or sugarfine_... */
typedef struct sugar_name {
    char method[32], factor[16], normal[16], level[16], vertices[24];
    const char *surface; /* "", "_poissoncenter", "_marchingcubes" */
} sugar_name;

/* Copies the text after `prefix` in a word of a name. False if the word has another beginning, or the text is empty or
 * too long. */
static bool take_after(const char *word, size_t length, const char *prefix, char *text, size_t size)
{
    size_t n = strlen(prefix);
    if (length <= n || length - n >= size || strncmp(word, prefix, n) != 0) return false;
    snprintf(text, size, "%.*s", (int)(length - n), word + n);
    return true;
}

/* "densityestim02" */
static void take_method(sugar_name *name, const char *word, size_t length)
{
    static const char *const methods[] = {"density", "sdf", "dnconsistency", "multiview"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        char prefix[40];
        snprintf(prefix, sizeof prefix, "%sestim", methods[i]);
        if (take_after(word, length, prefix, name->factor, sizeof name->factor))
            snprintf(name->method, sizeof name->method, "%s", methods[i]);
    }
}

static bool is_word(const char *word, size_t length, const char *expected)
{
    return strlen(expected) == length && strncmp(word, expected, length) == 0;
}

/* False for a name that is not of a mesh of SuGaR's coarse training. */
static bool read_name(const char *path, sugar_name *name)
{
    const char *word = splat_basename(path);
    *name = (sugar_name){.surface = ""};
    if (strncmp(word, "sugarmesh_", 10) != 0 && strncmp(word, "sugarfine_", 10) != 0) return false;
    while (*word) {
        size_t length = strcspn(word, "_./");
        take_method(name, word, length);
        take_after(word, length, "sdfnorm", name->normal, sizeof name->normal);
        take_after(word, length, "level", name->level, sizeof name->level);
        take_after(word, length, "decim", name->vertices, sizeof name->vertices);
        if (is_word(word, length, "poissoncenters")) name->surface = "_poissoncenter";
        if (is_word(word, length, "marchingcubes")) name->surface = "_marchingcubes";
        word += length;
        word += *word != 0;
    }
    if (strcmp(name->surface, "_poissoncenter") == 0) snprintf(name->level, sizeof name->level, "0"); /* has none */
    return name->method[0] && name->normal[0] && name->level[0] && name->vertices[0];
}

/* JSON has no infinity and no NaN: null. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *metrics_json(const splat_metrics *metrics)
{
    json_t *object = json_object();
    bool good = object && json_object_set_new(object, "n_views", json_integer((json_int_t)metrics->n_views)) == 0 &&
                json_object_set_new(object, "ssim", number(metrics->ssim)) == 0 &&
                json_object_set_new(object, "psnr", number(metrics->psnr)) == 0;
    if (metrics->lpips_net) good = good && json_object_set_new(object, "lpips", number(metrics->lpips)) == 0;
    if (good) return object;
    json_decref(object);
    return NULL;
}

/* root[scene][key] = value, which is taken over; the rest stays. */
static bool put(json_t *root, const char *scene, const char *key, json_t *value)
{
    json_t *of_scene = json_object_get(root, scene);
    if (!json_is_object(of_scene)) {
        of_scene = json_object();
        if (json_object_set_new(root, scene, of_scene) != 0) {
            json_decref(value);
            return false;
        }
    }
    return json_object_set_new(of_scene, key, value) == 0;
}

/* Figures of more views stay, as in results.json. */
static bool has_more_views(json_t *root, const char *scene, const char *key, size_t n)
{
    const json_t *entry = json_object_get(json_object_get(root, scene), key);
    return json_integer_value(json_object_get(entry, "n_views")) > (json_int_t)n;
}

static splat_status merge(const char *path, const char *scene, const char *key, const splat_metrics *metrics,
                          splat_error *error)
{
    json_t *root = NULL;
    char *text = NULL;
    splat_status status = SPLAT_OK;
    if (splat_path_exists(path)) {
        status = splat_json_read(path, &root, error);
        if (status == SPLAT_OK && !json_is_object(root))
            status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                   "the results of other scenes cannot be kept: this is not a JSON object");
    } else {
        root = json_object();
    }
    if (status == SPLAT_OK && !has_more_views(root, scene, key, metrics->n_views)) {
        if (put(root, scene, key, metrics_json(metrics)))
            text = splat_json_print(root, JSON_INDENT(4) | JSON_REAL_PRECISION(17));
        status = text ? splat_file_write(path, text, strlen(text), error)
                      : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %s", path);
    }
    json_decref(root);
    free(text);
    return status;
}

/* The last part of a path that may end with slashes. */
static char *last_part(const char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    char *whole = splat_format("%.*s", (int)length, path);
    char *name = whole ? splat_format("%s", splat_basename(whole)) : NULL;
    free(whole);
    return name;
}

splat_status splat_sugar_results_write(const char *folder, const char *name, const char *variant,
                                       const char *scene_path, int refinement_iterations,
                                       const splat_metrics *metrics, bool *written, splat_error *error)
{
    sugar_name parts;
    char *last = last_part(name), key[96];
    *written = false;
    bool is_sugar = last && read_name(last, &parts);
    bool had_name = last != NULL;
    free(last);
    if (had_name && !is_sugar) return SPLAT_OK;
    char *scene = last_part(scene_path), *path = NULL;
    if (is_sugar)
        path = splat_format("%s/results_%s%s_normal%s%s%s%s.json", folder, parts.method, parts.factor, parts.normal,
                            variant && *variant ? "_" : "", variant ? variant : "", parts.surface);
    splat_status status = SPLAT_OK;
    if (!scene || !path) status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    if (status == SPLAT_OK) {
        snprintf(key, sizeof key, "sugar_%s_%s_%d", parts.level, parts.vertices, refinement_iterations);
        status = merge(path, scene, key, metrics, error);
    }
    *written = status == SPLAT_OK;
    free(scene);
    free(path);
    return status;
}
