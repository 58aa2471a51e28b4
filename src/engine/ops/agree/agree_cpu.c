/* agree on the CPU: pixels in batches, on which work is done in loops of one kind each, as what differs from pixel to
 * pixel costs more in branches than in arithmetic. */
#include "backend/backend.h"
#include "math/camera.h"
#include "ops/agree/agree.h"
#include "ops/agree/agree_math.h"

#define BATCH SPLAT_AGREE_BATCH

/* Pixels of a view, and the sums over the neighbours that agree. */
typedef struct batch {
    const splat_agree_view *view;
    uint32_t n;
    float place[3][BATCH];
    splat_agree_pixel pixels[BATCH];
    splat_agree_sums sums[BATCH];
    uint8_t number[BATCH]; /* of the caller's pixel */
} batch;

/* The answers of the current neighbour about the first n of `numbers`. */
typedef struct answers {
    const splat_agree_view *other;
    uint32_t n;
    uint8_t numbers[BATCH]; /* in the batch */
    float image[3][BATCH];  /* [number] where the neighbour has the place, and its depth; 0: nowhere */
    float depth[BATCH];     /* [i] what it sees there, and at which pixel */
    size_t pixel[BATCH];
    float seen[3][BATCH];   /* [i] the place of that */
    bool is_near[BATCH];    /* [i] to the pixel that asks */
} answers;

/* Those that the neighbour's picture has are asked about. */
static void project(const batch *b, answers *s)
{
#pragma omp simd
    for (uint32_t i = 0; i < b->n; i++) {
        float u, v;
        s->image[2][i] = splat_agree_project(&s->other->camera, b->place[0][i], b->place[1][i], b->place[2][i], &u, &v);
        s->image[0][i] = u;
        s->image[1][i] = v;
    }
    s->n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        s->numbers[s->n] = (uint8_t)i;
        s->n += s->image[2][i] > 0;
    }
}

/* Loads the neighbour's pixels for all places first, so that memory works ahead. */
static void fetch(const answers *s)
{
    const splat_agree_view *other = s->other;
    const int width = other->camera.width, height = other->camera.height;
    for (uint32_t i = 0; i < s->n; i++) {
        int x = splat_agree_within((int)(s->image[0][s->numbers[i]] - 0.5f), width);
        int y = (int)(s->image[1][s->numbers[i]] - 0.5f);
        size_t pixel = (size_t)splat_agree_within(y, height) * (size_t)width + (size_t)x;
        size_t next = (size_t)splat_agree_within(y + 1, height) * (size_t)width + (size_t)x;
        __builtin_prefetch(other->depth + pixel);
        __builtin_prefetch(other->depth + next);
        __builtin_prefetch(other->alpha + pixel);
        __builtin_prefetch(other->alpha + next);
        __builtin_prefetch(other->normal + 2 * pixel);
        __builtin_prefetch(other->normal + 2 * next);
        __builtin_prefetch(other->rgb + 3 * pixel);
        __builtin_prefetch(other->rgb + 3 * next);
    }
}

/* The depths that the neighbour sees; those that are like the places' remain. */
static void read(batch *b, answers *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t number = s->numbers[i];
        float z = s->image[2][number];
        splat_agree_sight what = splat_agree_look(s->other, s->image[0][number], s->image[1][number], z);
        b->sums[number].n_against += splat_agree_is_through(&what, z);
        s->numbers[n] = number;
        s->depth[n] = what.depth;
        s->pixel[n] = what.pixel;
        n += splat_agree_is_like(&what, z);
    }
    s->n = n;
}

static void come_back(const batch *b, answers *s)
{
    float image[2][BATCH], pixel[2][BATCH];
    for (uint32_t i = 0; i < s->n; i++) {
        for (int k = 0; k < 2; k++) image[k][i] = s->image[k][s->numbers[i]];
        pixel[0][i] = b->pixels[s->numbers[i]].x;
        pixel[1][i] = b->pixels[s->numbers[i]].y;
    }
#pragma omp simd
    for (uint32_t i = 0; i < s->n; i++) {
        float p0, p1, p2;
        s->is_near[i] = splat_agree_come_back(&s->other->camera, &b->view->camera, image[0][i], image[1][i],
                                              s->depth[i], pixel[0][i], pixel[1][i], &p0, &p1, &p2);
        s->seen[0][i] = p0;
        s->seen[1][i] = p1;
        s->seen[2][i] = p2;
    }
}

static void add(batch *b, const answers *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const float seen[3] = {s->seen[0][i], s->seen[1][i], s->seen[2][i]};
        if (s->is_near[i])
            splat_agree_add(s->other, b->view->camera.center, s->pixel[i], seen, &b->pixels[s->numbers[i]],
                            &b->sums[s->numbers[i]]);
    }
}

static void begin_answers(const batch *b, const splat_agree_view *other, answers *s)
{
    s->other = other;
    project(b, s);
    fetch(s);
}

static void end_answers(batch *b, answers *s)
{
    read(b, s);
    come_back(b, s);
    add(b, s);
}

/* Asks all neighbours about n pixels; the verdicts. */
static void ask(batch *b, const splat_agree_view *view, const splat_agree_view *neighbors, uint32_t n_neighbors,
                size_t first, size_t step, size_t n, uint8_t *verdicts)
{
    answers two[2]; /* while those of one neighbour are read, those of the next come from memory */
    b->view = view;
    b->n = 0;
    for (size_t i = 0; i < n; i++) {
        verdicts[i] = SPLAT_AGREE_SILENT;
        if (!splat_agree_begin(view, first + i * step, &b->pixels[b->n], &b->sums[b->n])) continue;
        for (int k = 0; k < 3; k++) b->place[k][b->n] = b->pixels[b->n].place[k];
        b->number[b->n++] = (uint8_t)i;
    }
    if (b->n == 0) return;
    for (uint32_t k = 0; k <= n_neighbors; k++) {
        if (k < n_neighbors) begin_answers(b, &neighbors[k], &two[k % 2]);
        if (k > 0) end_answers(b, &two[(k - 1) % 2]);
    }
    for (uint32_t i = 0; i < b->n; i++)
        verdicts[b->number[i]] = splat_agree_verdict(&b->pixels[i], &b->sums[i], n_neighbors);
}

void splat_agree_batch(const splat_agree_view *view, const splat_agree_view *neighbors, uint32_t n_neighbors,
                       size_t first, size_t step, size_t n, splat_agreement *agreements, uint8_t *verdicts)
{
    batch b;
    ask(&b, view, neighbors, n_neighbors, first, step, n, verdicts);
    for (uint32_t i = 0; i < b.n; i++) splat_agree_finish(&b.pixels[i], &b.sums[i], &agreements[b.number[i]]);
}

splat_status splat_agree_on_host(const struct splat_agree_args *args, int threads, splat_error *error)
{
    SPLAT_TRY(splat_agree_check(args, error));
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (size_t at = 0; at < args->n; at += BATCH) {
        batch b;
        ask(&b, &args->view, args->neighbors, args->n_neighbors, args->first + at, 1,
            args->n - at < BATCH ? args->n - at : BATCH, args->verdicts + at);
        for (uint32_t i = 0; i < b.n; i++) {
            size_t pixel = at + b.number[i];
            if (pixel % args->every == args->phase)
                splat_agree_finish(&b.pixels[i], &b.sums[i], &args->agreements[pixel / args->every]);
        }
    }
    return SPLAT_OK;
}

splat_status splat_agree_cpu(splat_backend *backend, const struct splat_agree_args *args, splat_error *error)
{
    return splat_agree_on_host(args, backend->threads, error);
}
