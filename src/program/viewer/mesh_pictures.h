/* A mesh in place of a splat: its pictures, drawn on the CPU. */
#ifndef SPLAT_VIEWER_MESH_PICTURES_H
#define SPLAT_VIEWER_MESH_PICTURES_H

#include "mesh/mesh_draw.h"
#include "viewer/message.h"
#include "viewer/state.h"

struct splat_viewer_mesh {
    const splat_context *context; /* borrowed */
    splat_mesh mesh;
    splat_mesh shown;             /* shares all arrays but faces; faces outside the box have no area */
    splat_viewer_box box;         /* box of `shown`, if it has faces */
    splat_mesh_painter painter;   /* has room for the largest picture */
};

/* Reads a mesh. Errors: those of splat_mesh_read and splat_mesh_painter_open, ARGUMENT (no faces), MEMORY. */
splat_status splat_viewer_mesh_open(const splat_context *context, const char *path, splat_viewer_mesh **mesh,
                                    splat_error *error);
void splat_viewer_mesh_close(splat_viewer_mesh *mesh);
/* True if there is such a picture of a mesh. */
bool splat_viewer_mesh_has(splat_viewer_kind kind);
/* Colours of texture, vertices, or grey, float[3][height][width]. With a box (of the wish) faces with their centre
 * outside are not drawn. While the camera moves a pixel is one sample, else four. */
splat_status splat_viewer_mesh_colors(splat_viewer_mesh *mesh, const splat_viewer_wish *wish,
                                      const splat_camera *camera, const float background[3], float *image,
                                      splat_error *error);
/* DEPTH, NORMAL or SHADED as uint8_t[height][width][3]; `buffer` is room for 3 floats a pixel. */
splat_status splat_viewer_mesh_map(splat_viewer_mesh *mesh, const splat_viewer_wish *wish, const splat_camera *camera,
                                   const float background[3], float *buffer, uint8_t *rgb, splat_error *error);

#endif
