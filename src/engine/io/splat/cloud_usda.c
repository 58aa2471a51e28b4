/* A splat as USD text: UsdVol's ParticleField3DGaussianSplat (OpenUSD 26.03). Numbers have nine digits, which give a
 * float back. y points up, as in most scenes of USD: positions, rotations and harmonics are turned. */
#include "base/c_locale.h"
#include "base/file.h"
#include "io/splat/cloud_usda_read.h"
#include "io/splat/formats.h"
#include "io/splat/packed.h"

#include <float.h>
#include <string.h>

enum { A_LINE = 4 }; /* rows of numbers in a line of text */

/* The kinds of arrays, by the row that they are made of. */
typedef enum usda_array { POSITIONS, ORIENTATIONS, SCALES, OPACITIES, HARMONICS } usda_array;

static int fill_row(const splat_cloud *c, usda_array array, size_t i, double row[4])
{
    size_t per = (size_t)(c->sh_degree + 1) * (size_t)(c->sh_degree + 1), n_rest = 3 * (per - 1);
    size_t of = i / per, b = i % per; /* of HARMONICS: a row a coefficient, those of a Gaussian together */
    switch (array) {
    case POSITIONS:
        for (int k = 0; k < 3; k++) row[k] = (double)(splat_packed_axis_signs[k] * c->means[3 * i + k]);
        return 3;
    case ORIENTATIONS:
        splat_packed_quaternion(c->rotations + 4 * i, row);
        for (int k = 0; k < 4; k++) row[k] *= (double)splat_packed_rotation_signs[k];
        return 4;
    case SCALES:
        for (int k = 0; k < 3; k++) row[k] = fmin(exp((double)c->scales[3 * i + k]), (double)FLT_MAX);
        return 3;
    case OPACITIES: row[0] = splat_packed_opacity(c->opacities[i]); return 1;
    default:
        for (size_t k = 0; k < 3; k++)
            row[k] = b == 0 ? (double)c->sh_dc[3 * of + k]
                            : (double)(splat_packed_sh_signs[b - 1] * c->sh_rest[n_rest * of + 3 * (b - 1) + k]);
        return 3;
    }
}

static void write_array(FILE *out, const splat_cloud *c, usda_array array, size_t n)
{
    fputs(" = [", out);
    for (size_t i = 0; i < n && !ferror(out); i++) {
        double row[4];
        int width = fill_row(c, array, i, row);
        fputs(i % A_LINE == 0 ? "\n        " : " ", out);
        for (int k = 0; k < width; k++)
            fprintf(out, "%s%.9g", k ? ", " : width > 1 ? "(" : "", row[k] == 0 ? 0.0 : row[k]); /* no -0 */
        fputs(width > 1 ? ")" : "", out);
        if (i + 1 < n) fputc(',', out);
    }
    fputs("\n    ]", out);
}

/* The box of the Gaussians as far as three standard deviations. */
static void write_extent(FILE *out, const splat_cloud *c)
{
    double low[3] = {0}, high[3] = {0};
    for (size_t i = 0; i < c->n; i++) {
        const float *s = c->scales + 3 * i;
        double reach = fmin(3 * exp(fmax(fmax((double)s[0], (double)s[1]), (double)s[2])), (double)FLT_MAX / 2);
        for (int k = 0; k < 3; k++) {
            double x = (double)(splat_packed_axis_signs[k] * c->means[3 * i + k]);
            low[k] = i == 0 ? x - reach : fmin(low[k], x - reach);
            high[k] = i == 0 ? x + reach : fmax(high[k], x + reach);
        }
    }
    fprintf(out, "    float3[] extent = [(%.9g, %.9g, %.9g), (%.9g, %.9g, %.9g)]\n", low[0], low[1], low[2], high[0],
            high[1], high[2]);
}

static void write_prim(FILE *out, const splat_cloud *c)
{
    int per = (c->sh_degree + 1) * (c->sh_degree + 1);
    fputs("#usda 1.0\n(\n    defaultPrim = \"Splat\"\n    doc = \"Written by Splatsmith\"\n    metersPerUnit = 1\n"
          "    upAxis = \"Y\"\n)\n\ndef ParticleField3DGaussianSplat \"Splat\"", out);
    if (c->render_mode == SPLAT_RENDER_MIP) /* USD has no word for it */
        fputs(" (\n    customData = {\n        string SplatRenderMode = \"mip\"\n    }\n)", out);
    fputs("\n{\n", out);
    write_extent(out, c);
    fputs("    uniform token projectionModeHint = \"perspective\"\n"
          "    uniform token sortingModeHint = \"zDepth\"\n    point3f[] positions", out);
    write_array(out, c, POSITIONS, c->n);
    fputs("\n    quatf[] orientations", out);
    write_array(out, c, ORIENTATIONS, c->n);
    fputs("\n    float3[] scales", out);
    write_array(out, c, SCALES, c->n);
    fputs("\n    float[] opacities", out);
    write_array(out, c, OPACITIES, c->n);
    fprintf(out, "\n    uniform int radiance:sphericalHarmonicsDegree = %d\n"
                 "    float3[] radiance:sphericalHarmonicsCoefficients", c->sh_degree);
    write_array(out, c, HARMONICS, c->n * (size_t)per);
    fprintf(out, " (\n        elementSize = %d\n        interpolation = \"vertex\"\n    )\n}\n", per);
}

static splat_status write_usda(const char *path, const splat_cloud *cloud, const splat_save_options *options,
                               splat_error *error)
{
    splat_save save;
    splat_c_locale locale;
    (void)options; /* it has no choices */
    if (!splat_c_locale_begin(&locale)) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for a locale");
    splat_status status = splat_save_open(&save, path, error);
    if (status == SPLAT_OK) {
        write_prim(save.stream, cloud);
        status = splat_save_commit(&save, error);
    }
    splat_c_locale_end(&locale);
    return status;
}

static bool begins_as_usda(const uint8_t *head, size_t n)
{
    return n >= 6 && memcmp(head, "#usda ", 6) == 0;
}

/* Nothing tells of the whole but the whole. */
static splat_status describe_usda(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    splat_cloud cloud;
    SPLAT_TRY(splat_usda_read(path, &cloud, error));
    *shape = (splat_cloud_shape){.n = cloud.n, .sh_degree = cloud.sh_degree, .render_mode = cloud.render_mode};
    splat_cloud_free(&cloud);
    return SPLAT_OK;
}

const splat_cloud_format splat_cloud_format_usda = {
    .name = "USD",
    .ending = ".usda",
    .description = "text with UsdVol's ParticleField3DGaussianSplat (OpenUSD 26.03), for Houdini and Omniverse; large",
    .is_packed = true,
    .max_sh_degree = SPLAT_MAX_SH_DEGREE,
    .begins = begins_as_usda,
    .describe = describe_usda,
    .read = splat_usda_read,
    .write = write_usda,
};
