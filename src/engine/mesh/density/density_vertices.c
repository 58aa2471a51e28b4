/* Vertices of marching cubes lie where the density would pass the level if it were straight between two samples. Here
 * they move along their edges to where it does, and take normals and colours from the same Gaussians. */
#include "mesh/density/density_vertices.h"

#include <math.h>
#include <omp.h>
#include <string.h>

splat_status density_tell(const density_job *j, const char *stage, double fraction, splat_error *error)
{
    if (!j->options->progress || j->options->progress(j->options->progress_user, stage, fraction)) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped: %s", stage);
}

#define EDGE_MARGIN 1e-3 /* vertices stay this far from the ends of their edges, as marching cubes leaves them */
enum { VERTICES_A_PIECE = 65536 };

/* The edge of the grid that a vertex lies on. */
typedef struct grid_edge {
    size_t block, axis;
    double start[3], t;  /* place of the lower end; how far the vertex is, 0 to 1 */
    double below, above; /* density at both ends */
} grid_edge;

static bool sample_at(const density_job *j, const int64_t sample[3], size_t *block, double *density)
{
    int32_t at[3];
    size_t voxel = 0;
    for (int a = 0; a < 3; a++) {
        if (sample[a] < 0 || sample[a] >= j->n_samples[a]) return false;
        at[a] = (int32_t)(sample[a] / SPLAT_BLOCK_SIDE);
        voxel |= (size_t)(sample[a] % SPLAT_BLOCK_SIDE) << 3 * a;
    }
    uint32_t number = splat_voxel_grid_find(&j->grid, at);
    if (number == SPLAT_NO_BLOCK) return false;
    *block = number;
    *density = (double)j->grid.values[(size_t)number * SPLAT_BLOCK_VOXELS + voxel];
    return true;
}

/* From the vertex' place, which float32 may have moved a little. */
static bool find_edge(const density_job *j, const float vertex[3], grid_edge *edge)
{
    int64_t sample[3];
    double aside = -1;
    size_t other;
    for (size_t a = 0; a < 3; a++) {
        double u = ((double)vertex[a] - j->options->low[a]) / j->options->voxel_size;
        sample[a] = (int64_t)floor(u + 0.5);
        if (fabs(u - (double)sample[a]) <= aside) continue;
        aside = fabs(u - (double)sample[a]);
        edge->axis = a;
        edge->t = u - floor(u);
    }
    double u = ((double)vertex[edge->axis] - j->options->low[edge->axis]) / j->options->voxel_size;
    sample[edge->axis] = (int64_t)floor(u);
    if (!sample_at(j, sample, &edge->block, &edge->below)) return false;
    for (size_t a = 0; a < 3; a++)
        edge->start[a] = j->options->low[a] + j->options->voxel_size * (double)sample[a];
    sample[edge->axis]++;
    return sample_at(j, sample, &other, &edge->above);
}

static void place_on(const density_job *j, const grid_edge *edge, double t, double place[3])
{
    memcpy(place, edge->start, sizeof edge->start);
    place[edge->axis] += t * j->options->voxel_size;
}

/* A place along the axes of a Gaussian, in deviations. */
static void place_in(const density_gaussian *g, const double place[3], double y[3])
{
    for (int k = 0; k < 3; k++) {
        const float *row = g->rows + 3 * k;
        y[k] = 0;
        for (int a = 0; a < 3; a++) y[k] += (double)row[a] * (place[a] - (double)g->mean[a]);
    }
}

/* The Gaussians that reach an edge, of those in the list of its block. Returns their number. */
static size_t find_nearby(const density_job *j, const grid_edge *edge, density_nearby *out)
{
    size_t n = 0;
    for (size_t i = j->first[edge->block]; i < j->first[edge->block + 1]; i++) {
        const density_gaussian *g = &j->gaussians[j->list[i]];
        double y[3], power = 0, slope = 0, bend = 0;
        place_in(g, edge->start, y);
        for (size_t k = 0; k < 3; k++) {
            double step = (double)g->rows[3 * k + edge->axis] * j->options->voxel_size;
            power += y[k] * y[k];
            slope += y[k] * step;
            bend += step * step;
        }
        double t = -slope / bend; /* where the edge comes nearest */
        t = t > 0 ? t < 1 ? t : 1 : 0;
        if (power + t * (2 * slope + t * bend) > (double)g->reach2) continue;
        out[n++] = (density_nearby){g, power, 2 * slope, bend};
    }
    return n;
}

static double share_at(const density_nearby *g, double t)
{
    double power = g->power + t * (g->slope + t * g->bend);
    return power <= (double)g->gaussian->reach2 ? (double)g->gaussian->opacity * exp(-0.5 * power) : 0;
}

/* Positive inside. Gaussians fall like parabolas in it, which a straight line meets better than their flanks. */
static double height_of(const density_job *j, double density)
{
    return log(fmax(density / j->level, 0.01));
}

/* Regula falsi (Illinois): where the density passes the level between the ends. */
static double refine(const density_job *j, const grid_edge *edge, const density_nearby *gaussians, size_t n)
{
    double t0 = 0, t1 = 1, f0 = height_of(j, edge->below), f1 = height_of(j, edge->above);
    double t = f0 != f1 ? f0 / (f0 - f1) : edge->t;
    int last = 0; /* which end moved the last time */
    for (int i = 0; i < j->options->refinements; i++) {
        double density = 0;
        for (size_t k = 0; k < n; k++) density += share_at(&gaussians[k], t);
        double f = height_of(j, density);
        if ((f > 0) == (f0 > 0)) {
            t0 = t, f0 = f;
            if (last == -1) f1 *= 0.5;
            last = -1;
        } else {
            t1 = t, f1 = f;
            if (last == 1) f0 *= 0.5;
            last = 1;
        }
        if (f0 != f1) t = t0 + (t1 - t0) * f0 / (f0 - f1);
    }
    return fmin(fmax(t, EDGE_MARGIN), 1 - EDGE_MARGIN);
}

static void shade(const grid_edge *edge, const double place[3], const density_nearby *gaussians, size_t n,
                  splat_mesh *mesh, size_t v)
{
    double outward[3] = {0, 0, 0}, color[3] = {0, 0, 0}, sum = 0, y[3];
    for (size_t i = 0; i < n; i++) {
        const density_gaussian *g = gaussians[i].gaussian;
        double share = share_at(&gaussians[i], edge->t);
        place_in(g, place, y);
        sum += share;
        for (int c = 0; c < 3; c++) {
            color[c] += share * g->color[c];
            for (int k = 0; k < 3; k++) outward[c] += share * y[k] * (double)g->rows[3 * k + c];
        }
    }
    double length = sqrt(outward[0] * outward[0] + outward[1] * outward[1] + outward[2] * outward[2]);
    for (size_t c = 0; c < 3; c++) {
        mesh->normals[3 * v + c] = length > 0 ? (float)(outward[c] / length) : 0;
        if (mesh->colors && sum > 0) mesh->colors[4 * v + c] = (uint8_t)(color[c] / sum + 0.5);
    }
}

static void finish_vertex(const density_job *j, splat_mesh *mesh, size_t v, density_nearby *room)
{
    grid_edge edge = {0};
    double place[3];
    if (!find_edge(j, mesh->vertices + 3 * v, &edge)) return;
    size_t n = find_nearby(j, &edge, room);
    if ((edge.below > j->level) != (edge.above > j->level)) edge.t = refine(j, &edge, room, n);
    place_on(j, &edge, edge.t, place);
    for (size_t c = 0; c < 3; c++) mesh->vertices[3 * v + c] = (float)place[c];
    shade(&edge, place, room, n, mesh, v);
}

splat_status density_finish_vertices(density_job *j, splat_mesh *mesh, splat_error *error)
{
    SPLAT_TRY(splat_mesh_require_normals(mesh, error));
    if (j->input->colors) SPLAT_TRY(splat_mesh_require_colors(mesh, error));
    for (size_t begin = 0; begin < mesh->n_vertices; begin += VERTICES_A_PIECE) {
        size_t end = begin + VERTICES_A_PIECE < mesh->n_vertices ? begin + VERTICES_A_PIECE : mesh->n_vertices;
        SPLAT_TRY(density_tell(j, "refining the surface", (double)begin / (double)mesh->n_vertices, error));
#pragma omp parallel for num_threads(j->options->threads) schedule(dynamic, 256)
        for (size_t v = begin; v < end; v++)
            finish_vertex(j, mesh, v, j->nearby + (size_t)omp_get_thread_num() * j->longest);
    }
    return SPLAT_OK;
}
