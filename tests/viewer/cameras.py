"""Cameras as the viewer's clients send them."""
import math


def quaternion_of(rows):
    """(w, x, y, z) of a camera's axes in the world: the rows of its rotation, world to camera."""
    x, y, z = rows[0:3], rows[3:6], rows[6:9]
    best = max(range(4), key=lambda k: [x[0] + y[1] + z[2], x[0], y[1], z[2]][k])
    if best == 0:
        q = [1 + x[0] + y[1] + z[2], y[2] - z[1], z[0] - x[2], x[1] - y[0]]
    elif best == 1:
        q = [y[2] - z[1], 1 + x[0] - y[1] - z[2], x[1] + y[0], z[0] + x[2]]
    elif best == 2:
        q = [z[0] - x[2], x[1] + y[0], 1 - x[0] + y[1] - z[2], y[2] + z[1]]
    else:
        q = [x[1] - y[0], z[0] + x[2], y[2] + z[1], 1 - x[0] - y[1] + z[2]]
    length = math.sqrt(sum(k * k for k in q))
    return [k / length for k in q]
