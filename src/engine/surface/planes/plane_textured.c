/* The splat's depth of a textured surface is bumpy, most of all at grazing angles. Where a plane of the scene explains
 * the depths of a square of pixels together, to half a pixel of parallax, no photo tells plane and bumps apart, and the
 * plane is right far more often. A rug on a floor is off by more, and stays. */
#include "surface/planes/plane_textured.h"

#include "math/camera.h"
#include "math/sight.h"

#include <stdlib.h>

#define SIDE 8             /* pixels of a square; it is judged with the eight around it */
#define CANDIDATES 3       /* planes that a square may lie on */
#define NEAR 2.0           /* pixels that a place put on the plane moves by in a view from the side, at most */
#define MEAN 0.5           /* pixels: the same of all such places together */
#define PART 0.6           /* of the squares' textured pixels that lie near the plane */
#define LEAST_COSINE 0.94f /* between the splat's normal and the plane's: 20 degrees */

/* A plane of a square: pixels near it, and the sum of their distances in pixels. */
typedef struct square_plane {
    int32_t plane; /* -1: none */
    uint32_t n;
    double sum;
} square_plane;

typedef struct square {
    uint32_t n;     /* textured pixels */
    int32_t chosen; /* plane; -1: none */
    square_plane planes[CANDIDATES];
} square;

/* A view and its squares. */
typedef struct texture {
    splat_view_map *map;
    const plane_view *view;
    const plane_global *planes;
    size_t n;
    int columns, rows;
    square *squares; /* [rows][columns] */
    uint64_t n_taken;
} texture;

/* True if a pixel may take a plane. */
static bool is_asked(const texture *t, size_t pixel)
{
    return !(t->view->labels[pixel] & PLANE_LABEL_SEGMENT) && t->map->state[pixel] == SPLAT_PIXEL_SILENT &&
           t->map->depth[pixel] > 0;
}

/* Distance of a pixel's place from a plane, in pixels of a camera that sees it from the side. */
static double pixels_off(const texture *t, size_t pixel, const float place[3], const plane_fit *fit)
{
    return plane_distance(fit, place) * (double)t->map->camera.fx / (double)t->map->depth[pixel];
}

/* Calls for the pixels of a square that may take a plane. */
typedef void (*pixel_function)(texture *t, square *own, size_t pixel);

static void for_pixels(texture *t, int column, int row, pixel_function function)
{
    const int width = t->map->camera.width, height = t->map->camera.height;
    for (int y = row * SIDE; y < (row + 1) * SIDE && y < height; y++)
        for (int x = column * SIDE; x < (column + 1) * SIDE && x < width; x++) {
            const size_t pixel = (size_t)y * (size_t)width + (size_t)x;
            if (is_asked(t, pixel)) function(t, &t->squares[row * t->columns + column], pixel);
        }
}

/* Lists the planes that are nearest to the first textured pixel of a square. */
static void list_candidates(texture *t, square *own, size_t pixel)
{
    double best[CANDIDATES];
    float place[3];
    if (own->n++ > 0) return;
    splat_view_map_place(t->map, pixel, place);
    for (size_t i = 0; i < t->n; i++) {
        const double off = fabs(pixels_off(t, pixel, place, &t->planes[i].fit));
        int at = CANDIDATES - 1;
        if (!(off < 2 * NEAR) || !plane_faces(&t->map->camera, &t->planes[i].fit)) continue;
        if (own->planes[at].plane >= 0 && best[at] <= off) continue;
        for (; at > 0 && (own->planes[at - 1].plane < 0 || best[at - 1] > off); at--) {
            own->planes[at] = own->planes[at - 1];
            best[at] = best[at - 1];
        }
        own->planes[at] = (square_plane){.plane = (int32_t)i};
        best[at] = off;
    }
}

/* Adds a pixel to the planes of its square that it lies near. */
static void add_pixel(texture *t, square *own, size_t pixel)
{
    float place[3], normal[3];
    splat_view_map_place(t->map, pixel, place);
    splat_normal_decode(t->map->normal + 2 * pixel, normal);
    for (int i = 0; i < CANDIDATES && own->planes[i].plane >= 0; i++) {
        const plane_fit *fit = &t->planes[own->planes[i].plane].fit;
        const double off = pixels_off(t, pixel, place, fit);
        const float cosine = (float)fit->normal[0] * normal[0] + (float)fit->normal[1] * normal[1] +
                             (float)fit->normal[2] * normal[2];
        if (!(fabs(off) < NEAR) || cosine < LEAST_COSINE) continue;
        own->planes[i].n++;
        own->planes[i].sum += off;
    }
}

/* The plane that explains a square and those around it best; -1: none. */
static int32_t plane_of_square(const texture *t, int column, int row)
{
    const square *own = &t->squares[row * t->columns + column];
    int32_t best = -1;
    uint32_t most = 0;
    for (int i = 0; i < CANDIDATES && own->planes[i].plane >= 0; i++) {
        uint32_t n = 0, n_near = 0;
        double sum = 0;
        for (int y = row - 1; y <= row + 1; y++)
            for (int x = column - 1; x <= column + 1; x++) {
                if (x < 0 || y < 0 || x >= t->columns || y >= t->rows) continue;
                const square *other = &t->squares[y * t->columns + x];
                n += other->n;
                for (int k = 0; k < CANDIDATES; k++) {
                    if (other->planes[k].plane != own->planes[i].plane) continue;
                    n_near += other->planes[k].n;
                    sum += other->planes[k].sum;
                }
            }
        if (!(n_near >= PART * n) || !(fabs(sum) < MEAN * n_near) || n_near <= most) continue;
        most = n_near;
        best = own->planes[i].plane;
    }
    return best;
}

/* Puts a pixel on the plane of its square, if it lies near. */
static void set_pixel(texture *t, square *own, size_t pixel)
{
    const plane_fit *fit = &t->planes[own->chosen].fit;
    const float z = plane_depth(&t->map->camera, fit, pixel);
    float place[3];
    splat_view_map_place(t->map, pixel, place);
    if (!(fabs(pixels_off(t, pixel, place, fit)) < NEAR) || !(z < INFINITY)) return;
    plane_set_pixel(t->map, fit, pixel, z);
    t->n_taken++;
}

splat_status plane_textured_set(splat_view_map *map, const plane_view *view, const plane_global *planes, size_t n,
                                uint64_t *n_taken, splat_error *error)
{
    const int columns = (map->camera.width + SIDE - 1) / SIDE, rows = (map->camera.height + SIDE - 1) / SIDE;
    texture t = {map, view, planes, n, columns, rows, NULL, 0};
    const size_t n_squares = (size_t)columns * (size_t)rows;
    *n_taken = 0;
    t.squares = malloc((n_squares + 1) * sizeof *t.squares);
    if (!t.squares) return splat_fail(error, SPLAT_ERROR_MEMORY, "no memory for the textured pixels of a view");
    for (size_t i = 0; i < n_squares; i++) {
        t.squares[i].n = 0;
        for (int k = 0; k < CANDIDATES; k++) t.squares[i].planes[k].plane = -1;
    }
    for (int row = 0; row < t.rows; row++)
        for (int column = 0; column < t.columns; column++) {
            for_pixels(&t, column, row, list_candidates);
            for_pixels(&t, column, row, add_pixel);
        }
    for (int row = 0; row < t.rows; row++)
        for (int column = 0; column < t.columns; column++) {
            square *own = &t.squares[row * columns + column];
            own->chosen = plane_of_square(&t, column, row);
            if (own->chosen >= 0) for_pixels(&t, column, row, set_pixel);
        }
    *n_taken = t.n_taken;
    free(t.squares);
    return SPLAT_OK;
}
