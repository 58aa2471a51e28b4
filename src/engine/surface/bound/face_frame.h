/* The frame of a triangle that Gaussians are bound to, in double (docs/method.md, "Gaussians bound to a mesh"). */
#ifndef SPLAT_SURFACE_FACE_FRAME_H
#define SPLAT_SURFACE_FACE_FRAME_H

#include "mesh/mesh.h"
#include "ops/bind/bind.h"

typedef struct splat_face_frame {
    double r0[3], e1[3], e2[3];
    double sides[2][2]; /* [e1, e2][v1 - v0, v2 - v0] */
} splat_face_frame;

/* The frame of face f; false if the face is degenerate, by the rule of op bind. */
bool splat_face_frame_of(const splat_bound_mesh *bound, const splat_mesh *mesh, size_t f, splat_face_frame *frame);

#endif
