/* Messages name the path that is wrong. */
#include "paths.h"

#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

bool cli_path_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool cli_path_join(char path[CLI_PATH_MAX], const char *folder, const char *name)
{
    size_t length = strlen(folder);
    const char *separator = length && folder[length - 1] == '/' ? "" : "/";
    if (snprintf(path, CLI_PATH_MAX, "%s%s%s", folder, separator, name) < CLI_PATH_MAX) return true;
    cli_error("the path %.200s... is too long", folder);
    return false;
}

bool cli_is_other_format(const char *path, const char *extension)
{
    const char *base = strrchr(path, '/'), *dot = strrchr(base ? base : path, '.');
    return dot && strcasecmp(dot, extension) != 0;
}

/* The words as a shell would take them again. malloc'd; NULL when memory is exhausted. */
char *cli_command_text(char **words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (char **word = words; out && *word; word++) {
        bool plain = **word && !(*word)[strcspn(*word, " \t\n\"'\\$&|;<>()*?[]#~`!{}")];
        fputs(word == words ? "" : " ", out);
        if (plain) {
            fputs(*word, out);
            continue;
        }
        fputc('\'', out);
        for (const char *c = *word; *c; c++) fputs(*c == '\'' ? "'\\''" : (const char[2]){*c, 0}, out);
        fputc('\'', out);
    }
    bool whole = out && !ferror(out);
    if (out && fclose(out) == 0 && whole) return text; /* NULL when the last of it found no memory */
    free(text);
    return NULL;
}
