/* A pipeline between two stages: its folder, and the splat and mesh that the next stage begins with. */
#ifndef SPLAT_PIPELINE_STATE_H
#define SPLAT_PIPELINE_STATE_H

#include <stdbool.h>

#define SPLAT_PIPELINE_PATH 4096

typedef struct splat_pipeline_splat {
    char folder[SPLAT_PIPELINE_PATH]; /* its model folder; "": there is the file only */
    char file[SPLAT_PIPELINE_PATH];   /* "": there is no splat yet */
    int iteration;                    /* -1: the file's name tells */
} splat_pipeline_splat;

typedef struct splat_pipeline_place {
    char folder[SPLAT_PIPELINE_PATH];  /* folder of all stages */
    char scene[SPLAT_PIPELINE_PATH];   /* absolute */
    char cameras[SPLAT_PIPELINE_PATH]; /* cameras.json of a scene that was made of photos alone; "": it had cameras */
    splat_pipeline_splat splat;        /* what the next stage begins with, */
    char mesh[SPLAT_PIPELINE_PATH];    /* and the mesh; "": there is none yet */
    bool is_bound; /* the splat's Gaussians are bound to the mesh, which lies in the splat's folder */
} splat_pipeline_place;

/* Results of a stage for later stages, as bits. */
enum {
    SPLAT_PIPELINE_SPLAT = 1, /* a model folder, with checkpoints to go on from */
    SPLAT_PIPELINE_MESH = 2,  /* meshes: in the stage's folder, or next to the splat */
    SPLAT_PIPELINE_FILES = 4  /* what the user wanted: all files in the stage's folder */
};

/* The results of a stage. */
typedef struct splat_pipeline_product {
    const char *name; /* name of the stage and of its folder */
    unsigned makes;
    /* Its splat and its mesh under a name in the pipeline's folder, where users look for them; NULL: left where it is.
     * SPLAT_PIPELINE_FILES are there under their own names. */
    const char *splat_name, *mesh_name;
} splat_pipeline_product;

#endif
