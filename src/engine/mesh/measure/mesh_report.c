/* The public face of mesh reports: reading, measuring, JSON, TensorBoard. */
#include "mesh/measure/mesh_report.h"

#include "base/context.h"
#include "base/file.h"
#include "base/options.h"
#include "io/json.h"
#include "io/tensorboard.h"
#include "mesh/files/mesh_io.h"
#include "mesh/measure/mesh_distance.h"
#include "mesh/measure/mesh_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void splat_mesh_report_options_init_sized(splat_mesh_report_options *options, size_t size)
{
    const splat_mesh_report_options defaults = {.n_samples = 200000, .reference_margin = 0.02};
    splat_options_give(options, size, &defaults, sizeof defaults);
}

/* The end of a path that is too long is what tells files apart. */
static void keep_name(char name[512], const char *path)
{
    size_t n = strlen(path);
    snprintf(name, 512, "%s", n > 511 ? path + n - 511 : path);
}

/* Reads the list next to the reference, or the subsets of a reference that consists of points. */
static splat_status read_points(const splat_mesh_report_options *options, const splat_mesh *reference,
                                splat_reference_points *points, splat_error *error)
{
    memset(points, 0, sizeof *points);
    if (options->reference_points) return splat_reference_points_read(options->reference_points, points, error);
    return reference->n_faces ? SPLAT_OK
                              : splat_reference_points_read_subsets(options->reference, points, error);
}

/* With the thresholds of the distances. */
static splat_status scan(const splat_context *context, const splat_mesh *mesh, const splat_mesh *reference,
                         const splat_mesh_report_options *options, splat_mesh_report *report, splat_error *error)
{
    const splat_mesh_distances *d = &report->distances;
    splat_scan_photo *photos;
    size_t n_photos;
    if (reference->n_faces == 0)
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, options->reference, SPLAT_NO_OFFSET,
                             "a scan needs a reference with faces");
    SPLAT_TRY(splat_scan_photos_read(options->reference, &photos, &n_photos, error));
    splat_status status = splat_mesh_scan_make(mesh, reference, photos, n_photos, d->thresholds, d->n_thresholds,
                                               options->seed, context->threads, &report->scan, error);
    free(photos);
    return status;
}

static splat_status compare(const splat_context *context, const splat_mesh *mesh,
                            const splat_mesh_report_options *options, splat_mesh_report *report, splat_error *error)
{
    splat_mesh reference;
    splat_reference_points points;
    SPLAT_TRY(splat_mesh_read(options->reference, &reference, error));
    keep_name(report->reference, options->reference);
    if (options->reference_points) keep_name(report->reference_points, options->reference_points);
    splat_status status = read_points(options, &reference, &points, error);
    if (status == SPLAT_OK)
        status = splat_mesh_compare(mesh, &reference, &points, options, context->threads, &report->distances, error);
    if (status == SPLAT_OK && options->scan) status = scan(context, mesh, &reference, options, report, error);
    splat_reference_points_free(&points);
    splat_mesh_free(&reference);
    return status;
}

/* Texels by the area of the faces on their pages. */
static void measure_texture(const splat_mesh *mesh, splat_mesh_texture *texture)
{
    double texels = 0.0, area = 0.0;
    *texture = (splat_mesh_texture){.has_coordinates = mesh->uvs != NULL, .n_pages = mesh->n_pages};
    for (size_t i = 0; i < mesh->n_pages; i++) {
        texture->page_sizes[i][0] = mesh->pages[i].width;
        texture->page_sizes[i][1] = mesh->pages[i].height;
        texture->n_texels += (uint64_t)mesh->pages[i].width * (uint64_t)mesh->pages[i].height;
    }
    for (size_t f = 0; mesh->n_pages && f < mesh->n_faces; f++) {
        const float *uv = mesh->uvs + 6 * f;
        const int *sides = texture->page_sizes[mesh->face_pages ? mesh->face_pages[f] : 0];
        double cross = ((double)uv[2] - (double)uv[0]) * ((double)uv[5] - (double)uv[1]) -
                       ((double)uv[3] - (double)uv[1]) * ((double)uv[4] - (double)uv[0]);
        texels += 0.5 * fabs(cross) * sides[0] * sides[1];
        area += splat_mesh_face_area(mesh, f);
    }
    texture->used = texture->n_texels ? texels / (double)texture->n_texels : 0.0;
    texture->texel_density = area > 0.0 ? sqrt(texels / area) : 0.0;
}

splat_status splat_mesh_report_make(const splat_context *context, const char *path,
                                    const splat_mesh_report_options *options, splat_mesh_report *report,
                                    splat_error *error)
{
    splat_mesh mesh;
    struct stat file;
    memset(report, 0, sizeof *report);
    splat_mesh_report_options own;
    splat_mesh_report_options_init(&own);
    SPLAT_TRY(splat_options_take(&own, options, "splat_mesh_report_options", error));
    options = &own;
    if (options->reference_points && !options->reference)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "`reference_points` tell what a mesh ought to reach; `reference` is needed too: the surface "
                          "that it may be on, or the same file again");
    if (options->scan && !options->reference)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a scan needs a reference: the true surface");
    SPLAT_TRY(splat_mesh_read(path, &mesh, error));
    if (mesh.n_faces == 0) {
        splat_mesh_free(&mesh);
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "the file has no faces: it is a splat or a point cloud, and a mesh is needed");
    }
    if (mesh.notice) splat_log(context, SPLAT_LOG_NOTICE, "%s", mesh.notice);
    keep_name(report->file, path);
    measure_texture(&mesh, &report->texture);
    report->seed = options->seed;
    splat_status status = splat_mesh_measure(&mesh, &report->quality, error);
    if (status == SPLAT_OK && stat(path, &file) == 0) report->quality.file_bytes = (uint64_t)file.st_size;
    if (status == SPLAT_OK && options->reference) status = compare(context, &mesh, options, report, error);
    splat_mesh_free(&mesh);
    return status;
}

/* ---------------------------------------------------------------- one list of figures for both kinds of files */

typedef enum figure_kind { COUNT, REAL, TRUTH } figure_kind;

typedef struct figure {
    const char *group, *name;
    figure_kind kind;
    double value;
} figure;

enum { MAX_FIGURES = 128 };

typedef struct figure_list {
    figure items[MAX_FIGURES];
    size_t n;
} figure_list;

static void add(figure_list *list, const char *group, const char *name, figure_kind kind, double value)
{
    list->items[list->n++] = (figure){group, name, kind, value};
}

static void add_topology(figure_list *list, const splat_mesh_quality *q)
{
    static const char group[] = "Topology";
    add(list, group, "n_vertices", COUNT, (double)q->n_vertices);
    add(list, group, "n_faces", COUNT, (double)q->n_faces);
    add(list, group, "n_edges", COUNT, (double)q->n_edges);
    add(list, group, "n_components", COUNT, (double)q->n_components);
    add(list, group, "euler_characteristic", COUNT, (double)q->euler_characteristic);
    add(list, group, "is_watertight", TRUTH, q->is_watertight);
    add(list, group, "is_winding_consistent", TRUTH, q->is_winding_consistent);
    add(list, group, "n_boundary_edges", COUNT, (double)q->n_boundary_edges);
    add(list, group, "n_non_manifold_edges", COUNT, (double)q->n_non_manifold_edges);
    add(list, group, "n_duplicate_vertices", COUNT, (double)q->n_duplicate_vertices);
    add(list, group, "n_isolated_vertices", COUNT, (double)q->n_isolated_vertices);
    add(list, group, "avg_valence", REAL, q->valence.mean);
    add(list, group, "min_valence", REAL, q->valence.min);
    add(list, group, "max_valence", REAL, q->valence.max);
}

static void add_quality(figure_list *list, const splat_mesh_quality *q)
{
    static const char group[] = "Quality";
    add(list, group, "score", COUNT, q->score);
    add(list, group, "min_triangle_area", REAL, q->area.min);
    add(list, group, "max_triangle_area", REAL, q->area.max);
    add(list, group, "avg_triangle_area", REAL, q->area.mean);
    add(list, group, "std_triangle_area", REAL, q->area.deviation);
    add(list, group, "n_degenerate_triangles", COUNT, (double)q->n_degenerate_faces);
    add(list, group, "min_aspect_ratio", REAL, q->aspect.min);
    add(list, group, "max_aspect_ratio", REAL, q->aspect.max);
    add(list, group, "avg_aspect_ratio", REAL, q->aspect.mean);
    add(list, group, "std_aspect_ratio", REAL, q->aspect.deviation);
    add(list, group, "n_low_quality_triangles", COUNT, (double)q->n_low_quality_faces);
    add(list, group, "min_edge_length", REAL, q->edge_length.min);
    add(list, group, "max_edge_length", REAL, q->edge_length.max);
    add(list, group, "avg_edge_length", REAL, q->edge_length.mean);
    add(list, group, "std_edge_length", REAL, q->edge_length.deviation);
    add(list, group, "edge_length_uniformity", REAL, q->edge_uniformity);
}

static void add_shape(figure_list *list, const splat_mesh_quality *q)
{
    add(list, "Geometry", "bbox_x", REAL, q->high[0] - q->low[0]);
    add(list, "Geometry", "bbox_y", REAL, q->high[1] - q->low[1]);
    add(list, "Geometry", "bbox_z", REAL, q->high[2] - q->low[2]);
    add(list, "Geometry", "bbox_diagonal", REAL, q->diagonal);
    add(list, "Geometry", "bbox_volume", REAL, q->box_volume);
    add(list, "Geometry", "bbox_aspect_ratio", REAL, q->box_aspect);
    add(list, "Geometry", "surface_area", REAL, q->surface_area);
    add(list, "Geometry", "volume", REAL, q->volume);
    add(list, "Geometry", "file_size_mb", REAL, (double)q->file_bytes / SPLAT_MIB);
    add(list, "Surface", "avg_normal_consistency", REAL, q->normal_consistency);
    add(list, "Surface", "n_flipped_normals", COUNT, (double)q->n_flipped_normals);
    add(list, "Surface", "n_degenerate_normals", COUNT, (double)q->n_degenerate_normals);
}

static void add_distances(figure_list *list, const splat_mesh_distances *d)
{
    static const char group[] = "Reference";
    add(list, group, "n_mesh_samples", COUNT, (double)d->n_mesh_samples);
    add(list, group, "n_reference_samples", COUNT, (double)d->n_reference_samples);
    add(list, group, "mesh_samples_per_area", REAL, d->mesh_samples_per_area);
    add(list, group, "diagonal", REAL, d->reference_diagonal);
    add(list, group, "reference_margin", REAL, d->reference_margin);
    add(list, group, "mesh_part_compared", REAL, d->mesh_part);
    add(list, group, "to_reference_median", REAL, d->to_reference_median);
    add(list, group, "to_mesh_median", REAL, d->to_mesh_median);
    add(list, group, "to_reference_p95", REAL, d->to_reference_p95);
    add(list, group, "to_mesh_p95", REAL, d->to_mesh_p95);
    add(list, group, "to_reference_max", REAL, d->to_reference_max);
    add(list, group, "to_mesh_max", REAL, d->to_mesh_max);
    add(list, group, "to_reference_rms", REAL, d->to_reference_rms);
    add(list, group, "to_mesh_rms", REAL, d->to_mesh_rms);
    add(list, group, "to_reference_mean", REAL, d->to_reference_mean);
    add(list, group, "to_mesh_mean", REAL, d->to_mesh_mean);
    add(list, group, "chamfer", REAL, d->chamfer);
}

static void add_texture(figure_list *list, const splat_mesh_texture *t)
{
    add(list, "Texture", "n_pages", COUNT, (double)t->n_pages);
    add(list, "Texture", "n_texels", COUNT, (double)t->n_texels);
    add(list, "Texture", "used", REAL, t->used);
    add(list, "Texture", "texel_density", REAL, t->texel_density);
}

static void add_scan(figure_list *list, const splat_mesh_scan *s)
{
    add(list, "Scan", "n_views", COUNT, (double)s->n_views);
    add(list, "Scan", "n_rays", COUNT, (double)s->n_rays);
    add(list, "Scan", "n_near", COUNT, (double)s->n_near);
    add(list, "Scan", "n_seen", COUNT, (double)s->n_seen);
    add(list, "Scan", "n_mesh", COUNT, (double)s->n_mesh);
    add(list, "Scan", "n_far", COUNT, (double)s->n_far);
    add(list, "Scan", "n_sky", COUNT, (double)s->n_sky);
    add(list, "Scan", "near_limit", REAL, s->near_limit);
    add(list, "Scan", "far_recall", REAL, s->far_recall);
    add(list, "Scan", "sky_covered", REAL, s->sky_covered);
}

static void list_figures(const splat_mesh_report *report, figure_list *list)
{
    list->n = 0;
    add_topology(list, &report->quality);
    add_quality(list, &report->quality);
    add_shape(list, &report->quality);
    if (report->texture.has_coordinates) add_texture(list, &report->texture);
    if (report->reference[0]) add_distances(list, &report->distances);
    if (report->scan.n_views) add_scan(list, &report->scan);
}

/* ---------------------------------------------------------------- JSON */

static json_t *figure_json(const figure *item)
{
    if (item->kind == TRUTH) return json_boolean(item->value != 0.0);
    if (item->kind == COUNT) return json_integer((json_int_t)item->value);
    return isfinite(item->value) ? json_real(item->value) : json_null();
}

/* Rows of width and height. */
static json_t *pages_json(const splat_mesh_texture *t)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < t->n_pages; i++)
        splat_json_append(&rows, json_pack("[i, i]", t->page_sizes[i][0], t->page_sizes[i][1]));
    return rows;
}

static json_t *thresholds_json(const splat_mesh_distances *d)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < d->n_thresholds; i++)
        splat_json_append(&rows, json_pack("{s:f, s:f, s:f, s:f}", "threshold", d->thresholds[i], "precision",
                                           d->precision[i], "completeness", d->completeness[i], "f_score",
                                           d->f_score[i]));
    return rows;
}

static json_t *subsets_json(const splat_mesh_distances *d)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < d->n_subsets; i++) {
        const splat_mesh_subset *subset = &d->subsets[i];
        json_t *parts = json_array();
        for (size_t k = 0; k < d->n_thresholds; k++)
            splat_json_append(&parts, json_real(subset->completeness[k]));
        splat_json_append(&rows, json_pack("{s:o, s:I, s:f, s:o}", "name", splat_json_text(subset->name), "n_points",
                                           (json_int_t)subset->n, "to_mesh_median", subset->to_mesh_median,
                                           "completeness", parts));
    }
    return rows;
}

static json_t *scan_rows_json(const splat_mesh_scan_row *rows, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        splat_json_append(&list, json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "threshold", rows[i].threshold,
                                           "precision", rows[i].precision, "recall", rows[i].recall, "f_score",
                                           rows[i].f_score, "invented", rows[i].invented, "hole", rows[i].hole));
    return list;
}

/* NULL values are memory that ran out; jansson refuses them, and the count of members tells. */
static json_t *report_json(const splat_mesh_report *report)
{
    figure_list list;
    json_t *root = json_object();
    bool sound = root != NULL;
    list_figures(report, &list);
    sound = json_object_set_new(root, "file", splat_json_text(report->file)) == 0 && sound;
    sound = json_object_set_new(root, "verdict", json_string(report->quality.verdict)) == 0 && sound;
    for (size_t i = 0; i < list.n; i++) {
        const figure *item = &list.items[i];
        if (!json_object_get(root, item->group))
            sound = json_object_set_new(root, item->group, json_object()) == 0 && sound;
        sound = json_object_set_new(json_object_get(root, item->group), item->name, figure_json(item)) == 0 && sound;
    }
    if (report->texture.has_coordinates)
        sound = json_object_set_new(json_object_get(root, "Texture"), "pages", pages_json(&report->texture)) == 0 &&
                sound;
    if (report->reference[0]) {
        json_t *reference = json_object_get(root, "Reference");
        sound = json_object_set_new(reference, "file", splat_json_text(report->reference)) == 0 && sound;
        if (report->reference_points[0])
            sound = json_object_set_new(reference, "points", splat_json_text(report->reference_points)) == 0 && sound;
        if (report->distances.n_subsets)
            sound = json_object_set_new(reference, "subsets", subsets_json(&report->distances)) == 0 && sound;
        sound = json_object_set_new(reference, "seed", json_integer((json_int_t)report->seed)) == 0 && sound;
        sound = json_object_set_new(reference, "thresholds", thresholds_json(&report->distances)) == 0 && sound;
    }
    if (report->scan.n_views) {
        const splat_mesh_scan *s = &report->scan;
        json_t *object = json_object_get(root, "Scan");
        sound = json_object_set_new(object, "thresholds", scan_rows_json(s->rows, s->n_rows)) == 0 && sound;
        sound = json_object_set_new(object, "footprints", scan_rows_json(s->footprints, SPLAT_SCAN_FOOTPRINTS)) == 0 &&
                sound;
    }
    if (sound) return root;
    json_decref(root);
    return NULL;
}

splat_status splat_mesh_report_write(const splat_mesh_report *report, const char *path, splat_error *error)
{
    json_t *root = report_json(report);
    char *text = splat_json_print(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(root);
    if (!text) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the report on a mesh");
    splat_status status = splat_file_write(path, text, strlen(text), error);
    free(text);
    return status;
}

/* ---------------------------------------------------------------- TensorBoard */

splat_status splat_mesh_report_write_tensorboard(const splat_mesh_report *report, const char *folder, int64_t step,
                                                 splat_error *error)
{
    figure_list list;
    splat_tensorboard *writer;
    char tag[128];
    SPLAT_TRY(splat_folder_create(folder, error));
    SPLAT_TRY(splat_tensorboard_open(folder, SPLAT_TENSORBOARD_FLUSH_SECONDS, SPLAT_TENSORBOARD_BESIDE, &writer,
                                     error));
    list_figures(report, &list);
    for (size_t i = 0; i < list.n; i++) {
        snprintf(tag, sizeof tag, "Mesh/%s/%s", list.items[i].group, list.items[i].name);
        splat_tensorboard_add_scalar(writer, tag, step, list.items[i].value);
    }
    for (size_t i = 0; report->scan.n_views && i < report->scan.n_rows; i++) {
        const splat_mesh_scan_row *row = &report->scan.rows[i];
        const double values[5] = {row->precision, row->recall, row->f_score, row->invented, row->hole};
        static const char *const names[5] = {"precision", "recall", "f_score", "invented", "hole"};
        for (int k = 0; k < 5; k++) {
            snprintf(tag, sizeof tag, "Mesh/Scan/%s_%zu", names[k], i + 1);
            splat_tensorboard_add_scalar(writer, tag, step, values[k]);
        }
    }
    const splat_mesh_distances *d = &report->distances;
    for (size_t i = 0; report->reference[0] && i < d->n_thresholds; i++) {
        const double values[3] = {d->precision[i], d->completeness[i], d->f_score[i]};
        static const char *const names[3] = {"precision", "completeness", "f_score"};
        for (int k = 0; k < 3; k++) {
            snprintf(tag, sizeof tag, "Mesh/Reference/%s_%zu", names[k], i + 1);
            splat_tensorboard_add_scalar(writer, tag, step, values[k]);
        }
    }
    for (size_t i = 0; report->reference[0] && i < d->n_subsets; i++) {
        for (size_t k = 0; k < d->n_thresholds; k++) {
            snprintf(tag, sizeof tag, "Mesh/Reference/%s_completeness_%zu", d->subsets[i].name, k + 1);
            splat_tensorboard_add_scalar(writer, tag, step, d->subsets[i].completeness[k]);
        }
        snprintf(tag, sizeof tag, "Mesh/Reference/%s_to_mesh_median", d->subsets[i].name);
        splat_tensorboard_add_scalar(writer, tag, step, d->subsets[i].to_mesh_median);
    }
    return splat_tensorboard_close(writer, error);
}
