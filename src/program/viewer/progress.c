/* The figures and curves of a training, kept and written as JSON. */
#include "viewer/progress.h"

#include "io/json.h"

#include <math.h>
#include <string.h>

void splat_viewer_curves_add(splat_viewer_curves *c, const splat_viewer_point *point)
{
    if (c->interval < 1) c->interval = 1;
    if (point->iteration % c->interval != 0) return;
    if (c->n_points == SPLAT_VIEWER_POINTS_MAX) {
        size_t n = 0;
        c->interval *= 2;
        for (size_t i = 0; i < c->n_points; i++)
            if (c->points[i].iteration % c->interval == 0) c->points[n++] = c->points[i];
        c->n_points = n;
        if (point->iteration % c->interval != 0) return;
    }
    c->points[c->n_points++] = *point;
}

void splat_viewer_curves_measure(splat_viewer_curves *c, const splat_viewer_measured *measured)
{
    if (c->n_measured == SPLAT_VIEWER_MEASURED_MAX)
        memmove(c->measured, c->measured + 1, --c->n_measured * sizeof *c->measured);
    c->measured[c->n_measured++] = *measured;
}

/* A number rounded to this many digits, so that texts are short; NULL if it is not a number. */
static json_t *number(double value, int digits)
{
    if (!isfinite(value)) return json_null();
    const double unit = value == 0 ? 1 : pow(10, digits - 1 - floor(log10(fabs(value))));
    return json_real(isfinite(unit) && unit > 0 ? floor(value * unit + 0.5) / unit : value);
}

static json_t *memory_json(const splat_viewer_status *s)
{
    json_t *blocks = json_array();
    for (size_t i = 0; i < s->n_blocks; i++) {
        json_t *block = json_array();
        splat_json_append(&block, splat_json_text(s->blocks[i].owner));
        splat_json_append(&block, splat_json_text(s->blocks[i].name));
        splat_json_append(&block, json_integer((json_int_t)s->blocks[i].bytes));
        splat_json_append(&blocks, block);
    }
    return blocks;
}

static json_t *saved_json(const splat_viewer_saved *s)
{
    json_t *saved = json_object(), *background = json_array();
    splat_json_set(&saved, "number", json_integer(s->number));
    splat_json_set(&saved, "iteration", json_integer(s->iteration));
    splat_json_set(&saved, "gaussians", json_integer((json_int_t)s->n_gaussians));
    splat_json_set(&saved, "filter", json_string(s->is_mip ? "mip" : "classic"));
    splat_json_set(&saved, "kernel", number((double)s->kernel_size, 6));
    for (int k = 0; k < 3; k++) splat_json_append(&background, number((double)s->background[k], 6));
    splat_json_set(&saved, "background", background);
    splat_json_set(&saved, "explore", json_boolean(SPLATSMITH_HAS_EXPLORE));
    return saved;
}

static char *print(json_t *root)
{
    char *text = splat_json_print(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(root);
    return text;
}

char *splat_viewer_status_json(const splat_viewer_status *s, int n_clients)
{
    json_t *status = json_object(), *root = json_object();
    splat_json_set(&status, "stage", splat_json_text(s->stage));
    splat_json_set(&status, "stages", json_integer(s->n_stages));
    splat_json_set(&status, "result", splat_json_text(s->result));
    splat_json_set(&status, "note", splat_json_text(s->note));
    splat_json_set(&status, "trains", json_boolean(s->trains));
    splat_json_set(&status, "paused", json_boolean(s->is_paused));
    splat_json_set(&status, "over", json_boolean(s->is_over));
    splat_json_set(&status, "iteration", json_integer(s->iteration));
    splat_json_set(&status, "iterations", json_integer(s->iterations));
    splat_json_set(&status, "loss", number(s->loss, 5));
    splat_json_set(&status, "rate", number(s->rate, 4));
    if (s->rate > 0) splat_json_set(&status, "left", number((s->iterations - s->iteration) / s->rate, 6));
    splat_json_set(&status, "gaussians", json_integer((json_int_t)s->n_gaussians));
    if (s->psnr_iteration) {
        splat_json_set(&status, "psnr", number(s->psnr, 6));
        splat_json_set(&status, "psnr_iteration", json_integer(s->psnr_iteration));
    }
    if (s->saved.number) splat_json_set(&status, "saved", saved_json(&s->saved));
    splat_json_set(&status, "bytes", json_integer((json_int_t)s->device_bytes));
    splat_json_set(&status, "memory", memory_json(s));
    splat_json_set(&status, "clients", json_integer(n_clients));
    splat_json_set(&root, "status", status);
    return print(root);
}

char *splat_viewer_saved_json(const splat_viewer_saved *saved)
{
    return print(saved_json(saved));
}

char *splat_viewer_curves_json(const splat_viewer_curves *c, uint32_t n_stages)
{
    json_t *root = json_object(), *points = json_array(), *measured = json_array();
    for (size_t i = 0; i < c->n_points; i++) {
        json_t *point = json_array();
        splat_json_append(&point, json_integer(c->points[i].iteration));
        splat_json_append(&point, number(c->points[i].loss, 4));
        splat_json_append(&point, json_integer((json_int_t)c->points[i].n_gaussians));
        splat_json_append(&points, point);
    }
    for (size_t i = 0; i < c->n_measured; i++) {
        json_t *m = json_array();
        splat_json_append(&m, json_integer(c->measured[i].iteration));
        splat_json_append(&m, json_boolean(c->measured[i].is_test));
        splat_json_append(&m, number(c->measured[i].psnr, 6));
        splat_json_append(&m, number(c->measured[i].ssim, 5));
        splat_json_append(&measured, m);
    }
    splat_json_set(&root, "stages", json_integer(n_stages));
    splat_json_set(&root, "points", points);
    splat_json_set(&root, "measured", measured);
    return print(root);
}
