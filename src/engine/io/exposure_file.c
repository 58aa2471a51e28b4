/* exposure.json, written and read. */
#include "io/exposure_file.h"

#include "base/file.h"
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- writing */

static json_t *triple_json(const double values[3])
{
    return json_pack("[f, f, f]", values[0], values[1], values[2]);
}

static json_t *file_json(const splat_exposures *e)
{
    json_t *photos = json_object(), *cameras = json_object();
    char id[24];
    for (size_t i = 0; i < e->n_photos; i++) {
        const splat_photo_exposure *photo = &e->photos[i];
        snprintf(id, sizeof id, "%u", photo->camera);
        json_t *name = splat_json_text(photo->name); /* UTF-8 */
        splat_json_set(&photos, name ? json_string_value(name) : "",
                       name ? json_pack("{s:f, s:o, s:s}", "ev", photo->ev, "gain", triple_json(photo->gain), "camera",
                                        id) : NULL);
        json_decref(name);
    }
    for (size_t i = 0; i < e->n_cameras; i++) {
        snprintf(id, sizeof id, "%zu", i);
        splat_json_set(&cameras, id, triple_json(e->cameras[i]));
    }
    if (photos && cameras) return json_pack("{s:o, s:o}", "photos", photos, "cameras", cameras);
    json_decref(photos);
    json_decref(cameras);
    return NULL;
}

splat_status splat_exposures_write(const char *path, const splat_exposures *exposures, splat_error *error)
{
    json_t *root = file_json(exposures);
    char *text = splat_json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    splat_status status = text ? splat_file_write(path, text, strlen(text), error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    json_decref(root);
    free(text);
    return status;
}

/* ---------------------------------------------------------------- reading */

static splat_status wrong(const char *path, const char *name, const char *what, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "'%.200s' %s: train the splat again, or "
                         "delete the file", name, what);
}

#define MOST_STOPS 100 /* of a photo: of what floats hold, and of the gains that are taken */
#define MOST_VIGNETTING 1e6

static bool get_triple(const json_t *value, double triple[3])
{
    for (size_t k = 0; k < 3; k++) {
        const json_t *item = json_array_get(value, k);
        triple[k] = json_number_value(item);
        if (!json_is_number(item) || !isfinite(triple[k])) return false;
    }
    return json_array_size(value) == 3;
}

/* Cameras stand in the order in which the file has them; a photo names one by its key. */
static bool find_camera(json_t *cameras, const char *id, uint32_t *camera)
{
    const char *key;
    json_t *value;
    *camera = 0;
    json_object_foreach(cameras, key, value)
    {
        if (id && strcmp(key, id) == 0) return true;
        ++*camera;
    }
    return false;
}

static splat_status read_cameras(const char *path, json_t *cameras, splat_exposures *e, splat_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach(cameras, key, value)
    {
        double *camera = e->cameras[e->n_cameras++];
        bool good = get_triple(value, camera);
        for (int k = 0; k < 3; k++) good = good && fabs(camera[k]) <= MOST_VIGNETTING;
        if (!good) return wrong(path, key, "is a camera without three numbers from -1e6 to 1e6", error);
    }
    return SPLAT_OK;
}

static splat_status read_photos(const char *path, json_t *photos, json_t *cameras, splat_exposures *e,
                                splat_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach(photos, key, value)
    {
        splat_photo_exposure *photo = &e->photos[e->n_photos];
        const json_t *ev = json_object_get(value, "ev");
        photo->ev = json_number_value(ev);
        bool good = json_is_number(ev) && fabs(photo->ev) <= MOST_STOPS &&
                    get_triple(json_object_get(value, "gain"), photo->gain);
        for (int k = 0; k < 3; k++) good = good && photo->gain[k] > 1e-30 && photo->gain[k] < 1e30;
        if (!good) return wrong(path, key, "lacks an ev from -100 to 100 or three gains above 0", error);
        if (!find_camera(cameras, json_string_value(json_object_get(value, "camera")), &photo->camera))
            return wrong(path, key, "names no camera of the file", error);
        photo->name = strdup(key);
        if (!photo->name) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
        e->n_photos++;
    }
    return SPLAT_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const splat_photo_exposure *)a)->name, ((const splat_photo_exposure *)b)->name);
}

void splat_exposures_sort(splat_exposures *exposures)
{
    if (exposures->n_photos) qsort(exposures->photos, exposures->n_photos, sizeof *exposures->photos, compare_names);
}

splat_status splat_exposures_read(const char *path, splat_exposures *exposures, splat_error *error)
{
    json_t *root;
    *exposures = (splat_exposures){0};
    SPLAT_TRY(splat_json_read(path, &root, error));
    json_t *photos = json_object_get(root, "photos"), *cameras = json_object_get(root, "cameras");
    splat_status status = SPLAT_OK;
    if (!json_is_object(photos) || !json_is_object(cameras))
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                               "it has no photos or no cameras: it is not what train writes");
    exposures->photos = calloc(json_object_size(photos) + 1, sizeof *exposures->photos);
    exposures->cameras = calloc(json_object_size(cameras) + 1, sizeof *exposures->cameras);
    if (status == SPLAT_OK && (!exposures->photos || !exposures->cameras))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the photos' exposures");
    if (status == SPLAT_OK) status = read_cameras(path, cameras, exposures, error);
    if (status == SPLAT_OK) status = read_photos(path, photos, cameras, exposures, error);
    json_decref(root);
    if (status == SPLAT_OK)
        splat_exposures_sort(exposures);
    else
        splat_exposures_file_free(exposures);
    return status;
}

const splat_photo_exposure *splat_exposures_find(const splat_exposures *exposures, const char *name)
{
    const splat_photo_exposure wanted = {.name = (char *)name};
    return exposures->n_photos ? bsearch(&wanted, exposures->photos, exposures->n_photos, sizeof wanted, compare_names)
                               : NULL;
}

void splat_exposures_file_free(splat_exposures *exposures)
{
    for (size_t i = 0; i < exposures->n_photos; i++) free(exposures->photos[i].name);
    free(exposures->photos);
    free(exposures->cameras);
    *exposures = (splat_exposures){0};
}
