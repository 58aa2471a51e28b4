/* The figures of a mesh report: of the mesh alone, and against a reference. */
#ifndef SPLAT_MESH_MESH_QUALITY_H
#define SPLAT_MESH_MESH_QUALITY_H

#include "mesh/measure/reference_points.h"

/* Everything but file_bytes. The mesh must be valid (splat_mesh_check). Errors: MEMORY. */
splat_status splat_mesh_measure(const splat_mesh *mesh, splat_mesh_quality *quality, splat_error *error);

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
