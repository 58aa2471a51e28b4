/* The colmap that is installed: what it says of itself, and which of the names that its options had it knows. */
#ifndef SPLAT_CAPTURE_COLMAP_PROGRAM_H
#define SPLAT_CAPTURE_COLMAP_PROGRAM_H

#include "base/process.h"

typedef struct splat_colmap_program {
    char *name;       /* name or path by which it is started */
    char version[64]; /* "3.8", "4.1.1"; "": it does not say */
    bool has_cuda;    /* it says so */
} splat_colmap_program;

/* Additional environment variables for COLMAP, which needs no display. For splat_process. */
extern const char *const splat_colmap_environment[];

/* tick as for splat_process. IO: there is no such program, or it is no COLMAP. Free it in every case. */
splat_status splat_colmap_program_open(const char *name, bool (*tick)(void *user), void *user,
                                       splat_colmap_program *program, splat_error *error);
void splat_colmap_program_free(splat_colmap_program *program);

/* Runs `colmap COMMAND -h` and returns its output; malloc'd. Errors: IO (the program does not know the command). */
splat_status splat_colmap_help(const splat_colmap_program *program, const char *command, bool (*tick)(void *user),
                               void *user, char **help, splat_error *error);

/* Words of a command line. */
typedef struct splat_words {
    char **items; /* NULL at the end */
    size_t n, capacity;
    bool no_memory;
} splat_words;

void splat_words_add(splat_words *words, const char *word);
/* "--NAME VALUE" with the first of `names`, between bars, that the help lists; false, and nothing: it lists none. */
bool splat_words_add_option(splat_words *words, const char *help, const char *names, const char *value);
void splat_words_free(splat_words *words);

#endif
