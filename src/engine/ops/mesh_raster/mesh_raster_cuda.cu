/* mesh_raster on CUDA: a thread projects a vertex, a thread draws a face, or a block where the face is large on the
 * screen; the least key of a pixel wins. Compiled without contraction, as the host's code: the same bits. */
#include "backend/cuda_backend.cuh"

extern "C" {
#include "ops/mesh_raster/mesh_raster.h"
#include "ops/mesh_raster/mesh_raster_math.h"
}

#define RASTER_THREADS 128
#define SMALL_BOX 64       /* pixels of a triangle's bounds that one thread looks at */
#define LARGE_BLOCKS 1024  /* take the large faces in turn */

struct raster_parameters {
    splat_raster_eye eye;
    uint32_t n_vertices, n_faces, n_pixels;
    splat_raster_corner *corners;
    unsigned long long *keys;
    uint32_t *large; /* how many, then their faces in any order */
    uint32_t *ids;
    float *depth;
    float (*weights)[2];
    uint8_t *front;
};

__global__ void __launch_bounds__(RASTER_THREADS) raster_project_kernel(const __grid_constant__ raster_parameters P)
{
    uint32_t i = blockIdx.x * RASTER_THREADS + threadIdx.x;
    if (i < P.n_vertices) P.corners[i] = splat_raster_corner_of(&P.eye, i);
}

/* Pixels thread, thread + step, ... of the box, row by row. */
__device__ __forceinline__ void draw_box(const raster_parameters &P, const splat_raster_polygon &p, int k,
                                         const int first[2], const int last[2], uint32_t face, int thread, int step)
{
    splat_raster_triangle t;
    if (!splat_mesh_raster_fan(&p, k, first[0], first[1], &t)) return;
    const int columns = last[0] - first[0] + 1;
    const int64_t n = (int64_t)columns * (last[1] - first[1] + 1);
    for (int64_t i = thread; i < n; i += step) {
        const int x = (int)(i % columns), y = (int)(i / columns);
        int64_t e[3];
        double share[3], sum;
        for (int j = 0; j < 3; j++) e[j] = t.value[j] + x * t.right[j] + y * t.down[j];
        if ((e[0] | e[1] | e[2]) < 0) continue;
        unsigned long long key = splat_mesh_raster_key(splat_raster_depth(&t, e, share, &sum), face);
        unsigned long long *at = &P.keys[(size_t)(first[1] + y) * P.eye.width + (first[0] + x)];
        if (key < *(volatile unsigned long long *)at) atomicMin(at, key); /* most are hidden: reading is cheaper */
    }
}

__global__ void __launch_bounds__(RASTER_THREADS) raster_faces_kernel(const __grid_constant__ raster_parameters P)
{
    uint32_t face = blockIdx.x * RASTER_THREADS + threadIdx.x;
    splat_raster_polygon p;
    int first[2], last[2];
    if (face >= P.n_faces) return;
    splat_raster_face_polygon(&P.eye, face, &p);
    bool is_large = p.n > 3; /* few, and with more triangles */
    if (p.n == 3 && splat_mesh_raster_bounds(&P.eye, &p, 1, first, last)) {
        is_large = (int64_t)(last[0] - first[0] + 1) * (last[1] - first[1] + 1) > SMALL_BOX;
        if (!is_large) draw_box(P, p, 1, first, last, face, 0, 1);
    }
    if (is_large) P.large[1 + atomicAdd(&P.large[0], 1u)] = face;
}

__global__ void __launch_bounds__(RASTER_THREADS) raster_large_kernel(const __grid_constant__ raster_parameters P)
{
    for (uint32_t i = blockIdx.x; i < P.large[0]; i += gridDim.x) {
        splat_raster_polygon p;
        int first[2], last[2];
        splat_raster_face_polygon(&P.eye, P.large[1 + i], &p);
        for (int k = 1; k + 1 < p.n; k++)
            if (splat_mesh_raster_bounds(&P.eye, &p, k, first, last))
                draw_box(P, p, k, first, last, P.large[1 + i], threadIdx.x, RASTER_THREADS);
    }
}

__global__ void __launch_bounds__(RASTER_THREADS) raster_unpack_kernel(const __grid_constant__ raster_parameters P)
{
    uint32_t i = blockIdx.x * RASTER_THREADS + threadIdx.x;
    if (i < P.n_pixels)
        splat_mesh_raster_unpack(&P.eye, P.keys[i], i % P.eye.width, i / P.eye.width, &P.ids[i], &P.depth[i],
                                 P.weights ? P.weights[i] : NULL, P.front ? &P.front[i] : NULL);
}

extern "C" splat_status splat_mesh_raster_cuda(splat_backend *backend, const struct splat_mesh_raster_args *args,
                                               splat_error *error)
{
    splat_cuda_backend *cuda = splat_cuda_of(backend);
    void *corners, *keys, *large;
    SPLAT_TRY(splat_mesh_raster_check(args, error));
    const size_t n_pixels = (size_t)args->camera->width * args->camera->height;
    if (n_pixels > INT32_MAX)
        return splat_fail(error, SPLAT_ERROR_UNSUPPORTED, "a picture of %d x %d pixels is too large to draw a mesh in",
                          args->camera->width, args->camera->height);
    SPLAT_TRY(splat_scratch_reset(backend, error));
    SPLAT_TRY(splat_scratch_take(backend, (args->n_vertices + 1) * sizeof(splat_raster_corner), &corners, error));
    SPLAT_TRY(splat_scratch_take(backend, n_pixels * sizeof(uint64_t), &keys, error));
    SPLAT_TRY(splat_scratch_take(backend, (args->n_faces + 1) * sizeof(uint32_t), &large, error));
    raster_parameters P = {splat_raster_eye_make(args->vertices, args->faces, (splat_raster_corner *)corners,
                                                 args->camera, args->near),
                           (uint32_t)args->n_vertices, (uint32_t)args->n_faces, (uint32_t)n_pixels,
                           (splat_raster_corner *)corners, (unsigned long long *)keys, (uint32_t *)large, args->ids,
                           args->depth, args->weights, args->front};
    CUDA_TRY("clear memory", cudaMemsetAsync(keys, 0xff, n_pixels * sizeof(uint64_t), cuda->stream));
    CUDA_TRY("clear memory", cudaMemsetAsync(large, 0, sizeof(uint32_t), cuda->stream));
    if (P.n_vertices && P.n_faces) {
        raster_project_kernel<<<splat_cuda_blocks(P.n_vertices, RASTER_THREADS), RASTER_THREADS, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("mesh_raster project");
        raster_faces_kernel<<<splat_cuda_blocks(P.n_faces, RASTER_THREADS), RASTER_THREADS, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("mesh_raster faces");
        raster_large_kernel<<<LARGE_BLOCKS, RASTER_THREADS, 0, cuda->stream>>>(P);
        CUDA_LAUNCHED("mesh_raster large");
    }
    raster_unpack_kernel<<<splat_cuda_blocks(n_pixels, RASTER_THREADS), RASTER_THREADS, 0, cuda->stream>>>(P);
    CUDA_LAUNCHED("mesh_raster unpack");
    return SPLAT_OK;
}
