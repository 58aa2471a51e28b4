/* A report on a mesh file: its quality, and its distances from a reference. */
#ifndef SPLAT_MESH_MESH_REPORT_H
#define SPLAT_MESH_MESH_REPORT_H

#include "mesh/measure/mesh_figures.h"

void splat_mesh_report_options_init_sized(splat_mesh_report_options *options, size_t size);
#define splat_mesh_report_options_init(options) splat_mesh_report_options_init_sized(options, sizeof *(options))
/* Reads a mesh (splat_mesh_get_format) and measures it. The same file, options and seed give the same figures for any
 * number of threads. Errors: IO, FORMAT (with byte or line; no faces), UNSUPPORTED, ARGUMENT (a threshold that is not
 * above 0; a reference without points, or without any part of the mesh near it), MEMORY. */
splat_status splat_mesh_report_make(const splat_context *context, const char *path,
                                    const splat_mesh_report_options *options, splat_mesh_report *report,
                                    splat_error *error);
/* As JSON; docs/files.md has the keys. Errors: IO, MEMORY. */
splat_status splat_mesh_report_write(const splat_mesh_report *report, const char *path, splat_error *error);
/* As TensorBoard scalars Mesh/Topology/..., Mesh/Quality/..., Mesh/Geometry/..., Mesh/Surface/... and
 * Mesh/Reference/... of a step, in a new event file in the folder, created when absent. Errors: IO, MEMORY. */
splat_status splat_mesh_report_write_tensorboard(const splat_mesh_report *report, const char *folder, int64_t step,
                                                 splat_error *error);

#endif
