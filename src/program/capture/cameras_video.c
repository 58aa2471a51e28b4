/* Frames in SCENE/images, made once, and again when the video or their number is another. */
#include "capture/cameras_video.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/plural.h"
#include "capture/cameras_state.h"
#include "capture/video.h"
#include "io/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_FRAMES 3

typedef struct frames_tick {
    const splat_cameras_work *work;
    double from, to; /* of the stage: what this part of it is */
} frames_tick;

static bool tick(void *user, double fraction)
{
    const frames_tick *t = user;
    return splat_cameras_tick(t->work, "frames", t->from + (t->to - t->from) * fraction);
}

/* partial becomes images/. What was there are frames of before, or a link to photos. */
static splat_status put_in_place(const splat_cameras_work *work, const char *partial, splat_error *error)
{
    if (splat_path_is_link(work->images)) {
        if (unlink(work->images) != 0) return splat_fail_errno(error, work->images, "remove the link");
    } else {
        SPLAT_TRY(splat_folder_delete(work->images, error));
    }
    return rename(partial, work->images) == 0 ? SPLAT_OK : splat_fail_errno(error, work->images, "name the frames");
}

/* ffmpeg says that all went well even when a damaged end is missing. */
static splat_status check_count(const splat_frame_choice *choice, const char *video, const char *partial,
                                splat_error *error)
{
    char **names;
    size_t n;
    SPLAT_TRY(splat_folder_list(partial, &names, &n, error));
    splat_names_free(names, n);
    if (n == choice->n_chosen) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_IO, video, SPLAT_NO_OFFSET,
                         "ffmpeg wrote %zu of %zu frames; is the disk full, or the video damaged?", n,
                         choice->n_chosen);
}

static splat_status take(splat_cameras_work *work, const char *video_path, const char *partial,
                         splat_frame_choice *choice, splat_error *error)
{
    splat_video video;
    frames_tick first = {work, 0, 0.5}, second = {work, 0.5, 1};
    SPLAT_TRY(splat_video_open(video_path, work->options->n_frames, tick, &first, &video, error));
    SPLAT_TRY(splat_video_choose(video_path, &video, tick, &first, choice, error));
    if (choice->n_chosen < LEAST_FRAMES)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, video_path, SPLAT_NO_OFFSET,
                             "only %zu frame%s of this video (%.1f s) can be used; walk around the scene for half a "
                             "minute", choice->n_chosen, splat_plural(choice->n_chosen), video.seconds);
    if (choice->n_blurred || choice->n_still)
        splat_cameras_say(work, SPLAT_LOG_NOTICE, "%zu frames are taken. Left out: %zu blurred, %zu without movement",
                          choice->n_chosen, choice->n_blurred, choice->n_still);
    SPLAT_TRY(splat_folder_delete(partial, error));
    SPLAT_TRY(splat_folder_create(partial, error));
    SPLAT_TRY(splat_video_extract(video_path, &video, choice, partial, tick, &second, error));
    return check_count(choice, video_path, partial, error);
}

/* Describes the source of the frames; malloc'd. */
static char *describe(const splat_cameras_work *work, const char *video)
{
    struct stat status;
    if (stat(video, &status) != 0) return NULL;
    return splat_format("%s, %" PRIdMAX " bytes of %" PRIdMAX ".%09ld, %d frames", video, (intmax_t)status.st_size,
                        (intmax_t)status.st_mtim.tv_sec, (long)status.st_mtim.tv_nsec, work->options->n_frames);
}

/* Photos of the user must not give way to frames: images/ is replaced only when a video is noted that it came from. */
static splat_status check_images(const splat_cameras_work *work, const char *was, splat_error *error)
{
    if (was || splat_path_is_link(work->images) || !splat_path_exists(work->images)) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_IO, work->images, SPLAT_NO_OFFSET,
                         "what lies here does not come from a video, and stays; name another folder with `output`");
}

splat_status splat_cameras_take_frames(splat_cameras_work *work, splat_error *error)
{
    char *video = realpath(work->options->source, NULL), *is = video ? describe(work, video) : NULL;
    char *partial = splat_format("%s.partial", work->images);
    splat_frame_choice choice = {0};
    double begin = splat_clock_seconds();
    splat_status status = SPLAT_OK;
    const char *was = json_string_value(json_object_get(work->state, "video"));
    if (!video || !is || !partial) {
        status = splat_fail_at(error, SPLAT_ERROR_IO, work->options->source, SPLAT_NO_OFFSET,
                               "the video cannot be opened, or memory is exhausted");
    } else if (!was || strcmp(was, is) != 0 || !splat_cameras_is_done(work, "frames") ||
               splat_path_is_link(work->images) || !splat_path_is_folder(work->images)) {
        status = check_images(work, was, error);
        if (status == SPLAT_OK) status = take(work, video, partial, &choice, error);
        if (status == SPLAT_OK) splat_json_set(&work->state, "video", splat_json_text(is));
        if (status == SPLAT_OK)
            status = work->state ? splat_cameras_state_forget(work, "frames", error)
                                 : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the state of finding cameras");
        if (status == SPLAT_OK) status = put_in_place(work, partial, error);
        if (status == SPLAT_OK)
            status = splat_cameras_set_done(work, "frames", splat_clock_seconds() - begin, error);
    }
    splat_frame_choice_free(&choice);
    free(video);
    free(is);
    free(partial);
    return status;
}
