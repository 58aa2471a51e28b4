/* A place of a picture whose depth is known. Shared by scenes, which know it, and ops, which ask for it. */
#ifndef SPLAT_MATH_DEPTH_POINT_H
#define SPLAT_MATH_DEPTH_POINT_H

typedef struct splat_depth_point {
    float x, y;    /* pixels, the first one's centre is 0; 0 <= x <= width - 1, the same for y */
    float inverse; /* 1/Z, above 0; Z along the camera's axis */
    float weight;  /* weight in the loss */
} splat_depth_point;

#endif
