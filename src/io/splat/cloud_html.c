/* A splat as one HTML page that shows it: the splat as SPZ in base64, and a drawer of our own in WebGL2
 * (viewer_page.inc). Nothing is loaded from elsewhere; browsers of 2023 and later unpack gzip themselves. */
#include "base/base64.h"
#include "base/file.h"
#include "io/splat/formats.h"
#include "io/splat/spz.h"
#include "io/splat/viewer_page.inc"
#include "io/svg/xml_text.h"

#include <stdlib.h>

static splat_status write_html(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                               splat_error *error)
{
    splat_save save;
    uint8_t *data;
    size_t size;
    (void)options; /* the page unpacks version 3 alone */
    SPLAT_TRY(splat_spz_pack(cloud, 3, &data, &size, error));
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        fputs(splat_viewer_head, save.stream);
        splat_xml_text(save.stream, splat_basename(path));
        fputs(splat_viewer_body, save.stream);
        splat_base64_put(save.stream, data, size);
        for (size_t i = 0; i < sizeof splat_viewer_script / sizeof splat_viewer_script[0]; i++)
            fputs(splat_viewer_script[i], save.stream);
        status = splat_save_commit(&save, error);
    }
    free(data);
    return status;
}

const splat_cloud_format splat_cloud_format_html = {
    .name = "HTML",
    .ending = ".html",
    .description = "one page that shows the splat in a browser, without a network; it holds the splat as SPZ",
    .is_packed = true,
    .max_sh_degree = SPLAT_MAX_SH_DEGREE,
    .write = write_html,
};
