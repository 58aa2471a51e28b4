/* Cameras near the photos, their rays, and what is counted. */
#include "mesh/measure/mesh_scan.h"

#include "base/compare.h"
#include "base/file.h"
#include "base/rng.h"
#include "io/colmap/colmap_read.h"
#include "math/camera.h"
#include "math/vec3.h"
#include "mesh/mesh_bvh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS = 200, WIDTH = 80, HEIGHT = 60, ENOUGH_PHOTOS = 3, DEPTHS = 12,
       MAX_ROWS = SPLAT_MESH_THRESHOLDS + SPLAT_SCAN_FOOTPRINTS };

#define MOVE 0.2          /* of the median depth, at most */
#define NEAR 4.0          /* median depths: what is farther is the background */
#define FAR_TOLERANCE 0.02 /* of the distance of a background */
#define WRONG 5.0         /* thresholds: a surface so much too near is invented, too far a hole */
#define STEEP 0.2         /* thresholds grow with 1 / cos up to here */

static const double footprints[SPLAT_SCAN_FOOTPRINTS] = {1, 2, 4};

/* ---------------------------------------------------------------- photos */

static splat_status fill_photos(const splat_colmap_model *model, const char *path, splat_scan_photo *photos,
                                splat_error *error)
{
    for (size_t i = 0; i < model->n_images; i++) {
        const splat_colmap_image *image = &model->images[i];
        const splat_colmap_camera *camera = model->cameras;
        const splat_colmap_camera *end = camera + model->n_cameras;
        while (camera < end && camera->id != image->camera_id) camera++;
        if (camera == end || !(camera->fx > 0))
            return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                                 "photo %s has no camera with a focal length; a scan needs one", image->name);
        splat_scan_photo *photo = &photos[i];
        splat_quaternion_to_rotation(image->rotation, photo->rotation);
        splat_camera_center(photo->rotation, image->translation, photo->center);
        photo->fx = camera->fx;
        photo->fy = camera->fy;
        photo->cx = camera->cx;
        photo->cy = camera->cy;
        photo->width = (double)camera->width;
        photo->height = (double)camera->height;
    }
    return SPLAT_OK;
}

splat_status splat_scan_photos_read(const char *beside, splat_scan_photo **photos, size_t *n, splat_error *error)
{
    splat_colmap_model model = {0};
    const char *slash = strrchr(beside, '/');
    char *path = splat_format("%.*ssparse/0", slash ? (int)(slash + 1 - beside) : 0, beside);
    *photos = NULL;
    if (!path) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_colmap_read(path, &model, error);
    if (status == SPLAT_OK) {
        *n = model.n_images;
        *photos = calloc(*n + 1, sizeof **photos);
        status = *photos ? fill_photos(&model, path, *photos, error)
                         : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the cameras of %zu photos", *n);
    }
    if (status != SPLAT_OK) {
        free(*photos);
        *photos = NULL;
    }
    splat_colmap_free(&model);
    free(path);
    return status;
}

/* ---------------------------------------------------------------- rays */

typedef struct scanner {
    splat_mesh_bvh mesh, truth;
    const splat_scan_photo *photos;
    size_t n_photos;
    const double *thresholds;
    size_t n_thresholds;
    double median, limit; /* limit: of what is near */
    uint64_t seed;
} scanner;

/* Length 1, through a place of the picture. */
static void make_ray(const splat_scan_photo *photo, double u, double v, double ray[3])
{
    const double at[3] = {(u - photo->cx) / photo->fx, (v - photo->cy) / photo->fy, 1};
    double length = sqrt(splat_dot3(at, at));
    const double *r = photo->rotation;
    for (int k = 0; k < 3; k++) ray[k] = (r[k] * at[0] + r[3 + k] * at[1] + r[6 + k] * at[2]) / length;
}

static bool photo_sees(const scanner *s, const splat_scan_photo *photo, const double place[3])
{
    double d[3], at[3];
    for (int k = 0; k < 3; k++) d[k] = place[k] - photo->center[k];
    for (int k = 0; k < 3; k++) at[k] = splat_dot3(photo->rotation + 3 * k, d);
    if (!(at[2] > 0)) return false;
    double u = photo->fx * at[0] / at[2] + photo->cx, v = photo->fy * at[1] / at[2] + photo->cy;
    if (!(u >= 0 && v >= 0 && u <= photo->width && v <= photo->height)) return false;
    return isinf(splat_mesh_bvh_hit(&s->truth, photo->center, d, 0.999, NULL));
}

/* True if enough photos see a place. The search begins at the photo next to the scanning camera, which probably
 * does. */
static bool is_seen(const scanner *s, size_t first, const double place[3])
{
    int n = 0;
    for (size_t i = 0; i < s->n_photos && n < ENOUGH_PHOTOS; i++)
        n += photo_sees(s, &s->photos[(first + i) % s->n_photos], place);
    return n == ENOUGH_PHOTOS;
}

/* |cos| between a ray and a face of the truth. */
static double facing(const splat_mesh *truth, uint32_t face, const double ray[3])
{
    double normal[3];
    splat_mesh_face_cross(truth, face, normal);
    double length = sqrt(splat_dot3(normal, normal));
    return length > 0 ? fabs(splat_dot3(normal, ray)) / length : 1;
}

/* The median distance of the truth from the photos; 0: no photo sees it. */
static double median_depth(const scanner *s, double *depths)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_photos; i++)
        for (int k = 0; k < DEPTHS * DEPTHS; k++) {
            const splat_scan_photo *photo = &s->photos[i];
            double ray[3];
            double u = (k % DEPTHS + 0.5) / DEPTHS, v = (k / DEPTHS + 0.5) / DEPTHS;
            make_ray(photo, u * photo->width, v * photo->height, ray);
            double t = splat_mesh_bvh_hit(&s->truth, photo->center, ray, INFINITY, NULL);
            if (isfinite(t)) depths[n++] = t;
        }
    if (n == 0) return 0;
    qsort(depths, n, sizeof *depths, splat_compare_doubles);
    return depths[n / 2];
}

/* The camera of a photo, moved at most half the way to the truth. */
static splat_scan_photo moved_photo(const scanner *s, size_t view)
{
    splat_scan_photo photo = s->photos[view % s->n_photos];
    splat_random4 words = splat_random(s->seed, SPLAT_STREAM_MESH_SAMPLES, 2, view);
    double z = 2 * (double)splat_uniform(words.x[0]) - 1, r = sqrt(fmax(0, 1 - z * z));
    double angle = 6.283185307179586 * (double)splat_uniform(words.x[1]);
    const double way[3] = {r * cos(angle), z, r * sin(angle)};
    double length = MOVE * s->median * cbrt((double)splat_uniform(words.x[2]));
    length = fmin(length, 0.5 * splat_mesh_bvh_hit(&s->truth, photo.center, way, INFINITY, NULL));
    for (int k = 0; k < 3; k++) photo.center[k] += length * way[k];
    return photo;
}

/* ---------------------------------------------------------------- counting */

typedef struct counts {
    size_t n_rays, n_near, n_seen, n_mesh, n_far, n_far_found, n_sky, n_covered;
    size_t ok[MAX_ROWS], ok_seen[MAX_ROWS], invented[MAX_ROWS], hole[MAX_ROWS];
} counts;

static double tolerance(const scanner *s, size_t row, double truth, double focal)
{
    if (row < s->n_thresholds) return s->thresholds[row];
    return isfinite(truth) ? footprints[row - s->n_thresholds] * truth / focal : 0;
}

static void count_ray(const scanner *s, size_t view, const splat_scan_photo *photo, const double ray[3], counts *c)
{
    uint32_t face = 0;
    double truth = splat_mesh_bvh_hit(&s->truth, photo->center, ray, INFINITY, &face), place[3];
    double mesh = splat_mesh_bvh_hit(&s->mesh, photo->center, ray, INFINITY, NULL);
    bool is_near = truth <= s->limit, seen = false;
    if (isfinite(truth)) {
        for (int k = 0; k < 3; k++) place[k] = photo->center[k] + truth * ray[k];
        seen = is_seen(s, view % s->n_photos, place);
    }
    c->n_rays++;
    c->n_near += is_near;
    c->n_seen += is_near && seen;
    c->n_mesh += isfinite(mesh) && (is_near || mesh <= s->limit);
    c->n_sky += isinf(truth) != 0;
    c->n_covered += isinf(truth) && isfinite(mesh);
    if (!is_near && seen) {
        c->n_far++;
        c->n_far_found += fabs(mesh - truth) < FAR_TOLERANCE * truth;
    }
    double slant = is_near ? fmax(STEEP, facing(s->truth.mesh, face, ray)) : 1;
    for (size_t row = 0; row < s->n_thresholds + SPLAT_SCAN_FOOTPRINTS; row++) {
        double tau = tolerance(s, row, truth, photo->fx);
        bool ok = is_near && fabs(mesh - truth) < tau / slant;
        c->ok[row] += ok;
        c->ok_seen[row] += ok && seen;
        c->invented[row] += mesh <= s->limit && mesh < truth - WRONG * tau;
        c->hole[row] += is_near && seen && mesh > truth + WRONG * tau;
    }
}

static void scan_view(const scanner *s, size_t view, counts *c)
{
    const splat_scan_photo photo = moved_photo(s, view);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            double ray[3];
            make_ray(&photo, (x + 0.5) / WIDTH * photo.width, (y + 0.5) / HEIGHT * photo.height, ray);
            count_ray(s, view, &photo, ray, c);
        }
}

static double share(size_t n, size_t all)
{
    return all ? (double)n / (double)all : 0;
}

static void fill_row(const counts *c, size_t row, double threshold, splat_mesh_scan_row *out)
{
    double p = share(c->ok[row], c->n_mesh), r = share(c->ok_seen[row], c->n_seen);
    *out = (splat_mesh_scan_row){.threshold = threshold, .precision = p, .recall = r,
                                 .f_score = p + r > 0 ? 2 * p * r / (p + r) : 0,
                                 .invented = share(c->invented[row], c->n_rays),
                                 .hole = share(c->hole[row], c->n_seen)};
}

/* Sums the views' counts in their order. */
static void summarize(const scanner *s, const counts *views, splat_mesh_scan *scan)
{
    counts sum = {0};
    for (size_t v = 0; v < VIEWS; v++)
        for (size_t k = 0; k < sizeof sum / sizeof(size_t); k++) ((size_t *)&sum)[k] += ((const size_t *)&views[v])[k];
    *scan = (splat_mesh_scan){.n_views = VIEWS, .n_rays = sum.n_rays, .n_near = sum.n_near, .n_seen = sum.n_seen,
                              .n_mesh = sum.n_mesh, .n_far = sum.n_far, .n_sky = sum.n_sky, .near_limit = s->limit,
                              .far_recall = share(sum.n_far_found, sum.n_far),
                              .sky_covered = share(sum.n_covered, sum.n_sky), .n_rows = s->n_thresholds};
    for (size_t row = 0; row < s->n_thresholds; row++) fill_row(&sum, row, s->thresholds[row], &scan->rows[row]);
    for (size_t k = 0; k < SPLAT_SCAN_FOOTPRINTS; k++)
        fill_row(&sum, s->n_thresholds + k, footprints[k], &scan->footprints[k]);
}

splat_status splat_mesh_scan_make(const splat_mesh *mesh, const splat_mesh *truth, const splat_scan_photo *photos,
                                  size_t n_photos, const double *thresholds, size_t n_thresholds, uint64_t seed,
                                  int threads, splat_mesh_scan *scan, splat_error *error)
{
    scanner s = {.photos = photos, .n_photos = n_photos, .thresholds = thresholds, .n_thresholds = n_thresholds,
                 .seed = seed};
    if (n_photos == 0 || n_thresholds > SPLAT_MESH_THRESHOLDS || mesh->n_faces == 0 || truth->n_faces == 0)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a scan needs photos and the faces of two surfaces");
    counts *views = calloc(VIEWS, sizeof *views);
    double *depths = malloc(n_photos * DEPTHS * DEPTHS * sizeof *depths);
    splat_status status = views && depths ? SPLAT_OK : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a scan");
    if (status == SPLAT_OK) status = splat_mesh_bvh_make(mesh, threads, &s.mesh, error);
    if (status == SPLAT_OK) status = splat_mesh_bvh_make(truth, threads, &s.truth, error);
    if (status == SPLAT_OK) {
        s.median = median_depth(&s, depths);
        s.limit = NEAR * s.median;
        if (!(s.median > 0))
            status = splat_fail(error, SPLAT_ERROR_ARGUMENT,
                                "no photo of the scan sees the reference; are both in the same coordinates?");
    }
    if (status == SPLAT_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t view = 0; view < VIEWS; view++) scan_view(&s, view, &views[view]);
        summarize(&s, views, scan);
    }
    splat_mesh_bvh_free(&s.mesh);
    splat_mesh_bvh_free(&s.truth);
    free(depths);
    free(views);
    return status;
}
