/* The parameters of a checkpoint (io/tensor/tensor_file.h, docs/files.md), without the state of its optimizer. */
#include "io/splat/formats.h"
#include "io/tensor/tensor_file.h"
#include "math/quantize.h"

#include <stdlib.h>
#include <string.h>

enum { N_ARRAYS = SPLAT_N_TENSORS + 1 }; /* the tensors, then filter_3d */

static const char *name_of(int array)
{
    return array == SPLAT_N_TENSORS ? "filter_3d" : splat_gaussian_tensors.rows[array].name;
}

/* The parameters in the header. */
typedef struct header {
    uint32_t n;
    int sh_degree;
    bool sh_is_half;
    float kernel_size;
    splat_render_mode mode;
} header;

static splat_status read_header(const splat_tensor_reader *file, header *h, splat_error *error)
{
    const json_t *n = json_object_get(file->header, "n_gaussians");
    const json_t *degree = json_object_get(file->header, "sh_degree");
    const json_t *render = json_object_get(file->header, "render");
    const json_t *kernel = json_object_get(render, "kernel_size");
    const splat_tensor_entry *rest = splat_tensor_reader_find(file, name_of(SPLAT_TENSOR_sh_rest));
    if (!json_is_integer(n) || json_integer_value(n) < 1 || json_integer_value(n) > UINT32_MAX / 2 ||
        !json_is_integer(degree) || json_integer_value(degree) < 0 ||
        json_integer_value(degree) > SPLAT_MAX_SH_DEGREE || !json_is_number(kernel) || !rest)
        return splat_tensor_reader_damaged(file, SPLAT_TENSOR_FILE_HEAD, "its header does not describe a model", error);
    const char *mode = json_string_value(json_object_get(render, "mode"));
    *h = (header){.n = (uint32_t)json_integer_value(n),
                  .sh_degree = (int)json_integer_value(degree),
                  .sh_is_half = strcmp(rest->type, "F16") == 0,
                  .kernel_size = (float)json_number_value(kernel),
                  .mode = mode && strcmp(mode, "classic") == 0 ? SPLAT_RENDER_CLASSIC : SPLAT_RENDER_MIP};
    return SPLAT_OK;
}

static uint32_t channels_of(int array, const header *h)
{
    return array == SPLAT_N_TENSORS ? 1 : splat_tensor_channels(array, h->sh_degree);
}

static bool is_half(int array, const header *h)
{
    return array == SPLAT_TENSOR_sh_rest && h->sh_is_half;
}

/* The entry of an array, of the shape that the header promises; NULL otherwise. */
static const splat_tensor_entry *find_array(const splat_tensor_reader *file, int array, const header *h)
{
    const splat_tensor_entry *e = splat_tensor_reader_find(file, name_of(array));
    uint32_t channels = channels_of(array, h), words = is_half(array, h) ? splat_half_row(channels) / 2 : channels;
    const char *type = is_half(array, h) ? "F16" : "F32";
    return e && strcmp(e->type, type) == 0 && e->rows == h->n && e->words == words ? e : NULL;
}

/* Checks that all arrays are present, with their checksums. */
static splat_status check_arrays(const splat_tensor_reader *file, const header *h, splat_error *error)
{
    for (int i = 0; i < N_ARRAYS; i++) {
        const splat_tensor_entry *e = find_array(file, i, h);
        if (!e)
            return splat_tensor_reader_damaged(file, SPLAT_TENSOR_FILE_HEAD, "a tensor is missing or has another shape",
                                               error);
        SPLAT_TRY(splat_tensor_reader_check(file, e, error));
    }
    return SPLAT_OK;
}

/* Rows of 16-bit floats, padded to whole words, as floats. */
static splat_status read_half(const splat_tensor_reader *file, const splat_tensor_entry *e, uint32_t channels,
                              float *values, splat_error *error)
{
    size_t row_bytes = 4 * (size_t)e->words;
    if (row_bytes == 0) return SPLAT_OK;
    size_t rows = SPLAT_TENSOR_FILE_PIECE / row_bytes;
    uint16_t *piece = malloc(rows * row_bytes);
    if (!piece) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory to read a checkpoint");
    splat_status status = SPLAT_OK;
    for (size_t first = 0; first < e->rows && status == SPLAT_OK; first += rows) {
        size_t n = e->rows - first < rows ? e->rows - first : rows;
        status = splat_tensor_reader_read(file, e, first * row_bytes, piece, n * row_bytes, error);
        for (size_t i = 0; i < n && status == SPLAT_OK; i++)
            for (size_t c = 0; c < channels; c++)
                values[(first + i) * channels + c] = splat_half_decode(piece[i * row_bytes / 2 + c]);
    }
    free(piece);
    return status;
}

static splat_status read_arrays(const splat_tensor_reader *file, const header *h, splat_cloud *cloud,
                                splat_error *error)
{
    float *const arrays[N_ARRAYS] = {
#define SPLAT_TENSOR(name, ...) cloud->name,
#include "math/gaussians.def"
#undef SPLAT_TENSOR
        cloud->filter_3d};
    for (int i = 0; i < N_ARRAYS; i++) {
        const splat_tensor_entry *e = find_array(file, i, h);
        if (is_half(i, h))
            SPLAT_TRY(read_half(file, e, channels_of(i, h), arrays[i], error));
        else
            SPLAT_TRY(splat_tensor_reader_read(file, e, 0, arrays[i], (size_t)e->bytes, error));
    }
    return SPLAT_OK;
}

static splat_status read_open(const splat_tensor_reader *file, splat_cloud *cloud, splat_error *error)
{
    header h;
    SPLAT_TRY(read_header(file, &h, error));
    SPLAT_TRY(check_arrays(file, &h, error));
    SPLAT_TRY(splat_cloud_make(cloud, h.n, h.sh_degree, true, error)); /* all of it is in the file */
    cloud->sh_is_half = h.sh_is_half;
    cloud->render_mode = h.mode;
    cloud->kernel_size = h.kernel_size;
    splat_status status = read_arrays(file, &h, cloud, error);
    if (status != SPLAT_OK) splat_cloud_free(cloud);
    return status;
}

static splat_status read_checkpoint(const char *path, splat_cloud *cloud, splat_error *error)
{
    splat_tensor_reader file;
    memset(cloud, 0, sizeof *cloud);
    SPLAT_TRY(splat_tensor_reader_open(&file, path, error));
    splat_status status = read_open(&file, cloud, error);
    splat_tensor_reader_close(&file);
    return status;
}

static splat_status describe_checkpoint(const char *path, splat_cloud_shape *shape, splat_error *error)
{
    splat_tensor_reader file;
    header h;
    SPLAT_TRY(splat_tensor_reader_open(&file, path, error));
    splat_status status = read_header(&file, &h, error);
    if (status == SPLAT_OK) *shape = (splat_cloud_shape){h.n, h.sh_degree, true, h.mode, h.kernel_size};
    splat_tensor_reader_close(&file);
    return status;
}

const splat_cloud_format splat_cloud_format_checkpoint = {
    .name = "checkpoint",
    .ending = ".splatsmith",
    .description = "the parameters of a checkpoint of train or coarse; its optimizer is left out",
    .holds_filter = true,
    .begins = splat_tensor_file_begins,
    .describe = describe_checkpoint,
    .read = read_checkpoint,
};
