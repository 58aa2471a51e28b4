/* The command line: words with newlines between, the first of them the command. Only read, never run. */
#include "fuzz.h"

#include "cli.h"

#define MOST_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_line line;
    char *words[MOST_WORDS], *rest = NULL, value[SPLAT_LINE_TEXT_MAX];
    char *text = malloc(size + 1);
    int n = 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *word = strtok_r(text, "\n", &rest); word && n < MOST_WORDS; word = strtok_r(NULL, "\n", &rest))
        words[n++] = word;
    const splat_line_command *command = n ? splat_line_find_command(words[0]) : NULL;
    if (n && !command) cli_unknown_command(words[0]);
    if (splat_line_init(&line, command, NULL) != SPLAT_OK) abort();
    if (command && cli_parse(&line, n - 1, words + 1))
        for (size_t i = 0; i < splat_line_n_options; i++)
            splat_line_value_text(&splat_line_options[i], &line, value, sizeof value);
    splat_line_free(&line);
    free(text);
    return 0;
}
