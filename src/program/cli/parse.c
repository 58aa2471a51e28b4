/* Reading the words of a command line, as argparse does: `-` and `_` are the same in names, a prefix that fits one
 * option is enough, `--name value` or `--name=value`, several numbers after one option, negative numbers as values. */
#include "parse.h"

#include "hints.h"

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

/* Says what is wrong, as the library does, and what was probably meant. */
static bool set_value(splat_line *line, const splat_line_option *option, const char *text)
{
    splat_error error;
    char sentence[sizeof error.message + 64];
    if (splat_line_read(option, text, splat_line_field(line, option), &error) == SPLAT_OK) return true;
    const char *hint = cli_value_hint(option, text);
    cli_error("%s%s%s", cli_library_text(error.message, sentence, sizeof sentence), hint ? "; " : "", hint ? hint : "");
    return false;
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
    return !is_option(word) || (has_choices && splat_option_find_word(option->metavar, word) >= 0) ? word : NULL;
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
    if (option->kind == SPLAT_LINE_HELP && !attached && !(text && splat_line_read_help(text, &ignored_help)))
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

void cli_tell_unused(const splat_line *line, const char *name, const char *why)
{
    if (splat_line_given(line, name)) cli_notice("--%s has no effect%s", name, why);
}

/* ---------------------------------------------------------------- commands */

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
