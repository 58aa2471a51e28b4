/* Asking ffprobe, and running ffmpeg twice: small for the choice, whole for what is chosen. */
#include "capture/video.h"

#include "base/array.h"
#include "base/file.h"
#include "base/process.h"
#include "io/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define USUAL_RATE 2.0      /* photos a second, */
#define USUAL_MOST 300      /* at most so many */
#define CANDIDATES 3        /* for each photo */
#define SMALL "scale=640:-2"

bool splat_is_video_name(const char *name)
{
    static const char *const endings[] = {".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi",  ".mts", ".m2ts",
                                          ".3gp", ".mpg", ".mpeg", ".wmv", ".ts",  ".insv"};
    const char *dot = strrchr(splat_basename(name), '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

/* ---------------------------------------------------------------- pictures from a pipe */

#define HEADER_MAX 64
#define SIDE_MAX 65500

/* The header's length and what it says: "P5", width, height and 255, with single white space after it. 0: more bytes
 * are needed; -1: it is none. */
static int read_header(const splat_pgm_stream *s, int *width, int *height)
{
    char text[HEADER_MAX + 1];
    int maximum = 0, length = 0;
    size_t n = s->n < HEADER_MAX ? s->n : HEADER_MAX;
    memcpy(text, s->bytes, n);
    text[n] = '\0';
    if (n >= 2 && memcmp(text, "P5", 2) != 0) return -1;
    int found = n >= 2 ? sscanf(text, "P5 %d %d %d%n", width, height, &maximum, &length) : 0;
    if (found < 3 || length == 0 || (size_t)length >= n) return n == HEADER_MAX ? -1 : 0; /* 25 may become 255 */
    bool good = maximum == 255 && *width > 0 && *height > 0 && *width <= SIDE_MAX && *height <= SIDE_MAX;
    return good ? length + 1 : -1;
}

bool splat_pgm_stream_add(splat_pgm_stream *s, const char *bytes, size_t n,
                          bool (*picture)(void *user, const uint8_t *gray, int width, int height), void *user)
{
    while (n > 0) {
        uint8_t *grown = splat_array_grow(s->bytes, &s->capacity, s->n, 1);
        if (!grown) return false;
        s->bytes = grown;
        size_t room = s->capacity - s->n, part = n < room ? n : room;
        memcpy(s->bytes + s->n, bytes, part);
        s->n += part;
        bytes += part;
        n -= part;
        for (;;) {
            int width, height, header = s->n ? read_header(s, &width, &height) : 0;
            if (header < 0) return false;
            if (header == 0) break;
            size_t length = (size_t)header + (size_t)width * (size_t)height;
            if (s->n < length) break;
            if (!picture(user, s->bytes + header, width, height)) return false;
            s->n -= length;
            memmove(s->bytes, s->bytes + length, s->n);
        }
    }
    return true;
}

void splat_pgm_stream_free(splat_pgm_stream *s)
{
    free(s->bytes);
    *s = (splat_pgm_stream){0};
}

/* ---------------------------------------------------------------- a run of ffmpeg */

typedef struct video_run {
    splat_video_tick tick;
    void *user;
    double fraction;
    double expected;             /* frames */
    splat_lines lines, progress;
    char last[256];              /* line that it complained in */
    splat_pgm_stream pictures;
    splat_frame_choice *choice;  /* NULL: frames are written by ffmpeg */
    bool failed;
} video_run;

static bool tick_run(void *user)
{
    const video_run *r = user;
    return !r->tick || r->tick(r->user, r->fraction);
}

static bool take_complaint(void *user, const char *line)
{
    video_run *r = user;
    snprintf(r->last, sizeof r->last, "%s", line);
    return true;
}

static void advance(video_run *r, double n_frames)
{
    r->fraction = fmin(1, n_frames / fmax(1, r->expected));
}

static bool take_picture(void *user, const uint8_t *gray, int width, int height)
{
    video_run *r = user;
    bool good = splat_frame_choice_add(r->choice, gray, width, height);
    r->failed |= !good;
    advance(r, (double)r->choice->n_seen);
    return good;
}

/* "frame=12" of -progress */
static bool take_progress(void *user, const char *line)
{
    video_run *r = user;
    if (strncmp(line, "frame=", 6) == 0) advance(r, strtod(line + 6, NULL));
    return true;
}

static bool take_bytes(void *user, int stream, const char *bytes, size_t n)
{
    video_run *r = user;
    if (stream == 2) return splat_lines_add(&r->lines, bytes, n, take_complaint, r);
    if (!r->choice) return splat_lines_add(&r->progress, bytes, n, take_progress, r);
    bool good = splat_pgm_stream_add(&r->pictures, bytes, n, take_picture, r);
    r->failed |= !good;
    return good;
}

static splat_status fail_stopped(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_STOPPED, "stopped; the same command goes on from here");
}

/* IO, with the complaint of the program, else with how it ended, unless it ended well. */
static splat_status check_end(const char *program, const char *path, const char *complaint, size_t length,
                              const splat_process_end *end, splat_error *error)
{
    char how[SPLAT_PROCESS_END_TEXT];
    if (end->exit_code == 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_IO, path, SPLAT_NO_OFFSET, "%s cannot read this video: %.*s%s%s", program,
                         (int)length, complaint, length ? "; it " : "it ", splat_process_end_text(end, how));
}

static splat_status run(const char *path, const char *const *words, video_run *r, splat_error *error)
{
    const splat_process process = {words, NULL, take_bytes, tick_run, r};
    splat_process_end end;
    splat_status status = splat_process_run(&process, &end, error);
    splat_lines_add(&r->lines, NULL, 0, take_complaint, r);
    splat_lines_free(&r->lines);
    splat_lines_free(&r->progress);
    splat_pgm_stream_free(&r->pictures);
    if (status == SPLAT_ERROR_STOPPED && r->failed)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "frames of this video change their size, or memory is exhausted; convert it with ffmpeg");
    if (status == SPLAT_ERROR_STOPPED) return fail_stopped(error);
    return status == SPLAT_OK ? check_end("ffmpeg", path, r->last, strlen(r->last), &end, error) : status;
}

/* A short question: *text is the answer. */
static splat_status ask(const char *const *words, video_run *r, char **text, splat_process_end *end,
                        splat_error *error)
{
    splat_status status = splat_process_ask(words, NULL, SPLAT_ANSWER_S, tick_run, r, text, end, error);
    return status == SPLAT_ERROR_STOPPED ? fail_stopped(error) : status;
}

/* ---------------------------------------------------------------- what it is */

static splat_status check_programs(splat_error *error)
{
    static const char *const names[] = {"ffmpeg", "ffprobe"};
    for (size_t i = 0; i < 2; i++) {
        char *file = splat_program_find(names[i]);
        bool found = file != NULL;
        free(file);
        if (!found)
            return splat_fail(error, SPLAT_ERROR_IO, "a video needs ffmpeg, and there is no program %s; install it "
                              "(apt-get install ffmpeg), or give photos", names[i]);
    }
    return SPLAT_OK;
}

/* A number, also as text, also as a fraction: "30000/1001". 0: none. */
static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_number(value)) return json_number_value(value);
    const char *text = json_string_value(value);
    if (!text) return 0;
    char *rest;
    double above = strtod(text, &rest), below = *rest == '/' ? strtod(rest + 1, NULL) : 1;
    double result = below > 0 ? above / below : 0;
    return isfinite(result) && result > 0 ? result : 0;
}

/* How many a second are wanted, and the candidates for it. */
static void plan(int n_frames, double own_rate, splat_video *video)
{
    double wanted = n_frames > 0 ? n_frames / video->seconds : fmin(USUAL_RATE, USUAL_MOST / video->seconds);
    video->rate = CANDIDATES * wanted;
    video->window = CANDIDATES;
    if (own_rate <= 0 || video->rate <= own_rate) return;
    video->rate = own_rate; /* frames shown twice would be no choice */
    video->window = (int)fmax(1, floor(own_rate / wanted + 0.5));
}

static splat_status read_probe(const char *path, const char *text, int n_frames, splat_video *video,
                               splat_error *error)
{
    json_t *root = NULL;
    json_error_t problem;
    const char *start = strchr(text, '{'); /* complaints may stand before it and, of another stream, after it */
    if (start && splat_json_parse(start, strlen(start), JSON_DISABLE_EOF_CHECK, &root, &problem) == SPLAT_ERROR_MEMORY)
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the description of a video");
    const json_t *stream = json_array_get(json_object_get(root, "streams"), 0);
    const char *transfer = json_string_value(json_object_get(stream, "color_transfer"));
    double rate = number(stream, "avg_frame_rate"), n_own = number(stream, "nb_frames");
    bool has_pictures = stream && number(stream, "width") > 0;
    video->seconds = number(stream, "duration");
    if (video->seconds <= 0) video->seconds = number(json_object_get(root, "format"), "duration");
    if (video->seconds <= 0 && rate > 0) video->seconds = n_own / rate;
    video->is_hdr = transfer && (strcmp(transfer, "smpte2084") == 0 || strcmp(transfer, "arib-std-b67") == 0);
    json_decref(root);
    if (!has_pictures)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "there are no pictures in this video");
    if (video->seconds <= 0)
        return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                             "this video does not tell how long it is; convert it: ffmpeg -i VIDEO video.mp4");
    plan(n_frames, rate, video);
    return SPLAT_OK;
}

static splat_status probe(const char *path, const char *file, int n_frames, splat_video_tick tick, void *user,
                          splat_video *video, splat_error *error)
{
    const char *const words[] = {"ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
                                 "stream=width,height,nb_frames,avg_frame_rate,duration,color_transfer:format=duration",
                                 "-of", "json", file, NULL};
    video_run r = {.tick = tick, .user = user};
    splat_process_end end;
    char *text;
    SPLAT_TRY(ask(words, &r, &text, &end, error));
    splat_status status = check_end("ffprobe", path, text, strcspn(text, "\n{"), &end, error);
    if (status == SPLAT_OK) status = read_probe(path, text, n_frames, video, error);
    free(text);
    return status;
}

splat_status splat_video_open(const char *path, int n_frames, splat_video_tick tick, void *user, splat_video *video,
                              splat_error *error)
{
    *video = (splat_video){0};
    SPLAT_TRY(check_programs(error));
    char *file = splat_path_word(path);
    splat_status status = file ? probe(path, file, n_frames, tick, user, video, error)
                               : splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the description of a video");
    free(file);
    return status;
}

/* ---------------------------------------------------------------- candidates, and what is chosen */

static splat_status fail_memory(splat_error *error)
{
    return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for frames");
}

splat_status splat_video_choose(const char *path, const splat_video *video, splat_video_tick tick, void *user,
                                splat_frame_choice *choice, splat_error *error)
{
    char filter[128];
    video_run r = {.tick = tick, .user = user, .choice = choice, .expected = video->seconds * video->rate};
    *choice = (splat_frame_choice){.window = video->window};
    snprintf(filter, sizeof filter, "fps=%.9g," SMALL, video->rate);
    char *file = splat_path_word(path);
    const char *const words[] = {"ffmpeg", "-nostdin",   "-v",   "error", "-i",       file,   "-map", "0:v:0", "-vf",
                                 filter,   "-f", "image2pipe", "-c:v", "pgm",   "-pix_fmt", "gray", "-",    NULL};
    splat_status status = file ? run(path, words, &r, error) : fail_memory(error);
    free(file);
    if (status != SPLAT_OK) return status;
    if (!splat_frame_choice_end(choice)) return fail_memory(error);
    if (choice->n_seen > 0) return SPLAT_OK;
    return splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET, "there are no pictures in this video");
}

/* 1 for the chosen numbers of frames, as a search by halves: ffmpeg takes no sum of more than a hundred terms. */
static void write_search(FILE *out, const size_t *chosen, size_t n)
{
    if (n == 1) {
        fprintf(out, "eq(n,%zu)", chosen[0]);
        return;
    }
    fprintf(out, "if(lt(n,%zu),", chosen[n / 2]);
    write_search(out, chosen, n / 2);
    fputc(',', out);
    write_search(out, chosen + n / 2, n - n / 2);
    fputc(')', out);
}

/* malloc'd; NULL: no memory. */
static char *make_filter(const splat_video *video, const splat_frame_choice *choice, bool tone_maps)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fprintf(out, "fps=%.9g,select='", video->rate);
    write_search(out, choice->chosen, choice->n_chosen);
    fputc('\'', out);
    if (tone_maps) fputs(",zscale=t=linear:npl=100,tonemap=hable,zscale=p=bt709:t=bt709:m=bt709", out);
    bool good = !ferror(out);
    if (fclose(out) == 0 && good) return text;
    free(text);
    return NULL;
}

/* Sets *found to true if the answer to a question has a word. */
static splat_status has_word(const char *option, const char *topic, const char *word, video_run *r, bool *found,
                             splat_error *error)
{
    const char *const words[] = {"ffmpeg", "-hide_banner", option, topic, NULL};
    splat_process_end end;
    char *text;
    SPLAT_TRY(ask(words, r, &text, &end, error));
    *found = strstr(text, word) != NULL;
    free(text);
    return SPLAT_OK;
}

splat_status splat_video_extract(const char *path, const splat_video *video, const splat_frame_choice *choice,
                                 const char *folder, splat_video_tick tick, void *user, splat_error *error)
{
    video_run r = {.tick = tick, .user = user, .expected = (double)choice->n_chosen};
    bool is_new, tone_maps = false;
    SPLAT_TRY(has_word("-h", "long", "-fps_mode", &r, &is_new, error)); /* from 5.1 on; -vsync goes */
    if (video->is_hdr) SPLAT_TRY(has_word("-filters", NULL, "zscale", &r, &tone_maps, error));
    char *filter = make_filter(video, choice, tone_maps), *names = splat_pattern_word(folder, "%05d.jpg");
    char *file = splat_path_word(path);
    const char *const words[] = {"ffmpeg",   "-nostdin", "-v",  "error",  "-progress", "pipe:1", "-i",
                                 file,       "-map",     "0:v:0", "-vf",  filter,      is_new ? "-fps_mode" : "-vsync",
                                 is_new ? "passthrough" : "0", "-q:v", "2", "-f", "image2", names, NULL};
    splat_status status = filter && names && file ? run(path, words, &r, error) : fail_memory(error);
    free(file);
    free(filter);
    free(names);
    return status;
}
