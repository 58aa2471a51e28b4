/* Frames of a video as photos, by ffmpeg and ffprobe. */
#ifndef SPLAT_CAPTURE_VIDEO_H
#define SPLAT_CAPTURE_VIDEO_H

#include "capture/frame_choice.h"

#include "base/error.h"

typedef struct splat_video {
    double seconds;
    double rate;      /* frames a second that candidates are drawn at; at most the video's own */
    int window;       /* candidates that one photo is chosen of */
    bool is_hdr;      /* its colours must be brought into those of a usual picture */
} splat_video;

/* True if the name has the ending of a video. */
bool splat_is_video_name(const char *name);

/* Called from time to time; fraction 0 to 1. False stops. */
typedef bool (*splat_video_tick)(void *user, double fraction);

/* Asks ffprobe; n_frames as in splat_cameras_options. IO: ffmpeg or ffprobe is missing, or cannot read it. FORMAT:
 * there is no picture in it. */
splat_status splat_video_open(const char *path, int n_frames, splat_video_tick tick, void *user, splat_video *video,
                              splat_error *error);
/* Looks at small grey candidates; choice is freed by the caller in every case. */
splat_status splat_video_choose(const char *path, const splat_video *video, splat_video_tick tick, void *user,
                                splat_frame_choice *choice, splat_error *error);
/* Writes the chosen ones at full size as folder/00001.jpg, ... The folder must exist and be empty. */
splat_status splat_video_extract(const char *path, const splat_video *video, const splat_frame_choice *choice,
                                 const char *folder, splat_video_tick tick, void *user, splat_error *error);

/* Reads a stream of binary PGM pictures as it comes, in pieces of any size. Zeroed to begin. */
typedef struct splat_pgm_stream {
    uint8_t *bytes;
    size_t n, capacity;
} splat_pgm_stream;

/* Calls `picture` for every one that is complete; false: it returned false, this is no PGM, or there is no memory. */
bool splat_pgm_stream_add(splat_pgm_stream *stream, const char *bytes, size_t n,
                          bool (*picture)(void *user, const uint8_t *gray, int width, int height), void *user);
void splat_pgm_stream_free(splat_pgm_stream *stream);

#endif
