/* Materials of OBJ files: the picture that each names in an MTL file. */
#ifndef SPLAT_MESH_OBJ_MATERIALS_H
#define SPLAT_MESH_OBJ_MATERIALS_H

#include "mesh/files/texture_files.h"

#define SPLAT_OBJ_NO_MATERIAL UINT32_MAX

typedef struct splat_obj_material {
    const char *name; /* points into the text of the OBJ file */
    char *picture;    /* map_Kd of its newmtl; NULL: none */
    bool is_defined;
} splat_obj_material;

typedef struct splat_obj_materials {
    const char **libraries; /* lines mtllib; point into the text of the OBJ file */
    size_t n_libraries, library_capacity;
    splat_obj_material *items; /* sorted by their first usemtl */
    size_t n, capacity;
    uint32_t *slots;           /* a hash table of their names: index + 1, 0: free */
    size_t n_slots;
} splat_obj_materials;

void splat_obj_materials_free(splat_obj_materials *materials);
/* The text of a line mtllib or usemtl after the keyword; it is cut at its end, and must live on. Errors: MEMORY. */
splat_status splat_obj_materials_library(splat_obj_materials *materials, char *text, splat_error *error);
splat_status splat_obj_materials_use(splat_obj_materials *materials, char *text, uint32_t *index, splat_error *error);
/* Reads the MTL files and the pictures that faces need into the mesh's texture; what cannot be had is left out, and
 * mesh->notice says so. of_face[n_faces]: material. Errors: MEMORY. */
splat_status splat_obj_materials_apply(splat_obj_materials *materials, splat_mesh *mesh, const char *path,
                                       const uint32_t *of_face, splat_error *error);
/* An MTL file with the materials page_0, page_1 and so on. */
void splat_obj_materials_write(FILE *stream, const splat_page_saves *pages, const splat_mesh_write_options *options);

#endif
