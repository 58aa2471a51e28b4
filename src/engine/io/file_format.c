/* Which row of a table of formats a file belongs to. */
#include "io/file_format.h"

#include "base/file.h"

#include <string.h>
#include <strings.h>

splat_status splat_file_head(const char *path, uint8_t head[SPLAT_FILE_HEAD], size_t *n, splat_error *error)
{
    FILE *stream;
    uint64_t size;
    *n = 0;
    SPLAT_TRY(splat_file_open_stream(path, &stream, &size, error));
    *n = fread(head, 1, SPLAT_FILE_HEAD, stream);
    bool failed = ferror(stream) != 0;
    fclose(stream);
    return failed ? splat_fail_at(error, SPLAT_ERROR_IO, path, *n, "the file cannot be read") : SPLAT_OK;
}

static bool has_ending(const char *path, const char *ending)
{
    size_t length = strlen(path), n = strlen(ending);
    return length > n && strcasecmp(path + length - n, ending) == 0;
}

static bool is_usable(const splat_file_format *format, bool writing)
{
    return writing ? format->writes : format->reads;
}

/* The row of the longest ending; formats->n when there is none. */
static size_t find_by_name(const splat_file_formats *formats, const char *path, bool writing)
{
    size_t found = formats->n, longest = 0;
    for (size_t i = 0; i < formats->n; i++) {
        const splat_file_format *format = &formats->rows[i];
        size_t length = strlen(format->ending);
        if (!is_usable(format, writing) || length <= longest || !has_ending(path, format->ending)) continue;
        found = i;
        longest = length;
    }
    return found;
}

/* ".ply (PLY), .obj (OBJ) or .glb (GLB)" */
static void list_endings(const splat_file_formats *formats, bool writing, char text[SPLAT_FILE_FORMATS_TEXT])
{
    size_t n = 0, at = 0, length = 0;
    for (size_t i = 0; i < formats->n; i++) n += is_usable(&formats->rows[i], writing);
    text[0] = '\0';
    for (size_t i = 0; i < formats->n; i++) {
        const splat_file_format *format = &formats->rows[i];
        if (!is_usable(format, writing)) continue;
        const char *before = at == 0 ? "" : at + 1 == n ? " or " : ", ";
        int added = snprintf(text + length, SPLAT_FILE_FORMATS_TEXT - length, "%s%s (%s)", before, format->ending,
                             format->name);
        if (added < 0 || (length += (size_t)added) >= SPLAT_FILE_FORMATS_TEXT) return;
        at++;
    }
}

splat_status splat_file_format_to_write(const splat_file_formats *formats, const char *path, size_t *row,
                                        splat_error *error)
{
    char endings[SPLAT_FILE_FORMATS_TEXT];
    const char *slash = strrchr(path, '/');
    *row = find_by_name(formats, path, true);
    if (*row < formats->n) return SPLAT_OK;
    *row = 0;
    if (!formats->needs_ending && !strchr(slash ? slash + 1 : path, '.')) return SPLAT_OK;
    list_endings(formats, true, endings);
    return splat_fail_at(error, SPLAT_ERROR_ARGUMENT, path, SPLAT_NO_OFFSET,
                         "the end of the name chooses the format of %s: %s", formats->what, endings);
}

splat_status splat_file_format_to_read(const splat_file_formats *formats, const bool *fits, const char *path,
                                       size_t *row, splat_error *error)
{
    char endings[SPLAT_FILE_FORMATS_TEXT];
    size_t named = find_by_name(formats, path, false);
    *row = named;
    if (named < formats->n && fits[named]) return SPLAT_OK;
    for (size_t i = 0; i < formats->n; i++) {
        if (!formats->rows[i].reads || !fits[i]) continue;
        *row = i;
        return SPLAT_OK;
    }
    if (named < formats->n) return SPLAT_OK;
    list_endings(formats, false, endings);
    return splat_fail_at(error, SPLAT_ERROR_UNSUPPORTED, path, SPLAT_NO_OFFSET,
                         "this is none of the files that %s is read from: %s", formats->what, endings);
}
