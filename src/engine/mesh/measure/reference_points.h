/* Points of a true surface, in subsets that are counted apart. */
#ifndef SPLAT_MESH_REFERENCE_POINTS_H
#define SPLAT_MESH_REFERENCE_POINTS_H

#include "mesh/mesh.h"
#include "mesh/measure/mesh_figures.h"

typedef struct splat_reference_points {
    splat_mesh cloud; /* without faces */
    uint8_t *subset;  /* [cloud.n_vertices], below SPLAT_MESH_SUBSETS; NULL: the file has no subsets */
    char names[SPLAT_MESH_SUBSETS][SPLAT_MESH_SUBSET_NAME]; /* of the values; their numbers where the file names none */
} splat_reference_points;

/* Reads a file of a mesh's format without faces; of PLY also the property `subset`, whose values are named by a line
 * "comment subset 0 textured 1 plain 2 thin". Errors: those of splat_mesh_read, FORMAT (faces; a subset that is not a
 * whole number below SPLAT_MESH_SUBSETS). Nothing is to be freed then. */
splat_status splat_reference_points_read(const char *path, splat_reference_points *points, splat_error *error);
/* The subsets of a file that has been read as a mesh without faces: names and subset, cloud stays. */
splat_status splat_reference_points_read_subsets(const char *path, splat_reference_points *points, splat_error *error);
void splat_reference_points_free(splat_reference_points *points);

#endif
