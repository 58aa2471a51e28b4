/* Encoding, saving and finding the pages of textures. */
#include "mesh/files/texture_files.h"

#include "io/picture/image_read.h"
#include "io/picture/image_write.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static splat_status no_memory(const char *path, splat_error *error)
{
    return splat_fail_at(error, SPLAT_ERROR_MEMORY, path, SPLAT_NO_OFFSET, "no memory for the texture of a mesh");
}

char *splat_path_with_ending(const char *path, const char *ending)
{
    const char *name = splat_basename(path), *dot = strrchr(name, '.');
    int length = (int)(dot && dot > name ? dot - path : (ptrdiff_t)strlen(path));
    return splat_format("%.*s%s", length, path, ending);
}

char *splat_path_beside(const char *path, const char *name)
{
    return splat_format("%.*s%s", (int)(splat_basename(path) - path), path, name);
}

/* ---------------------------------------------------------------- writing */

splat_status splat_page_encode(const splat_mesh *mesh, size_t page, const splat_mesh_write_options *options,
                               uint8_t **data, size_t *size, splat_error *error)
{
    const splat_image *p = &mesh->pages[page];
    if (options->jpeg_quality > 0)
        return splat_jpeg_encode("a texture", p->width, p->height, p->pixels, options->jpeg_quality, data, size, error);
    return splat_png_encode("a texture", p->width, p->height, 3, p->pixels, data, size, error);
}

static splat_status save_page(splat_page_saves *saves, const char *mesh_path, const splat_mesh *mesh,
                              const splat_mesh_write_options *options, splat_error *error)
{
    uint8_t *data;
    size_t size, page = saves->n;
    char ending[32];
    if (mesh->n_pages == 1) snprintf(ending, sizeof ending, options->jpeg_quality ? ".jpg" : ".png");
    else snprintf(ending, sizeof ending, options->jpeg_quality ? "_%zu.jpg" : "_%zu.png", page);
    char *path = splat_path_with_ending(mesh_path, ending);
    char *name = path ? splat_format("%s", splat_basename(path)) : NULL;
    splat_status status = path && name ? splat_page_encode(mesh, page, options, &data, &size, error)
                                       : no_memory(mesh_path, error);
    if (status == SPLAT_OK) {
        status = splat_disk_check(path, size, error);
        if (status == SPLAT_OK) status = splat_save_open(&saves->saves[page], path, error);
        if (status == SPLAT_OK) {
            fwrite(data, 1, size, saves->saves[page].stream);
            saves->names[page] = name;
            name = NULL;
            saves->n++;
        }
        free(data);
    }
    free(path);
    free(name);
    return status;
}

splat_status splat_page_saves_open(splat_page_saves *saves, const char *mesh_path, const splat_mesh *mesh,
                                   const splat_mesh_write_options *options, splat_error *error)
{
    *saves = (splat_page_saves){.n = 0};
    if (mesh->n_pages == 0) return SPLAT_OK;
    saves->saves = calloc(mesh->n_pages, sizeof *saves->saves);
    saves->names = calloc(mesh->n_pages, sizeof *saves->names);
    splat_status status = saves->saves && saves->names ? SPLAT_OK : no_memory(mesh_path, error);
    while (status == SPLAT_OK && saves->n < mesh->n_pages) status = save_page(saves, mesh_path, mesh, options, error);
    if (status != SPLAT_OK) splat_page_saves_close(saves);
    return status;
}

splat_status splat_page_saves_commit(splat_page_saves *saves, splat_save *const *files, size_t n_files,
                                     splat_error *error)
{
    size_t n = saves->n + n_files;
    splat_status status = SPLAT_OK;
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) { /* what cannot be committed is tried first */
        splat_save *save = i < saves->n ? &saves->saves[i] : files[i - saves->n];
        if (fflush(save->stream) != 0 || ferror(save->stream) || splat_path_is_folder(save->path))
            status = splat_save_commit(save, error);
    }
    for (size_t i = 0; i < n; i++) {
        splat_save *save = i < saves->n ? &saves->saves[i] : files[i - saves->n];
        if (status == SPLAT_OK) status = splat_save_commit(save, error);
        else splat_save_abort(save);
    }
    return status;
}

void splat_page_saves_close(splat_page_saves *saves)
{
    for (size_t i = 0; i < saves->n; i++) {
        splat_save_abort(&saves->saves[i]);
        free(saves->names[i]);
    }
    free(saves->saves);
    free(saves->names);
    *saves = (splat_page_saves){.n = 0};
}

/* ---------------------------------------------------------------- reading */

void splat_page_reader_init(splat_page_reader *reader, splat_mesh *mesh, const char *path)
{
    *reader = (splat_page_reader){.mesh = mesh, .path = path, .white = -1};
}

void splat_page_reader_free(splat_page_reader *reader)
{
    for (size_t i = 0; i < reader->n; i++) free(reader->entries[i].name);
    free(reader->entries);
    *reader = (splat_page_reader){.n = 0};
}

/* True if the name was requested before; *page is that result. */
static bool is_known(const splat_page_reader *reader, const char *name, int *page)
{
    for (size_t i = 0; i < reader->n; i++) {
        if (strcmp(reader->entries[i].name, name) != 0) continue;
        *page = reader->entries[i].page;
        return true;
    }
    return false;
}

static splat_status remember(splat_page_reader *reader, const char *name, int page, splat_error *error)
{
    struct splat_page_entry *grown = splat_array_grow(reader->entries, &reader->capacity, reader->n, sizeof *grown);
    char *copy = splat_format("%s", name);
    if (grown) reader->entries = grown;
    if (!grown || !copy) {
        free(copy);
        return no_memory(reader->path, error);
    }
    grown[reader->n++] = (struct splat_page_entry){copy, page};
    return SPLAT_OK;
}

splat_status splat_page_reader_refuse(splat_page_reader *reader, const char *name, const char *why, splat_error *error)
{
    if (!reader->mesh->notice) { /* the first says enough */
        reader->mesh->notice = splat_format("%s: the texture %.200s is left out: %s", reader->path, name, why);
        if (!reader->mesh->notice) return no_memory(reader->path, error);
    }
    return remember(reader, name, -1, error);
}

/* Textures are RGB; alpha is passed over. */
static void drop_alpha(splat_image *image)
{
    size_t n = (size_t)image->width * (size_t)image->height;
    if (image->channels != 4) return;
    for (size_t i = 1; i < n; i++) memmove(image->pixels + 3 * i, image->pixels + 4 * i, 3);
    image->channels = 3;
}

/* No file needs more: pages are 8192 x 8192 as a rule, 200 MB each. Small files of pictures can unfold to any size. */
#define MAX_BYTES ((uint64_t)8 << 30)

static splat_status check_room(const splat_page_reader *reader, const splat_image *image, splat_error *why)
{
    uint64_t bytes = (uint64_t)image->width * (uint64_t)image->height * 3;
    for (size_t i = 0; i < reader->mesh->n_pages; i++)
        bytes += (uint64_t)reader->mesh->pages[i].width * (uint64_t)reader->mesh->pages[i].height * 3;
    if (reader->mesh->n_pages + 1 < SPLAT_MESH_MAX_PAGES && bytes <= MAX_BYTES) return SPLAT_OK;
    return splat_fail(why, SPLAT_ERROR_UNSUPPORTED, "a mesh may have %d textures and 8 GiB of them",
                      SPLAT_MESH_MAX_PAGES - 1);
}

/* Takes a picture that was read, or says why there is none. */
static splat_status take(splat_page_reader *reader, const char *name, splat_status read, splat_image *image,
                         const splat_error *why, int *page, splat_error *error)
{
    splat_error local;
    if (read == SPLAT_ERROR_MEMORY) return no_memory(reader->path, error);
    if (read == SPLAT_OK) {
        drop_alpha(image);
        read = check_room(reader, image, &local);
        if (read == SPLAT_OK) read = splat_mesh_add_page(reader->mesh, image, &local);
        splat_image_free(image);
        if (read == SPLAT_ERROR_MEMORY) return no_memory(reader->path, error);
        why = &local;
    }
    if (read != SPLAT_OK) return splat_page_reader_refuse(reader, name, why->message, error);
    *page = (int)reader->mesh->n_pages - 1;
    return remember(reader, name, *page, error);
}

splat_status splat_page_reader_bytes(splat_page_reader *reader, const char *name, const uint8_t *data, size_t size,
                                     int *page, splat_error *error)
{
    splat_image image = {0};
    splat_error why = {0};
    *page = -1;
    if (is_known(reader, name, page)) return SPLAT_OK;
    splat_status read = splat_image_decode(reader->path, data, size, &image, &why);
    return take(reader, name, read, &image, &why, page, error);
}

splat_status splat_page_reader_file(splat_page_reader *reader, const char *name, int *page, splat_error *error)
{
    splat_image image = {0};
    splat_error why = {0};
    *page = -1;
    if (is_known(reader, name, page)) return SPLAT_OK;
    char *clean = splat_format("%s", name), *path = NULL;
    for (char *c = clean; c && *c; c++)
        if (*c == '\\') *c = '/';
    if (clean) path = splat_path_beside(reader->path, splat_name_is_inside(clean) ? clean : splat_basename(clean));
    splat_status status = no_memory(reader->path, error);
    if (path && clean) {
        bool has_name = *splat_basename(clean) != '\0';
        splat_status read = has_name ? splat_image_read(path, &image, &why)
                                     : splat_fail(&why, SPLAT_ERROR_IO, "it names no file");
        status = take(reader, name, read, &image, &why, page, error);
    }
    free(clean);
    free(path);
    return status;
}

static splat_status add_white(splat_page_reader *reader, splat_error *error)
{
    splat_image white = {1, 1, 3, malloc(3)};
    if (!white.pixels) return no_memory(reader->path, error);
    memset(white.pixels, 255, 3);
    reader->white = (int)reader->mesh->n_pages;
    splat_status status = splat_mesh_add_page(reader->mesh, &white, error);
    splat_image_free(&white);
    return status;
}

splat_status splat_page_reader_finish(splat_page_reader *reader, const int16_t *pages, bool keep_colors,
                                      splat_error *error)
{
    splat_mesh *mesh = reader->mesh;
    if (!mesh->uvs) splat_mesh_drop_texture(mesh); /* pictures that no face shows */
    if (mesh->n_pages == 0) return SPLAT_OK;
    if (!keep_colors) {
        free(mesh->colors);
        mesh->colors = NULL;
    }
    for (size_t f = 0; f < mesh->n_faces; f++) {
        int page = pages[f];
        if (page < 0 && reader->white < 0) SPLAT_TRY(add_white(reader, error));
        if (page < 0) page = reader->white;
        if (page == reader->white) memset(mesh->uvs + 6 * f, 0, 24);
        if (page > 0) SPLAT_TRY(splat_mesh_require_face_pages(mesh, error));
        if (mesh->face_pages) mesh->face_pages[f] = (uint8_t)page;
    }
    return SPLAT_OK;
}
