/* Pictures along a camera path, as PNGs or, by ffmpeg, as a film. */
#include "measure/path_views.h"

#include "io/picture/image_write.h"

#include "base/file.h"
#include "base/process.h"
#include "io/camera_path.h"
#include "math/camera.h"
#include "measure/measured_mesh.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- pictures */

/* The renderer of the pictures: one of the two is not NULL. */
typedef struct path_renderer {
    splat_model *model;
    const splat_mesh_painter *painter;
    const float *background; /* rgb */
} path_renderer;

static splat_status render(const path_renderer *s, const splat_camera *camera, float *planar, splat_error *error)
{
    if (s->painter) return splat_mesh_painter_draw(s->painter, camera, s->background, planar, NULL, error);
    return splat_model_render(s->model, camera, s->background, planar, error);
}

static splat_status write_picture(const path_renderer *s, const splat_camera *camera, const char *folder, size_t index,
                                  float *planar, uint8_t *rgb, splat_error *error)
{
    SPLAT_TRY(render(s, camera, planar, error));
    splat_image_from_planar(planar, camera->width, camera->height, rgb);
    char *file = splat_format("%s/%06zu.png", folder, index);
    if (!file) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_status status = splat_png_write(file, camera->width, camera->height, 3, 8, rgb, error);
    free(file);
    return status;
}

static bool show(const splat_view_job *job, const splat_camera *camera, size_t index, const float *planar)
{
    char name[32];
    snprintf(name, sizeof name, "%06zu", index);
    const splat_view_info view = {.name = name, .camera = *camera};
    return !job->visit || job->visit(job->user, index, &view, planar, NULL, NULL);
}

static splat_status write_pictures(const path_renderer *s, const splat_camera_path *path, const splat_view_job *job,
                                   const char *folder, splat_error *error)
{
    const size_t n = splat_camera_path_frames(path), n_values = 3 * (size_t)path->width * (size_t)path->height;
    float *planar = malloc(n_values * sizeof *planar);
    uint8_t *rgb = malloc(n_values);
    splat_status status = planar && rgb ? splat_folder_create(folder, error)
                                        : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a picture of %d x %d",
                                                     path->width, path->height);
    for (size_t i = 0; i < n && status == SPLAT_OK; i++) {
        const splat_camera camera = splat_camera_path_at(path, i);
        status = write_picture(s, &camera, folder, i, planar, rgb, error);
        if (status == SPLAT_OK && !show(job, &camera, i, planar))
            status = splat_fail(error, SPLAT_ERROR_STOPPED, "stopped after %zu of %zu pictures", i + 1, n);
    }
    free(planar);
    free(rgb);
    return status;
}

/* ---------------------------------------------------------------- a film */

typedef struct complaint {
    splat_lines lines;
    char last[256];
} complaint;

static bool take_line(void *user, const char *line)
{
    complaint *c = user;
    if (line[0]) snprintf(c->last, sizeof c->last, "%s", line);
    return true;
}

static bool take_bytes(void *user, int stream, const char *bytes, size_t n)
{
    complaint *c = user;
    (void)stream;
    return splat_lines_add(&c->lines, bytes, n, take_line, c);
}

/* Sides of a film are even: an odd one gets a black line. */
static splat_status run_ffmpeg(const char *folder, double fps, const char *film, splat_error *error)
{
    complaint said = {0};
    splat_process_end end;
    char *rate = splat_format("%.9g", fps), *pictures = splat_pattern_word(folder, "%06d.png");
    char *file = splat_path_word(film);
    const char *const words[] = {"ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-framerate", rate, "-i", pictures,
                                 "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-c:v", "libx264", "-crf", "17", "-pix_fmt",
                                 "yuv420p", "-movflags", "+faststart", file, NULL};
    const splat_process process = {.words = words, .output = take_bytes, .user = &said};
    splat_status status = rate && pictures && file ? splat_process_run(&process, &end, error)
                                                   : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a path");
    splat_lines_add(&said.lines, NULL, 0, take_line, &said);
    splat_lines_free(&said.lines);
    if (status == SPLAT_OK && end.exit_code != 0)
        status = splat_fail_at(error, SPLAT_ERROR_IO, film, SPLAT_NO_OFFSET, "ffmpeg made no film: %s",
                               said.last[0] ? said.last : "it does not say why");
    free(rate);
    free(pictures);
    free(file);
    return status;
}

/* Renders the pictures to a temporary folder next to the film, and makes the film of them. */
static splat_status write_film(const path_renderer *s, const splat_camera_path *path, const splat_view_job *job,
                               const char *film, splat_error *error)
{
    splat_error later;
    char *program = splat_program_find("ffmpeg");
    const bool found = program != NULL;
    free(program);
    if (!found)
        return splat_fail(error, SPLAT_ERROR_IO, "a film needs ffmpeg, and there is no such program; install it "
                          "(apt-get install ffmpeg), or name a folder for PNGs instead of %.200s", film);
    SPLAT_TRY(splat_folder_create_for(film, error));
    char *folder = splat_format("%s.frames-XXXXXX", film), *unfinished = splat_format("%s.unfinished.mp4", film);
    splat_status status = folder && unfinished && mkdtemp(folder)
                              ? write_pictures(s, path, job, folder, error)
                              : splat_fail_at(error, SPLAT_ERROR_IO, film, SPLAT_NO_OFFSET,
                                              "no folder for its pictures could be made next to it");
    if (status == SPLAT_OK) status = run_ffmpeg(folder, path->fps, unfinished, error);
    if (status == SPLAT_OK && rename(unfinished, film) != 0)
        status = splat_fail_at(error, SPLAT_ERROR_IO, film, SPLAT_NO_OFFSET, "the film could not be put there");
    if (status != SPLAT_OK && unfinished) remove(unfinished);
    splat_status deleted = folder ? splat_folder_delete(folder, status == SPLAT_OK ? error : &later) : SPLAT_OK;
    free(folder);
    free(unfinished);
    return status == SPLAT_OK ? deleted : status;
}

splat_status splat_path_describe(const char *path_file, size_t *n_frames, splat_error *error)
{
    splat_camera_path path;
    SPLAT_TRY(splat_camera_path_read(path_file, &path, error));
    *n_frames = splat_camera_path_frames(&path);
    splat_camera_path_free(&path);
    return SPLAT_OK;
}

static splat_status write_all(const path_renderer *s, const splat_camera_path *path, const splat_view_job *job,
                              const char *output, splat_error *error)
{
    return splat_name_ends_with(output, ".mp4") ? write_film(s, path, job, output, error)
                                                : write_pictures(s, path, job, output, error);
}

splat_status splat_path_write(splat_model *model, const char *path_file, const float background[3],
                              const splat_view_job *job, const char *output, splat_error *error)
{
    const path_renderer renderer = {.model = model, .background = background};
    splat_camera_path path;
    SPLAT_TRY(splat_camera_path_read(path_file, &path, error));
    splat_status status = write_all(&renderer, &path, job, output, error);
    splat_camera_path_free(&path);
    return status;
}

splat_status splat_mesh_path_write(splat_context *context, const char *mesh_path,
                                   const splat_mesh_draw_options *draw_options, const char *path_file,
                                   const float background[3], const splat_view_job *job, const char *output,
                                   splat_error *error)
{
    splat_camera_path path;
    splat_measured_mesh mesh;
    SPLAT_TRY(splat_camera_path_read(path_file, &path, error));
    splat_status status = splat_measured_mesh_open_for(&mesh, context, mesh_path, draw_options,
                                                       (size_t)path.width * (size_t)path.height, error);
    const path_renderer renderer = {.painter = &mesh.painter, .background = background};
    if (status == SPLAT_OK) status = write_all(&renderer, &path, job, output, error);
    splat_measured_mesh_close(&mesh);
    splat_camera_path_free(&path);
    return status;
}
