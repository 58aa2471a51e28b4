/* The command line: words with newlines between, the first of them the command. Only read, never run. */
#include "fuzz.h"

#include "cli.h"

#define MOST_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cli_line line;
    char *words[MOST_WORDS], *rest = NULL, value[CLI_TEXT_MAX];
    char *text = malloc(size + 1);
    int n = 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *word = strtok_r(text, "\n", &rest); word && n < MOST_WORDS; word = strtok_r(NULL, "\n", &rest))
        words[n++] = word;
    const cli_command *command = n ? cli_find_command(words[0]) : NULL;
    if (n && !command) cli_unknown_command(words[0]);
    if (!cli_line_init(&line, command)) abort();
    if (command && cli_parse(&line, n - 1, words + 1))
        for (size_t i = 0; i < cli_n_options; i++) cli_value_text(&cli_options[i], &line, value, sizeof value);
    cli_line_free(&line);
    free(text);
    return 0;
}
