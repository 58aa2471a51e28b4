/* Reading and writing MTL files, as far as pictures go. */
#include "mesh/files/obj_materials.h"

#include "base/array.h"
#include "io/number.h"

#include <stdlib.h>
#include <string.h>

static splat_status no_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the materials of an OBJ file");
}

void splat_obj_materials_free(splat_obj_materials *materials)
{
    for (size_t i = 0; i < materials->n; i++) free(materials->items[i].picture);
    free(materials->items);
    free(materials->libraries);
    free(materials->slots);
    *materials = (splat_obj_materials){.n = 0};
}

/* Ends a line's text before its comment and trailing blanks. */
static char *trim(char *text)
{
    size_t n = strcspn(text, "\r\n");
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
    text[n] = '\0';
    return text;
}

splat_status splat_obj_materials_library(splat_obj_materials *materials, char *text, splat_error *error)
{
    const char **grown = splat_array_grow(materials->libraries, &materials->library_capacity, materials->n_libraries,
                                          sizeof *grown);
    if (!grown) return no_memory(error);
    materials->libraries = grown;
    grown[materials->n_libraries++] = trim(text);
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- names */

/* FNV-1a (Fowler, Noll, Vo). */
static size_t hash_of(const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 1099511628211u;
    return (size_t)(hash ^ hash >> 32);
}

/* Returns the place of a name in the table, or the place for it. */
static size_t slot_of(const splat_obj_materials *m, const char *name)
{
    size_t slot = hash_of(name) & (m->n_slots - 1);
    while (m->slots[slot] && strcmp(m->items[m->slots[slot] - 1].name, name) != 0) slot = (slot + 1) & (m->n_slots - 1);
    return slot;
}

static splat_status grow_slots(splat_obj_materials *m, splat_error *error)
{
    if (2 * (m->n + 1) <= m->n_slots) return SPLAT_OK;
    uint32_t *slots = calloc(m->n_slots ? 2 * m->n_slots : 64, sizeof *slots);
    if (!slots) return no_memory(error);
    free(m->slots);
    m->slots = slots;
    m->n_slots = m->n_slots ? 2 * m->n_slots : 64;
    for (size_t i = 0; i < m->n; i++) m->slots[slot_of(m, m->items[i].name)] = (uint32_t)i + 1;
    return SPLAT_OK;
}

splat_status splat_obj_materials_use(splat_obj_materials *materials, char *text, uint32_t *index, splat_error *error)
{
    const char *name = trim(text);
    SPLAT_TRY(grow_slots(materials, error));
    size_t slot = slot_of(materials, name);
    if (!materials->slots[slot]) {
        splat_obj_material *grown = splat_array_grow(materials->items, &materials->capacity, materials->n,
                                                     sizeof *grown);
        if (!grown) return no_memory(error);
        materials->items = grown;
        grown[materials->n++] = (splat_obj_material){.name = name};
        materials->slots[slot] = (uint32_t)materials->n;
    }
    *index = materials->slots[slot] - 1;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- MTL */

static char *after(char *line, const char *keyword)
{
    size_t n = strlen(keyword);
    line += strspn(line, " \t");
    if (strncmp(line, keyword, n) != 0 || (line[n] != ' ' && line[n] != '\t')) return NULL;
    return line + n + strspn(line + n, " \t");
}

/* The file name of a line map_Kd: what follows its options (-clamp on, -o 0 0 0 and so on). */
static char *skip_options(char *text)
{
    while (text[0] == '-' && text[1] >= 'a' && text[1] <= 'z') {
        text += strcspn(text, " \t");
        text += strspn(text, " \t");
        for (int i = 0; i < 3; i++) { /* a word, or up to three numbers */
            char *end;
            bool is_switch = strncmp(text, "on ", 3) == 0 || strncmp(text, "off ", 4) == 0;
            splat_number_parse(text, &end);
            if (!is_switch && (end == text || (*end != ' ' && *end != '\t'))) break;
            text = is_switch ? strchr(text, ' ') : end;
            text += strspn(text, " \t");
            if (is_switch) break;
        }
    }
    return text;
}

/* Keeps the pictures of the materials that faces use; of two of one name the first counts. */
static splat_status read_library_text(splat_obj_materials *m, char *text, splat_error *error)
{
    splat_obj_material *at = NULL;
    for (char *next, *name; text; text = next) {
        next = strchr(text, '\n');
        if (next) *next++ = '\0';
        if ((name = after(text, "newmtl"))) {
            size_t slot = slot_of(m, trim(name));
            at = m->slots[slot] ? &m->items[m->slots[slot] - 1] : NULL;
            if (at && at->is_defined) at = NULL;
            if (at) at->is_defined = true;
        }
        if (!at || at->picture || !(name = after(text, "map_Kd"))) continue;
        at->picture = splat_format("%s", skip_options(trim(name)));
        if (!at->picture) return no_memory(error);
    }
    return SPLAT_OK;
}

/* One that cannot be had becomes a notice, when a material is missing in the end. */
static splat_status read_library(splat_obj_materials *m, const char *path, const char *name, splat_error *why,
                                 splat_error *error)
{
    uint8_t *data;
    size_t size;
    bool is_inside = splat_name_is_inside(name);
    char *file = splat_path_beside(path, is_inside ? name : splat_basename(name));
    if (!file) return no_memory(error);
    splat_error local = {0};
    splat_status status = splat_file_read(file, &data, &size, &local);
    free(file);
    if (status == SPLAT_ERROR_MEMORY) return no_memory(error);
    if (status != SPLAT_OK) {
        splat_fail(why, status, "%.200s: %s", name, local.message);
        return SPLAT_OK;
    }
    status = read_library_text(m, (char *)data, error);
    free(data);
    return status;
}

splat_status splat_obj_materials_apply(splat_obj_materials *materials, splat_mesh *mesh, const char *path,
                                       const uint32_t *of_face, splat_error *error)
{
    splat_page_reader reader;
    splat_error why = {0};
    splat_status status = SPLAT_OK;
    if (materials->n == 0) return SPLAT_OK; /* coordinates, and no material that could have a picture */
    for (size_t i = 0; i < materials->n_libraries && status == SPLAT_OK; i++)
        status = read_library(materials, path, materials->libraries[i], &why, error);
    if (status != SPLAT_OK) return status;
    splat_page_reader_init(&reader, mesh, path);
    int16_t *pages = malloc((mesh->n_faces + 1) * sizeof *pages);
    int16_t *of_material = malloc((materials->n + 1) * sizeof *of_material);
    if (!pages || !of_material) status = no_memory(error);
    for (size_t i = 0; status == SPLAT_OK && i < materials->n; i++) {
        int page = -1;
        splat_obj_material *m = &materials->items[i];
        if (m->picture) status = splat_page_reader_file(&reader, m->picture, &page, error);
        else if (!m->is_defined && why.message[0])
            status = splat_page_reader_refuse(&reader, m->name, why.message, error);
        of_material[i] = (int16_t)page;
    }
    for (size_t f = 0; status == SPLAT_OK && f < mesh->n_faces; f++)
        pages[f] = of_face[f] == SPLAT_OBJ_NO_MATERIAL ? -1 : of_material[of_face[f]];
    if (status == SPLAT_OK) status = splat_page_reader_finish(&reader, pages, false, error);
    splat_page_reader_free(&reader);
    free(pages);
    free(of_material);
    return status;
}

void splat_obj_materials_write(FILE *stream, const splat_page_saves *pages, const splat_mesh_write_options *options)
{
    for (size_t i = 0; i < pages->n; i++)
        fprintf(stream, "newmtl page_%zu\nKa 0 0 0\nKd 1 1 1\nKs 0 0 0\nd 1\nillum %d\nmap_Kd %s\n", i,
                options->is_lit ? 1 : 0, pages->names[i]);
}
