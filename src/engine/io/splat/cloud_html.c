/* A splat as one HTML page that shows it: the splat as SPZ in base64, and a drawer of our own in WebGL2
 * (viewer_page.inc). Nothing is loaded from elsewhere; browsers of 2023 and later unpack gzip themselves. */
#include "base/base64.h"
#include "base/c_locale.h"
#include "base/file.h"
#include "io/splat/cloud_spz.h"
#include "io/splat/formats.h"
#include "io/splat/viewer_page.inc"
#include "io/svg/xml_text.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- reading: pages that were written here */

static bool begins_as_html(const uint8_t *head, size_t n)
{
    return n >= 15 && memcmp(head, splat_viewer_head, 15) == 0;
}

/* The SPZ of a page, in malloc'd memory. */
static splat_status take_spz(const char *path, uint8_t **data, size_t *size, splat_error *error)
{
    static const char mark[] = "id=\"spz\">";
    uint8_t *text;
    size_t n, room;
    SPLAT_TRY(splat_file_read(path, &text, &n, error));
    const char *begin = strstr((const char *)text, mark), *end = begin ? strchr(begin + strlen(mark), '<') : NULL;
    splat_status status = SPLAT_OK;
    *data = NULL;
    if (!end)
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, SPLAT_NO_OFFSET,
                               "the page holds no splat that splatsmith export wrote");
    begin = end ? begin + strlen(mark) : NULL;
    room = end ? (size_t)(end - begin) / 4 * 3 + 3 : 0;
    if (status == SPLAT_OK && !(*data = malloc(room)))
        status = splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the splat of a page");
    if (status == SPLAT_OK && !splat_base64_get(begin, (size_t)(end - begin), *data, size))
        status = splat_fail_at(error, SPLAT_ERROR_FORMAT, path, (uint64_t)(begin - (const char *)text),
                               "the splat of the page is damaged: it is no base64");
    free(text);
    if (status == SPLAT_OK) return SPLAT_OK;
    free(*data);
    *data = NULL;
    return status;
}

static splat_status read_html(const char *path, splat_cloud *cloud, splat_error *error)
{
    uint8_t *data;
    size_t size;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(take_spz(path, &data, &size, error));
    splat_status status = splat_spz_unpack(path, data, size, cloud, error);
    free(data);
    return status;
}

static splat_status describe_html(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    uint8_t *data;
    size_t size;
    SPLAT_TRY(take_spz(path, &data, &size, error));
    splat_status status = splat_spz_describe(path, data, size, shape, error);
    free(data);
    return status;
}

/* ---------------------------------------------------------------- writing */

/* An axis of the page, whose y and z point the other way: SPZ is y up. */
static void put_axis(FILE *out, const float axis[3], double sign)
{
    fprintf(out, "[%.9g, %.9g, %.9g]", sign * (double)axis[0], -sign * (double)axis[1], -sign * (double)axis[2]);
}

/* Writes the first camera of the page: an eye, the rows right, up and backward, and the size of the view at
 * distance 1. */
static void put_start(FILE *out, const splat_camera *c)
{
    if (!c) {
        fputs("const start = null;\n", out);
        return;
    }
    fputs("const start = { eye: ", out);
    put_axis(out, c->center, 1);
    fputs(", rows: [", out);
    for (int i = 0; i < 3; i++) {
        put_axis(out, c->rotation + 3 * i, i ? -1 : 1);
        fputs(i < 2 ? ", " : "]", out);
    }
    fprintf(out, ", wide: %.9g, high: %.9g };\n", 0.5 * c->width / (double)c->fx, 0.5 * c->height / (double)c->fy);
}

static splat_status write_html(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                               splat_error *error)
{
    splat_save save;
    uint8_t *data;
    size_t size;
    splat_c_locale locale;
    SPLAT_TRY(splat_spz_pack(cloud, 3, &data, &size, error)); /* the page unpacks version 3 alone */
    if (!splat_c_locale_begin(&locale)) {
        free(data);
        return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a page");
    }
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        fputs(splat_viewer_head, save.stream);
        splat_xml_text(save.stream, splat_basename(path));
        fputs(splat_viewer_body, save.stream);
        splat_base64_put(save.stream, data, size);
        fputs(splat_viewer_start, save.stream);
        put_start(save.stream, options->start);
        for (size_t i = 0; i < sizeof splat_viewer_script / sizeof splat_viewer_script[0]; i++)
            fputs(splat_viewer_script[i], save.stream);
        status = splat_save_commit(&save, error);
    }
    splat_c_locale_end(&locale);
    free(data);
    return status;
}

const splat_cloud_format splat_cloud_format_html = {
    .name = "HTML",
    .ending = ".html",
    .description = "one page that shows the splat in a browser, without a network; it holds the splat as SPZ",
    .is_packed = true,
    .max_sh_degree = SPLAT_MAX_SH_DEGREE,
    .begins = begins_as_html,
    .describe = describe_html,
    .read = read_html,
    .write = write_html,
};
