/* Fusion of the training views' depth maps, in levels that reach as far as the views see. */
#ifndef SPLAT_SURFACE_EXTRACT_FUSION_H
#define SPLAT_SURFACE_EXTRACT_FUSION_H

#include "mesh/mesh.h"
#include "surface/extract/extraction.h"

/* The foreground. */
splat_status splat_extract_fusion(const splat_extraction *extraction, splat_mesh *mesh, splat_error *error);

#endif
