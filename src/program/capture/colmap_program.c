/* Asking colmap what it is. */
#include "capture/colmap_program.h"

#include "base/array.h"
#include "base/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const splat_colmap_environment[] = {"QT_QPA_PLATFORM=offscreen", NULL};

/* ---------------------------------------------------------------- the program */

/* "COLMAP 3.8 -- Structure..." */
static void read_version(const char *text, char version[64])
{
    for (const char *at = strstr(text, "COLMAP "); at && !version[0]; at = strstr(at + 1, "COLMAP ")) {
        const char *number = at + strlen("COLMAP ");
        if (*number == 'v') number++;
        size_t n = strspn(number, "0123456789.");
        if (n > 0 && n < 64 && isdigit((unsigned char)*number)) memcpy(version, number, n);
    }
}

/* Versions that lack a command end with an exit code; a signal means that the program cannot run here. */
static splat_status fail_signal(const char *name, const char *question, const splat_process_end *end,
                                splat_error *error)
{
    char how[SPLAT_PROCESS_END_TEXT];
    return splat_fail(error, SPLAT_ERROR_IO, "\"%.200s %s\", which asks for its version, %s; run the command by hand, "
                      "mend the installation, or name another COLMAP with `colmap`", name, question,
                      splat_process_end_text(end, how));
}

splat_status splat_colmap_program_open(const char *name, bool (*tick)(void *user), void *user,
                                       splat_colmap_program *program, splat_error *error)
{
    static const char *const questions[] = {"help", "version"};
    *program = (splat_colmap_program){0};
    char *file = splat_program_find(name);
    if (!file)
        return splat_fail(error, SPLAT_ERROR_IO,
                          "photos without cameras need COLMAP, and there is no program %.200s; install it (apt-get "
                          "install colmap), or name it with `colmap`", name);
    free(file);
    program->name = strdup(name);
    if (!program->name) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a name");
    bool is_colmap = false;
    splat_process_end end = {0};
    for (size_t i = 0; i < 2 && !program->version[0]; i++) {
        const char *const words[] = {name, questions[i], NULL};
        char *text = NULL;
        SPLAT_TRY(splat_process_ask(words, splat_colmap_environment, SPLAT_ANSWER_S, tick, user, &text, &end, error));
        is_colmap = is_colmap || strstr(text, "COLMAP") || strstr(text, "colmap");
        program->has_cuda = program->has_cuda || strstr(text, "with CUDA");
        read_version(text, program->version);
        free(text);
        if (end.signal) return fail_signal(name, questions[i], &end, error);
    }
    if (is_colmap) return SPLAT_OK;
    return splat_fail(error, SPLAT_ERROR_IO, "%.200s does not say that it is COLMAP; name the program with `colmap`",
                      name);
}

void splat_colmap_program_free(splat_colmap_program *program)
{
    free(program->name);
    *program = (splat_colmap_program){0};
}

splat_status splat_colmap_help(const splat_colmap_program *program, const char *command, bool (*tick)(void *user),
                               void *user, char **help, splat_error *error)
{
    const char *const words[] = {program->name, command, "-h", NULL};
    splat_process_end end;
    SPLAT_TRY(splat_process_ask(words, splat_colmap_environment, SPLAT_ANSWER_S, tick, user, help, &end, error));
    if (strstr(*help, "--database_path")) return SPLAT_OK;
    free(*help);
    *help = NULL;
    return splat_fail(error, SPLAT_ERROR_IO,
                      "%.200s has no command %s with a database; name a COLMAP from 3.6 on with `colmap`",
                      program->name, command);
}

/* ---------------------------------------------------------------- words */

void splat_words_add(splat_words *words, const char *word)
{
    char *copy = strdup(word);
    char **items = copy ? splat_array_grow(words->items, &words->capacity, words->n + 1, sizeof *items) : NULL;
    if (!items) {
        free(copy);
        words->no_memory = true;
        return;
    }
    words->items = items;
    items[words->n++] = copy;
    items[words->n] = NULL;
}

/* True if the help lists "--NAME" as a whole word. */
static bool lists(const char *help, const char *name, size_t length)
{
    for (const char *at = strstr(help, "--"); at; at = strstr(at + 2, "--")) {
        const char *word = at + 2;
        if (strncmp(word, name, length) != 0) continue;
        char next = word[length];
        if (!isalnum((unsigned char)next) && next != '_' && next != '.') return true;
    }
    return false;
}

bool splat_words_add_option(splat_words *words, const char *help, const char *names, const char *value)
{
    for (size_t n; *names; names += n + (names[n] == '|')) {
        n = strcspn(names, "|");
        if (!lists(help, names, n)) continue;
        char *option = splat_format("--%.*s", (int)n, names);
        if (option) {
            splat_words_add(words, option);
            splat_words_add(words, value);
        }
        words->no_memory |= !option;
        free(option);
        return true;
    }
    return false;
}

void splat_words_free(splat_words *words)
{
    for (size_t i = 0; i < words->n; i++) free(words->items[i]);
    free(words->items);
    *words = (splat_words){0};
}
