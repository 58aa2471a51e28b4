/* A refined mesh as a file. */
#ifndef SPLAT_SURFACE_REFINE_SAVE_H
#define SPLAT_SURFACE_REFINE_SAVE_H

#include "splatsmith/refine.h"

/* The mesh of a trainer, with the colours of its Gaussians at the vertices, as `folder`/mesh.ply. */
splat_status splat_refine_save(const splat_trainer *trainer, const char *folder, splat_error *error);

#endif
