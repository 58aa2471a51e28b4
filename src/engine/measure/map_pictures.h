/* Depth, normals and other maps of views, as files. */
#ifndef SPLAT_MEASURE_MAP_PICTURES_H
#define SPLAT_MEASURE_MAP_PICTURES_H

#include "splatsmith/model.h"
#include "splatsmith/scene.h"

/* Pictures of a view besides its colours, as bits: */
typedef enum splat_map_kind {
    SPLAT_MAP_DEPTH = 1,   /* expected depth: 16-bit PNG, PFM (float32), JSON with the PNG's scale and the intrinsics */
    SPLAT_MAP_MEDIAN = 2,  /* the same of the median depth */
    SPLAT_MAP_NORMAL = 4,  /* world normals: (n + 1) / 2 as 8-bit RGB, PFM */
    SPLAT_MAP_ALPHA = 8,   /* 8-bit gray PNG, PFM */
    SPLAT_MAP_DENSITY = 16 /* Gaussians blended, in the colours of the TensorBoard heat map; PNG */
} splat_map_kind;
#define SPLAT_N_MAP_KINDS 5
/* Writes <folder>/{train,test}/ours_N/{depth,median,normal,alpha,density}_R/%05d.{png,pfm,json}, the kinds of `kinds`
 * (docs/files.md). Nothing is measured. Errors: ARGUMENT (no such kind), IO, MEMORY, STOPPED. */
splat_status splat_maps_write(splat_model *model, splat_scene *scene, const splat_view_job *job, unsigned kinds,
                              const char *folder, int iteration, splat_error *error);

#endif
