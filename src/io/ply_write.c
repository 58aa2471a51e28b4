#include "base/file.h"
#include "base/reader.h" /* refuses big-endian hosts: floats are written as they stand in memory */
#include "io/ply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROW = 63 };

/* The largest |logit| written for a fused opacity: sigmoid is 0 or 1 far before. */
static const double max_logit = 100.0;

/* In logarithms, so that neither tiny scales nor opacities near 0 and 1 lose digits:
 * logit(o c3) = ln c3 - ln(1 + e^-logit(o) - c3). */
void splat_ply_bake_filter(float scales[3], float *opacity, double f)
{
    double ln_c3 = 0.0;
    if (f == 0.0) return;
    f = fabs(f); /* it enters as f^2 */
    for (int c = 0; c < 3; c++) {
        double ln_s = (double)scales[c], s = exp(ln_s);
        double ln_growth = s > f ? 0.5 * log1p((f / s) * (f / s)) : log(f) - ln_s + 0.5 * log1p((s / f) * (s / f));
        ln_c3 -= ln_growth;
        scales[c] = (float)(ln_s + ln_growth);
    }
    double logit = ln_c3 - log(exp(-(double)*opacity) - expm1(ln_c3));
    if (logit > max_logit) logit = max_logit; /* o c3 = 1 and 0; NaN stays NaN */
    if (logit < -max_logit) logit = -max_logit;
    *opacity = (float)logit;
}

static void write_header(FILE *stream, const splat_ply_gaussians *gaussians, bool has_filter, const char *mode,
                         const char *extra_comment)
{
    int n_rest = 3 * ((gaussians->sh_degree + 1) * (gaussians->sh_degree + 1) - 1);
    fprintf(stream, "ply\nformat binary_little_endian 1.0\n");
    if (mode) fprintf(stream, "comment SplatRenderMode: %s\n", mode);
    if (extra_comment) fprintf(stream, "comment %s\n", extra_comment);
    fprintf(stream, "element vertex %zu\n", gaussians->n);
    fprintf(stream, "property float x\nproperty float y\nproperty float z\n"
                    "property float nx\nproperty float ny\nproperty float nz\n");
    for (int i = 0; i < 3; i++) fprintf(stream, "property float f_dc_%d\n", i);
    for (int i = 0; i < n_rest; i++) fprintf(stream, "property float f_rest_%d\n", i);
    fprintf(stream, "property float opacity\n");
    for (int i = 0; i < 3; i++) fprintf(stream, "property float scale_%d\n", i);
    for (int i = 0; i < 4; i++) fprintf(stream, "property float rot_%d\n", i);
    if (has_filter) fprintf(stream, "property float filter_3D\n");
    fprintf(stream, "end_header\n");
}

/* Returns the floats of one row. */
static size_t fill_row(const splat_ply_gaussians *gaussians, size_t i, bool fused, float row[MAX_ROW])
{
    size_t degree = (size_t)gaussians->sh_degree, n_coefficients = (degree + 1) * (degree + 1) - 1, k = 0;
    float scales[3], opacity = gaussians->opacities[i];
    memcpy(scales, gaussians->scales + 3 * i, sizeof scales);
    if (fused && gaussians->filter_3d) splat_ply_bake_filter(scales, &opacity, (double)gaussians->filter_3d[i]);
    for (size_t c = 0; c < 3; c++) row[k++] = gaussians->means[3 * i + c];
    for (size_t c = 0; c < 3; c++) row[k++] = 0.0f; /* normals: readers expect the columns */
    for (size_t c = 0; c < 3; c++) row[k++] = gaussians->sh_dc[3 * i + c];
    for (size_t c = 0; c < 3; c++) /* channel-major in the file, coefficient-major here */
        for (size_t j = 0; j < n_coefficients; j++) row[k++] = gaussians->sh_rest[3 * (n_coefficients * i + j) + c];
    row[k++] = opacity;
    for (size_t c = 0; c < 3; c++) row[k++] = scales[c];
    for (size_t c = 0; c < 4; c++) row[k++] = gaussians->rotations[4 * i + c];
    if (!fused && gaussians->filter_3d) row[k++] = gaussians->filter_3d[i];
    return k;
}

splat_status splat_ply_write_gaussians(const char *path, const splat_ply_gaussians *gaussians, bool fused,
                                       const char *extra_comment, splat_error *error)
{
    splat_save save;
    if (gaussians->sh_degree < 0 || gaussians->sh_degree > 3)
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "SH degree %d is not in 0 to 3", gaussians->sh_degree);
    if (extra_comment && strpbrk(extra_comment, "\r\n"))
        return splat_fail(error, SPLAT_ERROR_ARGUMENT, "a comment of a PLY file must be one line");
    const char *mode = NULL;
    if (gaussians->tagged_mip || (fused && gaussians->filter_3d)) mode = "mip";
    if (gaussians->tagged_default) mode = "default";
    SPLAT_TRY(splat_save_open(&save, path, error));
    write_header(save.stream, gaussians, !fused && gaussians->filter_3d, mode, extra_comment);
    for (size_t i = 0; i < gaussians->n && !ferror(save.stream); i++) {
        float row[MAX_ROW];
        fwrite(row, sizeof row[0], fill_row(gaussians, i, fused, row), save.stream);
    }
    return splat_save_commit(&save, error);
}

splat_status splat_ply_write_points(const char *path, const splat_point *points, const float *normals, size_t n,
                                    splat_error *error)
{
    splat_save save;
    SPLAT_TRY(splat_save_open(&save, path, error));
    fprintf(save.stream, "ply\nformat binary_little_endian 1.0\nelement vertex %zu\n"
                         "property float x\nproperty float y\nproperty float z\n"
                         "property float nx\nproperty float ny\nproperty float nz\n"
                         "property uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n", n);
    for (size_t i = 0; i < n && !ferror(save.stream); i++) {
        static const float no_normal[3];
        uint8_t row[27];
        memcpy(row, points[i].position, 12);
        memcpy(row + 12, normals ? normals + 3 * i : no_normal, 12);
        memcpy(row + 24, points[i].color, 3);
        fwrite(row, 1, sizeof row, save.stream);
    }
    return splat_save_commit(&save, error);
}
