/* A texture for a mesh in memory. */
#ifndef SPLAT_TEXTURE_PAINT_H
#define SPLAT_TEXTURE_PAINT_H

#include "mesh/mesh.h"
#include "model/model.h"
#include "scene/scene.h"
#include "splatsmith/texture.h"

/* splat_texture_make without files: gives the mesh texture coordinates, pages and normals, and takes its colours. On
 * failure it may be left with some of them, and is valid. */
splat_status splat_texture_paint(splat_context *context, splat_scene *scene, splat_mesh *mesh, splat_model *model,
                                 const splat_texture_options *options, splat_texture_info *info, splat_error *error);

#endif
