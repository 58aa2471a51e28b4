/* Pictures of a mesh from the cameras of a scene. */
#ifndef SPLAT_MEASURE_MESH_VIEWS_H
#define SPLAT_MEASURE_MESH_VIEWS_H

#include "mesh/mesh_draw.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"

/* As bits: */
typedef enum splat_mesh_view_kind {
    SPLAT_MESH_VIEW_COLOR = 1,  /* the texture, else the colours of the vertices, else grey faces */
    SPLAT_MESH_VIEW_NORMAL = 2, /* the faces' normals in the world, whichever side is seen: (n + 1) / 2 as RGB, PFM */
    SPLAT_MESH_VIEW_DEPTH = 4,  /* 16-bit PNG, PFM and JSON, as SPLAT_MAP_DEPTH has them */
    SPLAT_MESH_VIEW_SHADED = 8  /* gray faces in the light of a lamp at the camera; their backs are red */
} splat_mesh_view_kind;
#define SPLAT_N_MESH_VIEW_KINDS 4
/* Draws a mesh (splat_mesh_get_format), both sides of its faces, over the scene's background from the cameras of a job,
 * and writes <folder>/{train,test}/mesh_<name>/{color,normal,depth,shaded}/%05d.{png,pfm,json}, the kinds of `kinds`;
 * <name> is that of the mesh's file without its end. Colours are drawn as `options` says (NULL: the defaults), the rest
 * at the centres of the pixels. What is nearer than 0.01 along the camera's axis is cut off. The pictures do not depend
 * on the context's threads; the mesh and one view are in memory. Nothing is measured. Errors: ARGUMENT (no such kind;
 * no faces; an option out of its range), IO, FORMAT, UNSUPPORTED, MEMORY, STOPPED. */
splat_status splat_mesh_views_write(splat_scene *scene, const char *mesh_path, const splat_view_job *job,
                                    unsigned kinds, const splat_mesh_draw_options *options, const char *folder,
                                    splat_error *error);

#endif
