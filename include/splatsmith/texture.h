/* splatsmith/texture.h - a texture for a mesh, from the photos of its scene or from the Gaussians bound to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SPLATSMITH_TEXTURE_H
#define SPLATSMITH_TEXTURE_H

#include "splatsmith/core.h"
#include "splatsmith/model.h"
#include "splatsmith/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The source of the texels' colours. */
typedef enum splat_texture_bake {
    SPLAT_BAKE_PHOTOS = 0,   /* the training photos, levelled and blended in two bands; texels that no photo sees take
                                the colour of the bound Gaussians, if there are any */
    SPLAT_BAKE_GAUSSIANS = 1 /* pictures of the bound Gaussians' colours of degree 0 from the training views, averaged
                                (SuGaR) */
} splat_texture_bake;
#define SPLAT_WORDS_TEXTURE_BAKE "photos|gaussians"

/* Receives the progress between pieces of work: the fraction of the stage, 0 to 1. Return false to stop (STOPPED). */
typedef bool (*splat_texture_progress)(void *user, const char *stage, double fraction);

typedef struct splat_texture_options {
    size_t size;
    splat_texture_bake bake;    /* PHOTOS */
    int texture_size;           /* sides of the only page in texels, 64 to 65500, which is filled; 0: texel_density
                                   decides */
    double texel_density;       /* texels for a pixel of the best photo of a face; 1; above 0, at most 16; up to
                                   sqrt 2 times as many if small pieces of the mesh save texels */
    int max_texture;            /* sides of pages, 64 to 65500; 8192 */
    int square_size;            /* 0: charts; else SuGaR's packing: two faces in a square with sides of this many
                                   texels, 5 to 1000 */
    bool reject_outliers;       /* PHOTOS: leave out views in which a face has another colour than in the others;
                                   true */
    bool level_exposure;        /* PHOTOS: level brightness and colour of the photos; true */
    bool two_bands;             /* PHOTOS: take details from one photo at each place, average the rest; false: average
                                   everything; true */
    int polish_steps;           /* PHOTOS: steps of Adam on the texels, each against one levelled photo; 0: none; 150 */
    int gaussians_per_triangle; /* in the bound splat: 1, 3, 4 or 6; 0 (default): Gaussians over faces */
    bool postprocess_mesh;      /* remove the thin rim of the mesh, by the bound Gaussians (SuGaR); false */
    float postprocess_density_threshold; /* keep a face of the rim if its Gaussians' density at its centroid is above
                                            this; 0.1 */
    int postprocess_iterations; /* rings of faces that may be removed; 5 */
    int jpeg_quality;           /* quality of the pages, 1 to 100; 0 (default): PNG, without loss */
    bool is_lit;                /* GLB and OBJ: true: a standard material, which lamps light; false: the plain texture
                                   (KHR_materials_unlit), because it contains the light of the photos */
    bool no_sky;                /* leave `sky` out; false */
    const char *sky;            /* the sky.safetensors of the splat: a GLB gets an unlit node `sky` around the mesh, and
                                   the file is copied next to the meshes; NULL (default): none */
    uint64_t max_host_bytes;    /* host memory for faces, views and texels; 0: no limit */
    splat_texture_progress progress; /* NULL: none */
    void *progress_user;
    int lods;                   /* PHOTOS: coarser levels of the mesh, 0 (default) to 8; each has a quarter of the faces
                                   of the level before, and half of its texels a unit (or half of texture_size) */
} splat_texture_options;

typedef struct splat_texture_info {
    size_t n_faces, n_charts;     /* n_charts: 0 for SuGaR's packing */
    size_t n_pages;
    int width, height;            /* size of the first page, texels */
    double used;                  /* share of the pages' area that faces cover */
    size_t n_texels;              /* texels of faces */
    double from_photos;           /* share of the texels that views see */
    double from_gaussians;        /* share with the colour of bound Gaussians */
    double filled;                /* share with the colour of neighbours */
    int gaussians_per_triangle;   /* 0: no Gaussians */
    size_t n_rim_faces;           /* faces of the rim that were removed */
    size_t n_faces_seen;          /* faces that a view sees */
    size_t n_outliers, n_candidates; /* pairs of face and view: left out as outliers, and all */
    double polish_losses[2];      /* 0.8 L1 + 0.2 (1 - SSIM): means of the first and of the last tenth of the steps */
    double seams[2];              /* mean |left - right| in bytes along edges whose faces are seen and lie apart on
                                     the pages: before and after the polish */
    uint64_t host_bytes;          /* planned host memory of the work */
    int n_lods;                   /* coarser levels that were written; the other figures are of the mesh itself */
} splat_texture_info;

void splat_texture_options_init_sized(splat_texture_options *options, size_t size);
#define splat_texture_options_init(options) splat_texture_options_init_sized(options, sizeof *(options))
/* Sets a field by its name from a text: see "options" in splatsmith/core.h. */
splat_status splat_texture_options_set(splat_texture_options *options, const char *name, const char *text,
                                       splat_error *error);
/* Checks the options, as splat_texture_make does. Errors: ARGUMENT (an option is out of its range). */
splat_status splat_texture_options_check(const splat_texture_options *options, splat_error *error);

/* Reads a mesh (splat_mesh_get_format), makes texture coordinates and a texture for it, and writes it to each of the
 * paths, whose endings must be of formats with textures. The mesh loses its own texture and vertex colours.
 *
 * With `lods`, level k of NAME.glb is NAME_LODk.glb, without the sky, painted from the photos as the mesh is. A level
 * that would have fewer than 64 faces, or whose shape, pieces and holes need more than half of the faces before, is
 * left out with those after it; a notice says so. *info is of the mesh itself.
 *
 * model: the Gaussians bound to the mesh, as a refinement writes them: g for each face, those of face f at f g to
 * f g + g - 1, in the plane of the face. NULL: none; only PHOTOS allows this.
 *
 * A notice says how much host memory the work needs. If max_host_bytes is less, the call fails (MEMORY) before it
 * begins. One view and one band of texels are in memory at a time, and photos in the scene's cache. The result does not
 * depend on the number of threads.
 *
 * Errors: ARGUMENT (an option, a mesh without faces, a mesh that no training view sees, Gaussians that are not bound to
 * it, too many pages), FORMAT, UNSUPPORTED, MEMORY, IO, STOPPED. */
splat_status splat_texture_make(splat_context *context, splat_scene *scene, const char *mesh_path, splat_model *model,
                                const splat_texture_options *options, const char *const *paths, size_t n_paths,
                                splat_texture_info *info, splat_error *error);

#ifdef __cplusplus
}
#endif
#endif
