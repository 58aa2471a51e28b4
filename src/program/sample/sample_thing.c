/* Meshes as things of a scene: reading, the hits of rays, colours, and random points. */
#include "sample/sample_thing.h"

#include "base/file.h"
#include "mesh/files/mesh_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static splat_vec3 vertex(const splat_mesh *mesh, size_t face, int corner)
{
    const float *p = mesh->vertices + 3 * (size_t)mesh->faces[3 * face + (size_t)corner];
    return splat_vec3_make((double)p[0], (double)p[1], (double)p[2]);
}

/* ---------------------------------------------------------------- reading */

/* Turns the direction that is up in the file to -y. */
static void stand_up(splat_mesh *mesh, bool is_y_up)
{
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        float *p = mesh->vertices + 3 * i;
        const float up = is_y_up ? p[1] : p[2], back = is_y_up ? -p[2] : p[1];
        p[1] = -up;
        p[2] = back;
    }
}

static double longest_side(const splat_mesh *mesh)
{
    float low[3], high[3];
    splat_mesh_bounds(mesh, low, high);
    return (double)fmaxf(high[0] - low[0], fmaxf(high[1] - low[1], high[2] - low[2]));
}

/* Moves the lowest point to y = 0 and the middle of the box above the origin, and scales the mesh. */
static void place(splat_sample_thing *thing, double scale)
{
    splat_mesh *mesh = &thing->mesh;
    float low[3], high[3];
    splat_mesh_bounds(mesh, low, high);
    const double from[3] = {0.5 * ((double)low[0] + (double)high[0]), (double)high[1],
                            0.5 * ((double)low[2] + (double)high[2])};
    for (size_t i = 0; i < mesh->n_vertices; i++) {
        float *p = mesh->vertices + 3 * i;
        for (int k = 0; k < 3; k++) p[k] = (float)(scale * ((double)p[k] - from[k]));
        thing->radius = fmax(thing->radius, hypot((double)p[0], (double)p[2]));
        thing->height = fmax(thing->height, -(double)p[1]);
    }
}

static splat_status prepare(splat_sample_thing *thing, int threads, splat_error *error)
{
    const splat_mesh *mesh = &thing->mesh;
    SPLAT_TRY(splat_mesh_bvh_make(mesh, threads, &thing->bvh, error));
    SPLAT_TRY(splat_mesh_mips_make(mesh, threads, &thing->mips, error));
    thing->areas = malloc((mesh->n_faces + 1) * sizeof *thing->areas);
    if (!thing->areas) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu faces", mesh->n_faces);
    double sum = 0;
    for (size_t f = 0; f < mesh->n_faces; f++) thing->areas[f] = sum += splat_mesh_face_area(mesh, f);
    return SPLAT_OK;
}

static splat_status read_thing(const char *path, splat_sample_thing *thing, splat_error *error)
{
    if (!path[0])
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "`things` names no mesh before or after a comma");
    SPLAT_TRY(splat_mesh_read(path, &thing->mesh, error));
    if (thing->mesh.n_faces == 0 || !(longest_side(&thing->mesh) > 0))
        return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                             "a thing of the sample is a mesh with faces, and this file has none");
    stand_up(&thing->mesh, splat_name_ends_with(path, ".glb"));
    return SPLAT_OK;
}

splat_status splat_sample_things_open(const char *paths, double largest, int threads, splat_sample_things *things,
                                      splat_error *error)
{
    size_t most = 1;
    double longest = 0;
    *things = (splat_sample_things){0};
    if (!paths || !paths[0])
        return splat_fail(error, SPLAT_ERROR_ARGUMENT,
                          "this scene shows meshes of yours: name their files with `things`");
    for (const char *p = paths; *p; p++) most += *p == ',';
    things->items = calloc(most, sizeof *things->items);
    char *names = strdup(paths), *rest = names;
    splat_status status = things->items && names
                              ? SPLAT_OK
                              : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for %zu things", most);
    for (char *name; status == SPLAT_OK && (name = strsep(&rest, ",")) != NULL;) {
        splat_sample_thing *thing = &things->items[things->n++];
        status = read_thing(name, thing, error);
        if (status == SPLAT_OK) longest = fmax(longest, longest_side(&thing->mesh));
    }
    free(names);
    for (size_t i = 0; i < things->n && status == SPLAT_OK; i++) {
        place(&things->items[i], largest / longest);
        status = prepare(&things->items[i], threads, error);
    }
    return status;
}

void splat_sample_things_free(splat_sample_things *things)
{
    for (size_t i = 0; i < things->n; i++) {
        splat_mesh_bvh_free(&things->items[i].bvh);
        splat_mesh_mips_free(&things->items[i].mips);
        splat_mesh_free(&things->items[i].mesh);
        free(things->items[i].areas);
    }
    free(things->items);
    *things = (splat_sample_things){0};
}

/* ---------------------------------------------------------------- rays */

double splat_sample_thing_hit(const splat_sample_thing *thing, splat_vec3 origin, splat_vec3 direction, double limit)
{
    const double from[3] = {origin.x, origin.y, origin.z}, along[3] = {direction.x, direction.y, direction.z};
    return splat_mesh_bvh_hit(&thing->bvh, from, along, limit, NULL);
}

static size_t nearest_face(const splat_sample_thing *thing, splat_vec3 at)
{
    const double p[3] = {at.x, at.y, at.z};
    uint32_t face = 0;
    splat_mesh_bvh_nearest(&thing->bvh, p, &face);
    return face;
}

splat_vec3 splat_sample_thing_normal(const splat_sample_thing *thing, splat_vec3 at)
{
    double cross[3];
    splat_mesh_face_cross(&thing->mesh, nearest_face(thing, at), cross);
    return splat_vec3_make(cross[0], cross[1], cross[2]);
}

/* Barycentric coordinates of a place on a face. */
static void shares_of(const splat_mesh *mesh, size_t face, splat_vec3 at, double shares[3])
{
    const splat_vec3 a = vertex(mesh, face, 0), b = vertex(mesh, face, 1), c = vertex(mesh, face, 2);
    const splat_vec3 n = splat_vec3_cross(splat_vec3_sub(b, a), splat_vec3_sub(c, a));
    const double square = splat_vec3_dot(n, n);
    shares[0] = 1;
    shares[1] = shares[2] = 0;
    if (!(square > 0)) return;
    shares[1] = splat_vec3_dot(splat_vec3_cross(splat_vec3_sub(at, a), splat_vec3_sub(c, a)), n) / square;
    shares[2] = splat_vec3_dot(splat_vec3_cross(splat_vec3_sub(b, a), splat_vec3_sub(at, a)), n) / square;
    shares[0] = 1 - shares[1] - shares[2];
}

splat_vec3 splat_sample_thing_color(const splat_sample_thing *thing, splat_vec3 at)
{
    const splat_mesh *mesh = &thing->mesh;
    const size_t face = nearest_face(thing, at);
    double shares[3];
    float rgb[3] = {160, 160, 160}; /* without colours */
    shares_of(mesh, face, at, shares);
    if (mesh->n_pages) {
        splat_texture_place texel = {.repeats = true};
        for (int k = 0; k < 3; k++) {
            texel.u += shares[k] * (double)mesh->uvs[6 * face + 2 * (size_t)k];
            texel.v += shares[k] * (double)mesh->uvs[6 * face + 2 * (size_t)k + 1];
        }
        splat_mip_page_sample(&thing->mips.pages[mesh->face_pages ? mesh->face_pages[face] : 0], &texel, rgb);
    } else if (mesh->colors) {
        for (int c = 0; c < 3; c++) {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += shares[k] * mesh->colors[4 * (size_t)mesh->faces[3 * face + (size_t)k] + (size_t)c];
            rgb[c] = (float)sum;
        }
    }
    return splat_vec3_make((double)rgb[0] / 255, (double)rgb[1] / 255, (double)rgb[2] / 255);
}

/* ---------------------------------------------------------------- points */

double splat_sample_thing_area(const splat_sample_thing *thing)
{
    return thing->areas[thing->mesh.n_faces - 1];
}

splat_vec3 splat_sample_thing_point(const splat_sample_thing *thing, const double uniform[3])
{
    const double wanted = uniform[2] * splat_sample_thing_area(thing);
    size_t low = 0, high = thing->mesh.n_faces - 1;
    while (low < high) { /* the first with an area above */
        const size_t middle = low + (high - low) / 2;
        if (thing->areas[middle] > wanted)
            high = middle;
        else
            low = middle + 1;
    }
    const bool is_beyond = uniform[0] + uniform[1] > 1;
    const double u = is_beyond ? 1 - uniform[0] : uniform[0], v = is_beyond ? 1 - uniform[1] : uniform[1];
    const splat_vec3 a = vertex(&thing->mesh, low, 0);
    splat_vec3 p = splat_vec3_along(a, splat_vec3_sub(vertex(&thing->mesh, low, 1), a), u);
    return splat_vec3_along(p, splat_vec3_sub(vertex(&thing->mesh, low, 2), a), v);
}
