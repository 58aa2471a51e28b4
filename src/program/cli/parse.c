/* Reading the words of a command line, as argparse does: `-` and `_` are the same in names, a prefix that fits one
 * option is enough, `--name value` or `--name=value`, several numbers after one option, negative numbers as values. */
#include "cli.h"
#include "progress.h"

#include "base/near_name.h"
#include "io/option_text.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_LENGTH 64

/* ---------------------------------------------------------------- names */

/* One spelling: underscores. Longer names are cut, and then match nothing. */
static void normalise(const char *name, size_t length, char out[NAME_MAX_LENGTH])
{
    if (length >= NAME_MAX_LENGTH) length = NAME_MAX_LENGTH - 1;
    for (size_t i = 0; i < length; i++) out[i] = name[i] == '-' ? '_' : name[i];
    out[length] = '\0';
}

/* Keeps a copy of the nearest name. */
static void consider(splat_near_name *nearest, const char *name, const char *candidate, char best[NAME_MAX_LENGTH])
{
    splat_near_name_consider(nearest, name, candidate);
    if (nearest->name == candidate) normalise(candidate, strlen(candidate), best);
}

static void unknown_option(const splat_line_command *command, const char *word, const char *name)
{
    char best[NAME_MAX_LENGTH] = "", alias[NAME_MAX_LENGTH];
    splat_near_name nearest = {0};
    for (size_t i = 0; i < splat_line_n_options; i++) {
        const splat_line_option *option = &splat_line_options[i];
        if (!(option->commands & command->bit)) continue;
        consider(&nearest, name, option->name, best);
        for (const char *rest = splat_line_next_name(option->aliases, alias); rest;
             rest = splat_line_next_name(rest, alias))
            consider(&nearest, name, alias, best);
    }
    int length = (int)strcspn(word, "=");
    const char *hint = cli_option_hint(command, name);
    if (hint)
        cli_error("unknown option '%.*s' for %s: %s", length, word, command->name, hint);
    else if (best[0])
        cli_error("unknown option '%.*s' for %s; did you mean '--%s'?", length, word, command->name, best);
    else
        cli_error("unknown option '%.*s' for %s; 'splatsmith %s --help' lists what there is", length, word,
                  command->name, command->name);
}

typedef enum match { MATCH_NONE, MATCH_PREFIX, MATCH_EXACT } match;

static match match_name(const char *name, const char *candidate)
{
    size_t length = strlen(name);
    if (strncmp(name, candidate, length) != 0) return MATCH_NONE;
    return candidate[length] ? MATCH_PREFIX : MATCH_EXACT;
}

static match match_option(const splat_line_option *option, const char *name)
{
    char alias[NAME_MAX_LENGTH];
    match best = match_name(name, option->name);
    for (const char *rest = splat_line_next_name(option->aliases, alias); rest;
         rest = splat_line_next_name(rest, alias)) {
        match found = match_name(name, alias);
        if (found > best) best = found;
    }
    return best;
}

static void ambiguous_option(const splat_line_command *command, const char *name)
{
    char list[SPLAT_LINE_TEXT_MAX] = "";
    size_t length = 0;
    for (size_t i = 0; i < splat_line_n_options && length < sizeof list; i++) {
        const splat_line_option *option = &splat_line_options[i];
        if ((option->commands & command->bit) && match_option(option, name) == MATCH_PREFIX)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s--%s", length ? ", " : "", option->name);
    }
    cli_error("option '--%s' is ambiguous for %s; it could be %s", name, command->name, list);
}

/* The option that "--name" or "--name=value" means; NULL after a message. */
static const splat_line_option *find_long(const splat_line_command *command, const char *word)
{
    char name[NAME_MAX_LENGTH];
    const splat_line_option *found = NULL;
    size_t n_found = 0;
    normalise(word + 2, strcspn(word + 2, "="), name);
    for (size_t i = 0; name[0] && i < splat_line_n_options; i++) {
        if (!(splat_line_options[i].commands & command->bit)) continue;
        match how = match_option(&splat_line_options[i], name);
        if (how == MATCH_EXACT) return &splat_line_options[i];
        if (how == MATCH_PREFIX) {
            found = &splat_line_options[i];
            n_found++;
        }
    }
    if (n_found == 1) return found;
    if (n_found > 1)
        ambiguous_option(command, name);
    else
        unknown_option(command, word, name);
    return NULL;
}

static const splat_line_option *find_short(const splat_line_command *command, const char *word)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if ((splat_line_options[i].commands & command->bit) && splat_line_options[i].letter == word[1])
            return &splat_line_options[i];
    char name[NAME_MAX_LENGTH]; /* "-eval" for "--eval" is an easy slip */
    normalise(word + 1, strcspn(word + 1, "="), name);
    unknown_option(command, word, name);
    return NULL;
}

/* A word that begins an option. "-" and negative numbers are values. */
static bool is_option(const char *word)
{
    if (word[0] != '-' || word[1] == '\0') return false;
    return !isdigit((unsigned char)word[1]) && !(word[1] == '.' && isdigit((unsigned char)word[2]));
}

/* ---------------------------------------------------------------- values */

/* What is wrong, as the library says it, and what was probably meant. */
static bool refuse(const splat_line_option *option, const char *text, const splat_error *error)
{
    char sentence[sizeof error->message + 64];
    const char *hint = cli_value_hint(option, text);
    cli_error("%s%s%s", cli_library_text(error->message, sentence, sizeof sentence), hint ? "; " : "",
              hint ? hint : "");
    return false;
}

splat_option splat_line_option_row(const splat_line_option *option)
{
    const splat_line_range range = splat_line_option_range(option);
    return (splat_option){.row = {option->name, (splat_option_kind)option->kind, 0, option->metavar},
                          .low = range.low, .high = range.high, .or_zero = range.or_zero};
}

static bool set_plain(const splat_line_option *option, splat_option_kind kind, const char *text, void *field)
{
    splat_error error;
    splat_option row = splat_line_option_row(option);
    row.row.kind = kind;
    return splat_option_read(&row, text, field, &error) == SPLAT_OK || refuse(option, text, &error);
}

static bool add_int(const splat_line_option *option, const char *text, splat_line_list *list)
{
    splat_error error;
    splat_option row = splat_line_option_row(option);
    if (list->n == SPLAT_LINE_LIST_MAX) {
        cli_error("--%s takes at most %d numbers", option->name, SPLAT_LINE_LIST_MAX);
        return false;
    }
    row.row.kind = SPLAT_OPTION_INT;
    if (splat_option_read(&row, text, &list->values[list->n], &error) != SPLAT_OK) return refuse(option, text, &error);
    list->n++;
    return true;
}

static bool set_limit(const splat_line_option *option, const char *text, splat_line_limit *value)
{
    bool share = strchr(option->metavar, '|') != NULL;
    if (splat_line_parse_limit(text, share, value)) return true;
    cli_error("--%s takes a size such as 8G or 500M%s, not '%s'", option->name,
              share ? ", a percentage above 0 and at most 100, or max" : "", text);
    return false;
}

static bool is_word(const splat_line_option *option, const char *text)
{
    return splat_option_find_word(option->metavar, text) >= 0;
}

/* The word is kept as it was typed. */
static bool set_choice(const splat_line_option *option, const char *text, const char **value)
{
    splat_error error;
    splat_option row = splat_line_option_row(option);
    int number;
    row.row.kind = SPLAT_OPTION_CHOICE;
    if (splat_option_read(&row, text, &number, &error) != SPLAT_OK) return refuse(option, text, &error);
    *value = text;
    return true;
}

/* "all", or what a flag takes. */
static bool read_help(const char *text, splat_line_help *value)
{
    bool is_on;
    if (strcmp(text, "all") == 0) return *value = SPLAT_LINE_HELP_ALL, true;
    if (!splat_text_flag(text, &is_on)) return false;
    *value = is_on ? SPLAT_LINE_HELP_BASIC : SPLAT_LINE_NO_HELP;
    return true;
}

static bool set_value(splat_line *line, const splat_line_option *option, const char *text)
{
    void *field = splat_line_field(line, option);
    switch (option->kind) {
    case SPLAT_LINE_CHOICE: return set_choice(option, text, field);
    case SPLAT_LINE_PORT: return set_plain(option, SPLAT_OPTION_INT, text, field);
    case SPLAT_LINE_LIMIT: return set_limit(option, text, field);
    case SPLAT_LINE_INTS: return add_int(option, text, field);
    case SPLAT_LINE_HELP:
        if (read_help(text, field)) return true;
        cli_error("--%s takes nothing or all, not '%s'", option->name, text);
        return false;
    default: return set_plain(option, (splat_option_kind)option->kind, text, field);
    }
}

/* ---------------------------------------------------------------- the walk over the words */

typedef struct cli_words {
    char **word;
    int n, next;
} cli_words;

/* The next word, if it can be a value: it begins no option, or is a choice such as -y. */
static const char *peek_value(const cli_words *words, const splat_line_option *option)
{
    if (words->next >= words->n) return NULL;
    const char *word = words->word[words->next];
    bool has_choices = option->kind == SPLAT_LINE_CHOICE || option->kind == SPLAT_LINE_WORD;
    return !is_option(word) || (has_choices && is_word(option, word)) ? word : NULL;
}

/* `attached` is what stood after '=' or after a letter, or NULL. */
static bool take_values(splat_line *line, const splat_line_option *option, const char *attached, cli_words *words)
{
    const char *text = attached ? attached : peek_value(words, option);
    char usual[8];
    bool ignored;
    splat_line_help ignored_help;
    line->given[option - splat_line_options] = true;
    line->unnamed[option - splat_line_options] = false;
    if (option->kind == SPLAT_LINE_INTS) ((splat_line_list *)splat_line_field(line, option))->n = 0;
    if (option->kind == SPLAT_LINE_FLAG && !attached && !(text && splat_text_flag(text, &ignored)))
        return set_value(line, option, "true");
    if (option->kind == SPLAT_LINE_HELP && !attached && !(text && read_help(text, &ignored_help)))
        return set_value(line, option, "true");
    if (option->kind == SPLAT_LINE_PORT && !attached && !(text && isdigit((unsigned char)text[0]))) {
        line->unnamed[option - splat_line_options] = true;
        return sscanf(option->metavar, "[PORT=%7[0-9]]", usual) == 1 && set_value(line, option, usual);
    }
    if (!text) {
        cli_error("--%s needs a value", option->name);
        return false;
    }
    if (!attached) words->next++;
    if (!set_value(line, option, text)) return false;
    while (option->kind == SPLAT_LINE_INTS && !attached && (text = peek_value(words, option))) {
        if (!set_value(line, option, text)) return false;
        words->next++;
    }
    return true;
}

static bool takes_many(const splat_line_command *command)
{
    size_t length = strlen(command->operand);
    return length > 3 && strcmp(command->operand + length - 3, "...") == 0;
}

static bool take_operand(splat_line *line, const char *word)
{
    const splat_line_command *command = line->command;
    if (command->operand && !line->operand) {
        line->operand = word;
        return true;
    }
    if (command->operand && takes_many(command)) {
        if (line->n_words < SPLAT_LINE_WORDS_MAX) return line->words[line->n_words++] = word, true;
        cli_error("%s takes at most %d words", command->name, SPLAT_LINE_WORDS_MAX + 1);
        return false;
    }
    const char *hint = command->operand ? NULL : cli_word_hint(command, word);
    if (command->operand)
        cli_error("%s takes one %s, but there is another word, '%s'", command->name, command->operand, word);
    else if (hint)
        cli_error("%s cannot use the word '%s'; did you mean '%s %s'?", command->name, word, hint, word);
    else
        cli_error("%s cannot use the word '%s'; options begin with '-'", command->name, word);
    return false;
}

bool cli_parse(splat_line *line, int n_words, char **word_list)
{
    const splat_line_command *command = line->command;
    cli_words words = {word_list, n_words, 0};
    bool options_end = false;
    while (words.next < words.n) {
        char *word = words.word[words.next++];
        const char *attached = NULL;
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
            continue;
        }
        if (options_end || !is_option(word)) {
            if (!take_operand(line, word)) return false;
            continue;
        }
        const splat_line_option *option = word[1] == '-' ? find_long(command, word) : find_short(command, word);
        if (!option) return false;
        if (word[1] == '-') {
            attached = strchr(word, '=');
            if (attached) attached++;
        } else if (word[2]) {
            attached = word + 2 + (word[2] == '=');
        }
        if (word[1] != '-')
            option = cli_number_option(command, option, attached ? attached : peek_value(&words, option));
        if (!take_values(line, option, attached, &words)) return false;
    }
    return true;
}

bool splat_line_set(splat_line *line, const splat_line_option *option, const char *text)
{
    line->given[option - splat_line_options] = true;
    return set_value(line, option, text);
}

bool splat_line_given(const splat_line *line, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (line->given[i] && strcmp(splat_line_options[i].name, name) == 0) return true;
    return false;
}

const splat_line_option *splat_line_find_option(const splat_line_command *command, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if ((splat_line_options[i].commands & command->bit) && strcmp(splat_line_options[i].name, name) == 0)
            return &splat_line_options[i];
    return NULL;
}

const char *splat_line_first_given(const splat_line *line, const char *const names[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (splat_line_given(line, names[i])) return names[i];
    return NULL;
}

void cli_tell_unused(const splat_line *line, const char *name, const char *why)
{
    if (splat_line_given(line, name)) cli_notice("--%s has no effect%s", name, why);
}

bool splat_line_names_value(const splat_line *line, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++)
        if (line->given[i] && !line->unnamed[i] && strcmp(splat_line_options[i].name, name) == 0) return true;
    return false;
}

void splat_line_put_given(const splat_line *line, const void *part, size_t size, void *options)
{
    const char *begin = part;
    for (size_t i = 0; i < splat_line_n_options; i++) {
        if (!line->given[i] || !(splat_line_options[i].commands & line->command->bit)) continue;
        const char *field = splat_line_field(line, &splat_line_options[i]);
        if (field < begin || field >= begin + size) continue;
        memcpy((char *)options + (field - begin), field, splat_line_kind_size(splat_line_options[i].kind));
    }
}

void splat_line_forget(splat_line *line, const char *name)
{
    for (size_t i = 0; i < splat_line_n_options; i++) {
        const splat_line_option *option = &splat_line_options[i];
        if (!line->given[i] || strcmp(option->name, name) != 0 || option->kind != SPLAT_LINE_TEXT) continue;
        line->given[i] = false;
        memcpy(splat_line_field(line, option), (const char *)splat_line_default_parts() + option->offset,
               splat_line_kind_size(SPLAT_LINE_TEXT));
    }
}

/* ---------------------------------------------------------------- commands */

const splat_line_command *splat_line_find_command(const char *name)
{
    char wanted[NAME_MAX_LENGTH], known[NAME_MAX_LENGTH];
    normalise(name, strlen(name), wanted);
    for (size_t i = 0; i < splat_line_n_commands; i++) {
        normalise(splat_line_commands[i].name, strlen(splat_line_commands[i].name), known);
        if (strcmp(wanted, known) == 0) return &splat_line_commands[i];
    }
    return NULL;
}

void cli_unknown_command(const char *name)
{
    char wanted[NAME_MAX_LENGTH];
    splat_near_name nearest = {0};
    if (name[0] == '-') {
        cli_error("a command must come before '%s', for example 'splatsmith train %s ...'", name, name);
        return;
    }
    normalise(name, strlen(name), wanted);
    for (size_t i = 0; i < splat_line_n_commands; i++)
        if (!splat_line_commands[i].hidden) splat_near_name_consider(&nearest, wanted, splat_line_commands[i].name);
    char text[CLI_PATH_MAX];
    const char *hint = cli_command_hint(wanted);
    if (!hint) hint = cli_path_hint(name, text, sizeof text);
    if (hint)
        cli_error("unknown command '%s': %s", name, hint);
    else if (nearest.name)
        cli_error("unknown command '%s'; did you mean '%s'?", name, nearest.name);
    else
        cli_error("unknown command '%s'; 'splatsmith --help' lists the commands", name);
}
