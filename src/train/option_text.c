/* Options in words, and the options of a scene as rows: for checkpoints, reports and the comparison of ranks. */
#include "io/number.h"
#include "splatsmith/scene.h"
#include "train/train_options.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are stored as 64 bits");

#define OPTION(name, kind) {#name, SPLAT_OPTION_##kind, offsetof(splat_scene_options, name), NULL}
const splat_option_row splat_scene_option_rows[] = {
    OPTION(source_path, TEXT), OPTION(images, TEXT),   OPTION(resolution, INT),
    OPTION(eval, FLAG),        OPTION(llffhold, INT),  OPTION(test_camera_count, INT),
    OPTION(load_allres, FLAG), OPTION(masks, TEXT),    OPTION(invert_masks, FLAG),
    OPTION(depths, TEXT),      OPTION(sfm_depth, FLAG),
    {"mask_mode", SPLAT_OPTION_CHOICE, offsetof(splat_scene_options, mask_mode), SPLAT_WORDS_MASK_MODE},
    {"undistort", SPLAT_OPTION_CHOICE, offsetof(splat_scene_options, undistort), SPLAT_WORDS_UNDISTORT},
    OPTION(fisheye_degrees, REAL),
};
#undef OPTION
const size_t splat_n_scene_option_rows = sizeof splat_scene_option_rows / sizeof splat_scene_option_rows[0];

/* The word of a choice. */
static void copy_word(const char *words, int number, char *text, size_t size)
{
    for (; number > 0 && *words; number--) words += strcspn(words, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(words, "|"), words);
}

static void keep_ascii(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c >= 0x80 || (unsigned char)*c < 0x20) *c = '?'; /* JSON wants UTF-8; it is for reading */
}

void splat_option_describe(const splat_option_row *o, const void *options, char *text, size_t size)
{
    char number[32];
    const void *at = (const char *)options + o->offset;
    switch (o->kind) {
    case SPLAT_OPTION_INT: snprintf(text, size, "%d", *(const int *)at); break;
    case SPLAT_OPTION_FLAG: snprintf(text, size, "%s", *(const bool *)at ? "True" : "False"); break;
    case SPLAT_OPTION_REAL: snprintf(text, size, "%s", splat_number_format(number, *(const float *)at)); break;
    case SPLAT_OPTION_COUNT:
    case SPLAT_OPTION_U64: snprintf(text, size, "%" PRIu64, *(const uint64_t *)at); break;
    case SPLAT_OPTION_CHOICE: copy_word(o->words, *(const int *)at, text, size); break;
    case SPLAT_OPTION_NONE: text[0] = '\0'; break;
    case SPLAT_OPTION_TEXT:
        snprintf(text, size, "%s", *(char *const *)at ? *(char *const *)at : "");
        keep_ascii(text);
        break;
    }
}
