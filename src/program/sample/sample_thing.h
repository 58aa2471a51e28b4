/* Things of the user's: meshes with their colours, as a shape of parts. */
#ifndef SPLAT_SCENE_SAMPLE_THING_H
#define SPLAT_SCENE_SAMPLE_THING_H

#include "mesh/mesh_bvh.h"
#include "mesh/mesh_mips.h"
#include "sample/sample_vec.h"

/* y points down; the thing stands on y = 0, its middle above the origin. */
typedef struct splat_sample_thing {
    splat_mesh mesh;
    splat_mesh_bvh bvh;    /* of this mesh, in place */
    splat_mesh_mips mips;
    double *areas;         /* [mesh.n_faces] of the faces up to and with each */
    double radius, height; /* of an upright cylinder around y that holds it */
} splat_sample_thing;

typedef struct splat_sample_things {
    splat_sample_thing *items; /* [n] */
    size_t n;
} splat_sample_things;

/* Reads meshes from paths separated by commas (GLB: up is +y; OBJ, PLY: +z), and gives all one scale, the largest
 * `largest` along its longest side. Free them in any case. Errors: ARGUMENT (none named, a mesh without faces), those
 * of reading, MEMORY. */
splat_status splat_sample_things_open(const char *paths, double largest, int threads, splat_sample_things *things,
                                      splat_error *error);
void splat_sample_things_free(splat_sample_things *things);

/* In the thing's coordinates. The ray's first place t below `limit` on a face, from either side; INFINITY: none. */
double splat_sample_thing_hit(const splat_sample_thing *thing, splat_vec3 origin, splat_vec3 direction, double limit);
/* Normal (of any length) and display colour, 0 to 1, of the face nearest to a place of the surface. */
splat_vec3 splat_sample_thing_normal(const splat_sample_thing *thing, splat_vec3 place);
splat_vec3 splat_sample_thing_color(const splat_sample_thing *thing, splat_vec3 place);
/* The area of the surface; and a place on it from three random numbers in (0, 1), uniform by area. */
double splat_sample_thing_area(const splat_sample_thing *thing);
splat_vec3 splat_sample_thing_point(const splat_sample_thing *thing, const double uniform[3]);

#endif
