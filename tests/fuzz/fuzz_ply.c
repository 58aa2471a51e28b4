/* PLY: the same bytes as a splat, as its shape alone, and as points. What is read can be changed and written. */
#include "fuzz.h"

#include "io/ply/ply_points.h"
#include "io/splat/formats.h"

static void read_splat(void)
{
    splat_cloud g;
    splat_cloud_shape shape;
    splat_error error;
    splat_status status = splat_cloud_read("in.ply", &g, &error);
    fuzz_judge(status, &error);
    splat_status of_shape = splat_cloud_describe("in.ply", &shape, &error);
    fuzz_judge(of_shape, &error);
    if (status != SPLAT_OK) return;
    if (of_shape != SPLAT_OK || shape.n != g.n || shape.sh_degree != g.sh_degree || shape.has_filter != !!g.filter_3d)
        abort();
    fuzz_touch(g.means, 12 * g.n);
    fuzz_touch(g.rotations, 16 * g.n);
    if (g.n && splat_cloud_set_degree(&g, (g.sh_degree + 1) % 4, &error) != SPLAT_OK) abort();
    if (g.sh_degree) fuzz_touch(g.sh_rest, 12 * g.n * ((size_t)(g.sh_degree + 1) * (size_t)(g.sh_degree + 1) - 1));
    splat_cloud_free(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_point *points = NULL;
    size_t n = 0;
    splat_error error;
    fuzz_file("in.ply", data, size);
    read_splat();
    splat_status status = splat_ply_read_points("in.ply", &points, &n, &error);
    fuzz_judge(status, &error);
    if (status == SPLAT_OK) fuzz_touch(points, n * sizeof *points);
    free(points);
    return 0;
}
