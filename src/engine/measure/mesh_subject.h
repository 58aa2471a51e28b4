/* A mesh file that is to be drawn from the cameras of a scene. */
#ifndef SPLAT_MEASURE_MESH_SUBJECT_H
#define SPLAT_MEASURE_MESH_SUBJECT_H

#include "mesh/mesh_draw.h"
#include "scene/scene.h"

typedef struct splat_mesh_subject {
    splat_mesh mesh;
    splat_mesh_painter painter; /* with room for the scene's largest view */
    float background[3];
    char *name;                 /* splat_mesh_subject_name */
} splat_mesh_subject;

/* "mesh_<name of the file without its end>", as folders and results have it. The caller frees; NULL: no memory. */
char *splat_mesh_subject_name(const char *mesh_path);
/* Reads the file. options NULL: the defaults. Close it in either case. Errors: those of splat_mesh_read and
 * splat_mesh_painter_open, ARGUMENT (no faces). */
splat_status splat_mesh_subject_open(splat_mesh_subject *subject, const splat_scene *scene, const char *mesh_path,
                                     const splat_mesh_draw_options *options, splat_error *error);
/* The same without a scene: over black, in pictures of at most n_pixels. */
splat_status splat_mesh_subject_open_for(splat_mesh_subject *subject, const splat_context *context,
                                         const char *mesh_path, const splat_mesh_draw_options *options,
                                         size_t n_pixels, splat_error *error);
void splat_mesh_subject_close(splat_mesh_subject *subject);

#endif
