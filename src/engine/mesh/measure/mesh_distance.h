/* Distances between surfaces. */
#ifndef SPLAT_MESH_MESH_DISTANCE_H
#define SPLAT_MESH_MESH_DISTANCE_H

#include "mesh/measure/mesh_quality.h"

/* samples[n][3]: points spread evenly by area over the faces, a function of mesh, seed and n alone. Errors: ARGUMENT
 * (no face has an area). */
splat_status splat_mesh_sample(const splat_mesh *mesh, uint64_t seed, size_t n, double *samples, splat_error *error);
/* Distances between a mesh and a reference, as the public header describes them; points, when there are some (NULL:
 * none; without vertices: subsets of a reference without faces), stand for the files of the options. Errors: ARGUMENT,
 * MEMORY. */
splat_status splat_mesh_compare(const splat_mesh *mesh, const splat_mesh *reference,
                                const splat_reference_points *points, const splat_mesh_report_options *options,
                                int threads, splat_mesh_distances *distances, splat_error *error);

#endif
