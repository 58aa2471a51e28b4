/* The CSV of a registration. A line names a photo, its place (x, y, alt; z is up), its attitude in degrees and its
 * lens.
 *
 * In OpenGL axes (x right, y up, z backward) the camera's axes in the world are Rz(-heading) Rx(pitch) Ry(roll).
 * With all of them zero a camera looks straight down and the top of its photo is north (+y); pitch 90 looks level,
 * heading 90 is east (+x). Lengths of the lens: f is for a side of 36 mm, px and py are in sides, of the longer
 * side of the photo. */
#include "io/realitycapture/realitycapture.h"

#include "io/picture/image_read.h"

#include "base/array.h"
#include "base/file.h"
#include "io/foreign_poses.h"
#include "io/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 64
#define DEGREE (3.14159265358979323846 / 180)
#define FILM_SIDE 36.0 /* mm */

/* The columns that are read, by their names in the header. Those from PX on may lack: they are zero then. */
enum { NAME, X, Y, ALT, HEADING, PITCH, ROLL, F, PX, PY, K1, K2, K3, K4, T1, T2, N_COLUMNS };
static const char *const column_names[N_COLUMNS] = {"name", "x", "y", "alt", "heading", "pitch", "roll", "f",
                                                    "px", "py", "k1", "k2", "k3", "k4", "t1", "t2"};

typedef struct csv_file {
    const char *path;
    char *next;              /* the rest of the text, ended by NUL; NULL: read */
    uint64_t line;           /* of what was read last */
    int column[N_COLUMNS];   /* where it stands in a row, or -1 */
    size_t n_columns;        /* of a row */
} csv_file;

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read a registration");
}

/* ---------------------------------------------------------------- lines */

/* The next line without its end; NULL: no more. */
static char *next_line(csv_file *file)
{
    char *line = file->next;
    if (!line) return NULL;
    char *end = strchr(line, '\n');
    file->next = end && end[1] ? end + 1 : NULL;
    if (end) *end = '\0';
    size_t length = strlen(line);
    while (length && (line[length - 1] == '\r' || line[length - 1] == ' ')) line[--length] = '\0';
    file->line++;
    return line;
}

/* Returns the beginning of the column names in a header; NULL: the line is no header. */
static char *header_names(char *line)
{
    if (*line != '#') return NULL;
    line += 1 + strspn(line + 1, " ");
    return strncmp(line, "name,", 5) == 0 ? line : NULL;
}

/* Cuts a line at its commas; returns the number of cells, of which MAX_COLUMNS are set. */
static size_t cut(char *line, char *cells[MAX_COLUMNS])
{
    size_t n = 0;
    for (char *cell = line; cell; n++) {
        char *comma = strchr(cell, ',');
        if (comma) *comma = '\0';
        if (n < MAX_COLUMNS) cells[n] = cell + strspn(cell, " \t");
        cell = comma ? comma + 1 : NULL;
    }
    return n;
}

static splat_status read_header(csv_file *file, splat_error *error)
{
    char *line, *cells[MAX_COLUMNS];
    do line = next_line(file);
    while (line && !header_names(line));
    if (!line)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET,
                             "there is no line \"#name,x,y,alt,heading,pitch,roll,f,...\" in this file");
    file->n_columns = cut(header_names(line), cells);
    if (file->n_columns > MAX_COLUMNS)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line, "the file has %zu columns; the most "
                               "is %d", file->n_columns, MAX_COLUMNS);
    for (int c = 0; c < N_COLUMNS; c++) {
        file->column[c] = -1;
        for (size_t i = 0; i < file->n_columns; i++)
            if (strcmp(cells[i], column_names[c]) == 0) file->column[c] = (int)i;
        if (c < PX && file->column[c] < 0)
            return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line,
                                   "the column \"%s\" is missing; export \"Internal/External camera parameters\" "
                                   "with all of them", column_names[c]);
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- rows */

/* A camera. */
typedef struct csv_row {
    const char *name; /* of the photo, in the text */
    uint64_t line;
    double values[N_COLUMNS];
} csv_row;

static splat_status parse_row(const csv_file *file, char *line, csv_row *row, splat_error *error)
{
    char *cells[MAX_COLUMNS], *end;
    *row = (csv_row){.line = file->line};
    size_t n = cut(line, cells);
    if (n != file->n_columns)
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line,
                               "this line has %zu values, and the header names %zu columns", n, file->n_columns);
    for (int c = X; c < N_COLUMNS; c++) {
        if (file->column[c] < 0) continue;
        const char *cell = cells[file->column[c]];
        row->values[c] = splat_number_parse(cell, &end);
        if (end == cell || *end || !splat_poses_is_sound(row->values[c]))
            return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, file->line,
                                   "\"%s\" is \"%.60s\", which is no finite number", column_names[c], cell);
    }
    row->name = cells[file->column[NAME]];
    return SPLAT_OK;
}

/* By name, then as in the file. */
static int compare_rows(const void *a, const void *b)
{
    const csv_row *first = *(const csv_row *const *)a, *second = *(const csv_row *const *)b;
    int order = strcmp(first->name, second->name);
    return order ? order : (first->line > second->line) - (first->line < second->line);
}

/* Before photos are opened: a file may name one a million times. */
static splat_status check_names(const csv_file *file, const csv_row *rows, size_t n, splat_error *error)
{
    const csv_row **sorted = calloc(n, sizeof *sorted);
    if (!sorted) return fail_memory(error);
    for (size_t i = 0; i < n; i++) sorted[i] = &rows[i];
    qsort(sorted, n, sizeof *sorted, compare_rows);
    splat_status status = SPLAT_OK;
    for (size_t i = 1; i < n && status == SPLAT_OK; i++)
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
            status = splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, sorted[i]->line,
                                     "the photo \"%.200s\" has a camera in line %" PRIu64 " already; keep one of them, "
                                     "or name the photos with their sub-folders", sorted[i]->name,
                                     sorted[i - 1]->line);
    free(sorted);
    return status;
}

static splat_status read_rows(csv_file *file, csv_row **rows, size_t *n, splat_error *error)
{
    size_t capacity = 0;
    for (char *line; (line = next_line(file));) {
        if (!*line || *line == '#') continue;
        csv_row *grown = splat_array_grow(*rows, &capacity, *n, sizeof *grown);
        if (!grown) return fail_memory(error);
        *rows = grown;
        SPLAT_TRY(parse_row(file, line, &grown[(*n)++], error));
    }
    if (*n) return check_names(file, *rows, *n, error);
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, file->path, SPLAT_NO_OFFSET, "the file names no photo");
}

/* ---------------------------------------------------------------- cameras */

static void set_pose(const double v[N_COLUMNS], splat_transforms_frame *frame)
{
    double a = -v[HEADING] * DEGREE, b = v[PITCH] * DEGREE, c = v[ROLL] * DEGREE;
    const double x[3] = {cos(a) * cos(c) - sin(a) * sin(b) * sin(c), sin(a) * cos(c) + cos(a) * sin(b) * sin(c),
                         -cos(b) * sin(c)};
    const double y[3] = {-sin(a) * cos(b), cos(a) * cos(b), sin(b)};
    const double z[3] = {cos(a) * sin(c) + sin(a) * sin(b) * cos(c), sin(a) * sin(c) - cos(a) * sin(b) * cos(c),
                         cos(b) * cos(c)};
    double axes[9];
    for (int k = 0; k < 3; k++) { /* y down, z forward */
        axes[3 * k] = x[k];
        axes[3 * k + 1] = -y[k];
        axes[3 * k + 2] = -z[k];
    }
    splat_poses_set(frame, axes, &v[X]);
}

static splat_status set_lens(const csv_file *file, const csv_row *row, const char *photo, splat_transforms_frame *frame,
                             splat_error *error)
{
    int channels;
    const double *v = row->values;
    splat_error reason;
    if (splat_image_probe(photo, &frame->width, &frame->height, &channels, &reason) != SPLAT_OK)
        return splat_transforms_set_absent(frame, splat_basename(photo), &reason, error);
    double side = frame->width > frame->height ? frame->width : frame->height;
    frame->fx = frame->fy = v[F] * side / FILM_SIDE;
    frame->cx = v[PX] * side + 0.5 * frame->width;
    frame->cy = v[PY] * side + 0.5 * frame->height;
    if (!((float)frame->fx > 0) || !splat_poses_is_sound(frame->fx) || !splat_poses_is_sound(frame->cx) ||
        !splat_poses_is_sound(frame->cy))
        return splat_fail_line(error, SPLAT_ERROR_FORMAT, file->path, row->line,
                               "the focal length %g (mm) or the principal point %g, %g is out of range", v[F], v[PX],
                               v[PY]);
    const double coefficients[6] = {v[K1], v[K2], v[K3], v[K4], v[T1], v[T2]};
    frame->model = SPLAT_LENS_NERFSTUDIO;
    memcpy(frame->coefficients, coefficients, sizeof coefficients);
    return SPLAT_OK;
}

static splat_status set_frame(const csv_file *file, const csv_row *row, const char *scene, const char *images,
                              splat_transforms_frame *frame, splat_error *error)
{
    SPLAT_TRY(splat_poses_find_photo(scene, images, row->name, file->path, frame, error));
    set_pose(row->values, frame);
    if (frame->absent) return SPLAT_OK; /* the lens depends on its size */
    char *photo = frame->path[0] == '/' ? strdup(frame->path) : splat_format("%s/%s", scene, frame->path);
    splat_status status = photo ? set_lens(file, row, photo, frame, error) : fail_memory(error);
    free(photo);
    return status;
}

static splat_status set_frames(const csv_file *file, const csv_row *rows, size_t n, const char *scene,
                               const char *images, splat_transforms *transforms, splat_error *error)
{
    transforms->frames = calloc(n, sizeof *transforms->frames);
    if (!transforms->frames) return fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        transforms->n_frames++; /* first: what a frame holds is freed with it */
        SPLAT_TRY(set_frame(file, &rows[i], scene, images, &transforms->frames[i], error));
    }
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the folder */

static bool is_registration(char *start)
{
    csv_file file = {.next = start + (strncmp(start, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0)};
    for (char *line; (line = next_line(&file));)
        if (header_names(line)) return true;
    return false;
}

char *splat_realitycapture_find(const char *scene)
{
    return splat_poses_find_file(scene, ".csv", is_registration);
}

splat_status splat_realitycapture_read(const char *scene, const char *images, const char *path,
                                       splat_transforms *transforms, splat_error *error)
{
    uint8_t *data;
    size_t size;
    *transforms = (splat_transforms){.format = "realitycapture"};
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    char *text = (char *)data; /* a NUL follows it */
    csv_file file = {.path = path, .next = text + (strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0)};
    csv_row *rows = NULL;
    size_t n = 0;
    splat_status status = read_header(&file, error);
    if (status == SPLAT_OK) status = read_rows(&file, &rows, &n, error);
    if (status == SPLAT_OK) status = set_frames(&file, rows, n, scene, images, transforms, error);
    free(rows);
    free(data);
    if (status == SPLAT_OK) status = splat_poses_find_points(scene, path, transforms, error);
    if (status == SPLAT_OK) splat_poses_recenter(transforms);
    else splat_transforms_free(transforms);
    return status;
}
