/* The table of the trained tensors. */
#include "math/gaussians.h"

#include <stdio.h>
#include <string.h>

enum { SPLAT_SH_REST = 0 };

static const splat_tensor_row rows[SPLAT_N_TENSORS] = {
#define SPLAT_TENSOR(name, channels, storage, ply, ...)                                                                \
    {#name, "adam_m." #name, "adam_v." #name, "adam." #name, ply, channels, SPLAT_STORED_##storage},
#include "math/gaussians.def"
#undef SPLAT_TENSOR
};

const splat_tensor_table splat_gaussian_tensors = {SPLAT_N_TENSORS, rows};

void splat_tensor_ply_column(const splat_tensor_row *row, uint32_t channel, char *name, size_t size)
{
    const char *text = row->ply;
    const char *number = strchr(text, '#');
    if (number) {
        snprintf(name, size, "%.*s%u%s", (int)(number - text), text, channel, number + 1);
        return;
    }
    for (uint32_t i = 0; i < channel && *text; i++) text += strcspn(text, " ") + 1;
    snprintf(name, size, "%.*s", (int)strcspn(text, " "), text);
}
