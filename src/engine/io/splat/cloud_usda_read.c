/* A splat from USD text: reads the words, strings and brackets of the file one after the other and keeps those of the
 * first ParticleField3DGaussianSplat. Its numbers may be half or float. */
#include "io/splat/cloud_usda_read.h"

#include "base/file.h"
#include "io/number.h"
#include "io/splat/packed.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The arrays of the prim, in the order of their names. */
typedef enum usda_array { POSITIONS, ORIENTATIONS, SCALES, OPACITIES, HARMONICS, N_ARRAYS } usda_array;

static const struct {
    const char *name; /* and with an h behind it, for halves */
    size_t width;
} arrays[N_ARRAYS] = {{"positions", 3},
                      {"orientations", 4},
                      {"scales", 3},
                      {"opacities", 1},
                      {"radiance:sphericalHarmonicsCoefficients", 3}};

typedef struct numbers {
    float *values;
    size_t n, room;
    bool found;
} numbers;

typedef struct usda_file {
    const char *path, *begin, *at, *end;
    numbers arrays[N_ARRAYS];
    int sh_degree; /* -1: not said */
    bool is_mip;
    splat_error *error;
} usda_file;

/* A word, a string without its quotes, or a bracket, '=' or ','. kind 0: the end. */
typedef struct token {
    char kind; /* 'w', 's', or the character itself */
    const char *text;
    size_t n;
} token;

static splat_status refuse(const usda_file *f, splat_status status, const char *why)
{
    return splat_fail_at(f->error, status, f->path, (uint64_t)(f->at - f->begin), "%s", why);
}

/* ---------------------------------------------------------------- words */

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && (isspace((unsigned char)*at) || *at == '#'))
        if (*at++ == '#')
            while (at < end && *at != '\n') at++;
    return at;
}

/* "..", '..' and their triples; @asset@ and <path> count as strings, too. */
static token take_string(usda_file *f)
{
    const char *at = f->at, quote = *at == '<' ? '>' : *at;
    const bool triple = f->end - at >= 3 && at[1] == quote && at[2] == quote;
    const size_t marks = triple ? 3 : 1;
    const char *text = at += marks;
    while (at < f->end) {
        bool ends = *at == quote && (!triple || (f->end - at >= 3 && at[1] == quote && at[2] == quote));
        if (ends) break;
        at += *at == '\\' && at + 1 < f->end ? 2 : 1;
    }
    f->at = at < f->end ? at + marks : f->end;
    return (token){'s', text, (size_t)(at - text)};
}

static bool is_word(char c)
{
    return c && !isspace((unsigned char)c) && !strchr("()[]{}=,;\"'#@<>", c);
}

static token next_token(usda_file *f)
{
    f->at = skip_blank(f->at, f->end);
    if (f->at >= f->end) return (token){0, f->end, 0};
    const char *text = f->at;
    if (strchr("\"'@<", *text) && *text) return take_string(f);
    while (f->at < f->end && is_word(*f->at)) f->at++;
    if (f->at > text) return (token){'w', text, (size_t)(f->at - text)};
    f->at++;
    return (token){*text ? *text : ';', text, 1};
}

static bool says(const token *t, const char *word)
{
    return t->n == strlen(word) && memcmp(t->text, word, t->n) == 0;
}

static bool begins_with(const token *t, const char *word)
{
    return t->kind == 'w' && t->n >= strlen(word) && memcmp(t->text, word, strlen(word)) == 0;
}

/* Reads the value after a name and '='; without a '=' the file's position does not change. */
static bool take_value(usda_file *f, token *value)
{
    const char *before = f->at;
    token equals = next_token(f);
    if (equals.kind != '=') {
        f->at = before;
        return false;
    }
    *value = next_token(f);
    return true;
}

/* ---------------------------------------------------------------- arrays */

static splat_status add_number(usda_file *f, numbers *to, double value)
{
    if (to->n == to->room) {
        size_t room = to->room ? 2 * to->room : 1024;
        float *values = realloc(to->values, room * sizeof *values);
        if (!values) return refuse(f, SPLAT_ERROR_MEMORY, "no memory for the numbers of the file");
        to->values = values;
        to->room = room;
    }
    to->values[to->n++] = (float)value;
    return SPLAT_OK;
}

/* From behind '[' to its ']'. Brackets of tuples are passed over: counts tell whether all is there. */
static splat_status take_numbers(usda_file *f, numbers *to)
{
    to->n = 0; /* the last opinion counts */
    to->found = true;
    for (;;) {
        token t = next_token(f);
        char *end;
        if (t.kind == ']') return SPLAT_OK;
        if (t.kind == '(' || t.kind == ')' || t.kind == ',') continue;
        double value = t.kind == 'w' ? splat_number_parse(t.text, &end) : 0;
        if (t.kind != 'w' || end != t.text + t.n) return refuse(f, SPLAT_ERROR_FORMAT, "this is no number of an array");
        SPLAT_TRY(add_number(f, to, value));
    }
}

/* An attribute of the prim, if the word names one of ours. */
static splat_status take_attribute(usda_file *f, const token *name)
{
    token value;
    char *end;
    for (int a = 0; a < N_ARRAYS; a++) {
        const size_t n = strlen(arrays[a].name);
        const bool half = name->n == n + 1 && name->text[n] == 'h';
        if ((name->n != n && !half) || memcmp(name->text, arrays[a].name, n) != 0) continue;
        if (!take_value(f, &value)) return SPLAT_OK; /* declared, or named elsewhere */
        if (says(&value, "None")) return SPLAT_OK;
        if (value.kind != '[') return refuse(f, SPLAT_ERROR_FORMAT, "an array of numbers is missing here");
        return take_numbers(f, &f->arrays[a]);
    }
    if (!says(name, "radiance:sphericalHarmonicsDegree") || !take_value(f, &value)) return SPLAT_OK;
    double degree = value.kind == 'w' ? splat_number_parse(value.text, &end) : -1;
    if (!(degree >= 0 && degree <= SPLAT_MAX_SH_DEGREE) || end != value.text + value.n || degree != (int)degree)
        return refuse(f, SPLAT_ERROR_UNSUPPORTED, "harmonics have degree 0 to 3");
    f->sh_degree = (int)degree;
    return SPLAT_OK;
}

/* ---------------------------------------------------------------- the file */

/* The position of the walk. */
typedef struct walk {
    int braces, parentheses, n_prims;
    bool in_prim;   /* behind its name */
    int prim_depth; /* braces around its attributes; 0: not there yet */
} walk;

static splat_status take_word(usda_file *f, walk *w, const token *t)
{
    token value;
    if (begins_with(t, "xformOp:"))
        return refuse(f, SPLAT_ERROR_UNSUPPORTED, "a transform moves what is in the file, which is not read");
    if (says(t, "upAxis") && take_value(f, &value) && says(&value, "Z"))
        return refuse(f, SPLAT_ERROR_UNSUPPORTED, "the file has z up; only y up can be read");
    if (says(t, "def")) {
        const char *before = f->at;
        value = next_token(f);
        f->at = value.kind == 'w' ? f->at : before;
        if (!says(&value, "ParticleField3DGaussianSplat")) return SPLAT_OK;
        if (w->n_prims++)
            return refuse(f, SPLAT_ERROR_UNSUPPORTED, "the file holds several splats; only one can be read");
        w->in_prim = true;
        return SPLAT_OK;
    }
    if (w->in_prim && says(t, "SplatRenderMode") && take_value(f, &value)) f->is_mip = says(&value, "mip");
    if (w->in_prim && w->prim_depth && w->braces == w->prim_depth && w->parentheses == 0) return take_attribute(f, t);
    return SPLAT_OK;
}

static splat_status walk_file(usda_file *f)
{
    walk w = {0};
    for (token t = next_token(f); t.kind; t = next_token(f)) {
        w.parentheses += (t.kind == '(') - (t.kind == ')');
        if (t.kind == '{') {
            w.braces++;
            if (w.in_prim && !w.prim_depth && w.parentheses == 0) w.prim_depth = w.braces;
        }
        if (t.kind == '}' && w.braces-- == w.prim_depth && w.prim_depth) w.in_prim = false;
        if (t.kind == 'w') SPLAT_TRY(take_word(f, &w, &t));
    }
    if (w.n_prims == 0) return refuse(f, SPLAT_ERROR_FORMAT, "the file holds no ParticleField3DGaussianSplat");
    if (w.braces != 0 || w.parentheses != 0) return refuse(f, SPLAT_ERROR_FORMAT, "the file ends too soon");
    return SPLAT_OK;
}

/* n Gaussians, if all arrays tell of as many. */
static splat_status count(usda_file *f, size_t *n)
{
    const size_t n_harmonics = f->arrays[HARMONICS].n / 3;
    f->at = f->begin;
    for (int a = 0; a < N_ARRAYS; a++)
        if (!f->arrays[a].found)
            return splat_fail_at(f->error, SPLAT_ERROR_FORMAT, f->path, SPLAT_NO_OFFSET, "the splat has no %s",
                                 arrays[a].name);
    *n = f->arrays[POSITIONS].n / 3;
    for (int d = 0; f->sh_degree < 0 && d <= SPLAT_MAX_SH_DEGREE; d++)
        if (n_harmonics == *n * (size_t)((d + 1) * (d + 1))) f->sh_degree = d;
    const size_t per = (size_t)((f->sh_degree + 1) * (f->sh_degree + 1));
    for (int a = 0; a < N_ARRAYS; a++)
        if (f->arrays[a].n != *n * arrays[a].width * (a == HARMONICS ? per : 1))
            return splat_fail_at(f->error, SPLAT_ERROR_FORMAT, f->path, SPLAT_NO_OFFSET,
                                 "%zu numbers of %s do not fit %zu positions", f->arrays[a].n, arrays[a].name, *n);
    return SPLAT_OK;
}

static void fill(const usda_file *f, splat_cloud *c)
{
    const size_t per = (size_t)((c->sh_degree + 1) * (c->sh_degree + 1)), n_rest = 3 * (per - 1);
    for (size_t i = 0; i < c->n; i++) {
        const float *harmonics = f->arrays[HARMONICS].values + 3 * per * i;
        for (size_t k = 0; k < 3; k++) {
            c->means[3 * i + k] = splat_packed_axis_signs[k] * f->arrays[POSITIONS].values[3 * i + k];
            c->scales[3 * i + k] = splat_packed_log_scale((double)f->arrays[SCALES].values[3 * i + k]);
            c->sh_dc[3 * i + k] = harmonics[k];
        }
        for (size_t k = 0; k < 4; k++)
            c->rotations[4 * i + k] = splat_packed_rotation_signs[k] * f->arrays[ORIENTATIONS].values[4 * i + k];
        for (size_t k = 0; k < n_rest; k++)
            c->sh_rest[n_rest * i + k] = splat_packed_sh_signs[k / 3] * harmonics[3 + k];
        const float opacity = f->arrays[OPACITIES].values[i];
        c->opacities[i] = isnan(opacity) ? opacity : splat_packed_logit((double)opacity);
    }
    if (f->is_mip) c->render_mode = SPLAT_RENDER_MIP;
}

splat_status splat_usda_read(const char *path, splat_cloud *cloud, splat_error *error)
{
    uint8_t *data;
    size_t size, n = 0;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_file_read(path, &data, &size, error));
    const char *text = (const char *)data;
    usda_file f = {.path = path, .begin = text, .at = text, .end = text + size, .sh_degree = -1, .error = error};
    splat_status status = walk_file(&f);
    if (status == SPLAT_OK) status = count(&f, &n);
    if (status == SPLAT_OK) status = splat_cloud_make(cloud, n, f.sh_degree, false, error);
    if (status == SPLAT_OK) fill(&f, cloud);
    for (int a = 0; a < N_ARRAYS; a++) free(f.arrays[a].values);
    free(data);
    return status;
}
