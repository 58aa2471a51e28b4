/* A mesh file that is to be drawn from the cameras of a scene. */
#ifndef SPLAT_MEASURE_MEASURED_MESH_H
#define SPLAT_MEASURE_MEASURED_MESH_H

#include "mesh/mesh_draw.h"
#include "scene/scene.h"

typedef struct splat_measured_mesh {
    splat_mesh mesh;
    splat_mesh_painter painter; /* has room for the scene's largest view */
    float background[3];
    char *name; /* splat_measured_mesh_name */
} splat_measured_mesh;

/* "mesh_<name of the file without its end>", as folders and results have it. The caller frees; NULL: no memory. */
char *splat_measured_mesh_name(const char *mesh_path);
/* Reads the file, and the sky next to it, if any (io/dome_file.h). options NULL: the defaults. Close it in either case.
 * Errors: those of splat_mesh_read, splat_dome_read and splat_mesh_painter_open, ARGUMENT (no faces). */
splat_status splat_measured_mesh_open(splat_measured_mesh *measured, const splat_scene *scene, const char *mesh_path,
                                      const splat_mesh_draw_options *options, splat_error *error);
/* The same without a scene: over black, in pictures of at most n_pixels. */
splat_status splat_measured_mesh_open_for(splat_measured_mesh *measured, const splat_context *context,
                                          const char *mesh_path, const splat_mesh_draw_options *options,
                                          size_t n_pixels, splat_error *error);
void splat_measured_mesh_close(splat_measured_mesh *measured);

#endif
