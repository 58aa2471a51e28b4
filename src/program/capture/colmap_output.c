/* Reading COLMAP's lines. What they look like is what the program is seen to print, and its documentation. */
#include "capture/colmap_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double clamped(double fraction)
{
    return fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
}

/* "[i/n]", or "[i/a, j/b]" of blocks in rows; -1: neither. */
static double bracket_progress(const char *line)
{
    for (const char *at = strchr(line, '['); at; at = strchr(at + 1, '[')) {
        double i, n, j, m;
        int end = 0;
        if (sscanf(at, "[%lf/%lf, %lf/%lf]%n", &i, &n, &j, &m, &end) == 4 && end && n > 0 && m > 0)
            return clamped(((i - 1) * m + j) / (n * m));
        end = 0;
        if (sscanf(at, "[%lf/%lf]%n", &i, &n, &end) == 2 && end && n > 0) return clamped(i / n);
    }
    return -1;
}

/* "Registering image #4 (12)" and "Registering image #4 (num_reg_frames=12)" */
static double mapper_progress(const char *line, size_t n_photos)
{
    static const char mark[] = "Registering image #";
    const char *at = strstr(line, mark), *open = at ? strchr(at, '(') : NULL;
    if (!open || n_photos == 0) return -1;
    open += strcspn(open, "0123456789");
    return *open ? clamped(strtod(open, NULL) / (double)n_photos) : -1;
}

double splat_colmap_line_progress(const char *line, size_t n_photos)
{
    double fraction = mapper_progress(line, n_photos);
    return fraction >= 0 ? fraction : bracket_progress(line);
}

static const struct {
    const char *part;
    splat_colmap_fault fault;
} signs[] = {
    {"could not connect to display", SPLAT_COLMAP_FAULT_GPU},
    {"context_.create()", SPLAT_COLMAP_FAULT_GPU},
    {"Cannot use Sift GPU", SPLAT_COLMAP_FAULT_GPU},
    {"SiftGPU not fully supported", SPLAT_COLMAP_FAULT_GPU},
    {"CUDA error", SPLAT_COLMAP_FAULT_GPU},
    {"CUDA driver", SPLAT_COLMAP_FAULT_GPU},
    {"no CUDA-capable device", SPLAT_COLMAP_FAULT_GPU},
    {"unrecognised option", SPLAT_COLMAP_FAULT_OPTIONS},
    {"Failed to parse options", SPLAT_COLMAP_FAULT_OPTIONS},
    {"No space left", SPLAT_COLMAP_FAULT_DISK},
    {"database or disk is full", SPLAT_COLMAP_FAULT_DISK},
    {"disk I/O error", SPLAT_COLMAP_FAULT_DISK},
    {"file is not a database", SPLAT_COLMAP_FAULT_DATABASE},
    {"database disk image is malformed", SPLAT_COLMAP_FAULT_DATABASE},
    {"bad_alloc", SPLAT_COLMAP_FAULT_MEMORY},
    {"out of memory", SPLAT_COLMAP_FAULT_MEMORY},
    {"No images with matches found", SPLAT_COLMAP_FAULT_NO_MATCHES},
    {"No good initial image pair found", SPLAT_COLMAP_FAULT_NO_START},
    {"Initialization failed", SPLAT_COLMAP_FAULT_NO_START},
    {"bad initial pair", SPLAT_COLMAP_FAULT_NO_START},
    {"insufficient size", SPLAT_COLMAP_FAULT_NO_START},
    {"failed to create sparse model", SPLAT_COLMAP_FAULT_NO_START},
    {"images have different dimensions", SPLAT_COLMAP_FAULT_SIZES},
    {"CAMERA_SINGLE_DIM_ERROR", SPLAT_COLMAP_FAULT_SIZES},
    {"BITMAP_ERROR", SPLAT_COLMAP_FAULT_PHOTO},
    {"Failed to read image file format", SPLAT_COLMAP_FAULT_PHOTO},
};

splat_colmap_fault splat_colmap_line_fault(const char *line)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strstr(line, signs[i].part)) return signs[i].fault;
    return SPLAT_COLMAP_NO_FAULT;
}

/* They are listed by how much they explain. */
splat_colmap_fault splat_colmap_worse_fault(splat_colmap_fault a, splat_colmap_fault b)
{
    if (a == SPLAT_COLMAP_NO_FAULT || b == SPLAT_COLMAP_NO_FAULT) return a > b ? a : b;
    return a < b ? a : b;
}

const char *splat_colmap_fault_advice(splat_colmap_fault fault)
{
    switch (fault) {
    case SPLAT_COLMAP_NO_FAULT: return NULL;
    case SPLAT_COLMAP_FAULT_GPU: return "it asks for a GPU or a display that it cannot use; name another with `colmap`";
    case SPLAT_COLMAP_FAULT_OPTIONS:
        return "it takes other options than the versions that are known, 3.6 to 4.1; name one of those with `colmap`";
    case SPLAT_COLMAP_FAULT_DISK: return "its database could not be written; make room on the disk and run again";
    case SPLAT_COLMAP_FAULT_DATABASE: return "database.db is damaged; delete it and run again";
    case SPLAT_COLMAP_FAULT_MEMORY:
        return "memory is exhausted; give smaller photos, or ask for fewer `threads`, for example 4";
    case SPLAT_COLMAP_FAULT_NO_MATCHES:
        return "no two photos match: they are blurred, show plain surfaces, or do not overlap; neighbouring photos "
               "should share two thirds of what they show";
    case SPLAT_COLMAP_FAULT_NO_START:
        return "no pair of photos is good to begin with: walk around the scene instead of turning in one place, and "
               "let neighbouring photos share two thirds of what they show";
    case SPLAT_COLMAP_FAULT_SIZES: return "photos of several sizes should have had one camera; please report it";
    case SPLAT_COLMAP_FAULT_PHOTO: return "a photo cannot be read; save it again as a JPEG in RGB";
    }
    return NULL;
}
