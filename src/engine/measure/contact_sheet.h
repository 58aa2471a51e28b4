/* Contact sheets: rows of pictures, to be looked at. */
#ifndef SPLAT_MEASURE_CONTACT_SHEET_H
#define SPLAT_MEASURE_CONTACT_SHEET_H

#include "mesh/mesh_draw.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"

/* A PNG, or a JPEG when `path` ends with .jpg or .jpeg, with one row a view: photo, render, error (x4). At most n_views
 * test views, evenly spread. The folder of `path` is made when absent. */
splat_status splat_contact_sheet_write(splat_model *model, splat_scene *scene, size_t n_views, const char *path,
                                       splat_error *error);

/* splat_contact_sheet_write with rows of photo, mesh and, with a model, its splat; without (NULL) the error (x4) of
 * the mesh. */
splat_status splat_mesh_contact_sheet_write(splat_scene *scene, const char *mesh_path,
                                            const splat_mesh_draw_options *options, splat_model *model, size_t n_views,
                                            const char *path, splat_error *error);

#endif
