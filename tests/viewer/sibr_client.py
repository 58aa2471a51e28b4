"""A viewer of SIBR's network protocol, as far as a test needs one: the standard library alone."""
import json, math, socket, struct


def request_of(camera, width=None, height=None, **other):
    """The request for a camera of a cameras.json, as such a viewer makes it: OpenGL's axes, matrices column by column.
    Width and height: of the picture, its own unless they are given."""
    to_world, position = camera['rotation'], camera['position']
    view = [[to_world[k][r] for k in range(3)] for r in range(3)]  # world to camera: x right, y down, z forward
    for r in range(3):
        view[r].append(-sum(view[r][k] * position[k] for k in range(3)))
    view = [view[0], [-v for v in view[1]], [-v for v in view[2]], [0, 0, 0, 1]]  # y up, z backward
    width, height = width or camera['width'], height or camera['height']
    tan_x, tan_y = 0.5 * camera['width'] / camera['fx'], 0.5 * camera['height'] / camera['fy']
    near, far = 0.01, 100
    projection = [[1 / tan_x, 0, 0, 0], [0, 1 / tan_y, 0, 0],
                  [0, 0, -(far + near) / (far - near), -2 * far * near / (far - near)], [0, 0, -1, 0]]
    both = [[sum(projection[r][k] * view[k][c] for k in range(4)) for c in range(4)] for r in range(4)]
    return {'resolution_x': width, 'resolution_y': height, 'train': True, 'fov_y': 2 * math.atan(tan_y),
            'fov_x': 2 * math.atan(tan_x), 'z_near': near, 'z_far': far, 'shs_python': False,
            'rot_scale_python': False, 'keep_alive': True, 'scaling_modifier': 1.0,
            'view_matrix': [view[r][c] for c in range(4) for r in range(4)],
            'view_projection_matrix': [both[r][c] for c in range(4) for r in range(4)], **other}


class Sibr:
    """A connection."""

    def __init__(self, port, timeout=60):
        self.socket = socket.create_connection(('127.0.0.1', port), timeout)

    def close(self):
        self.socket.close()

    def read(self, n):
        parts = []
        while n:
            part = self.socket.recv(min(n, 1 << 20))
            if not part:
                raise ConnectionError('closed')
            parts.append(part)
            n -= len(part)
        return b''.join(parts)

    def send(self, request):
        text = request if isinstance(request, bytes) else json.dumps(request).encode()
        self.socket.sendall(struct.pack('<I', len(text)) + text)

    def ask(self, request):
        """((width, height, rows of RGB bytes) or None, the scene's path)"""
        self.send(request)
        w, h = request['resolution_x'], request['resolution_y']
        data = self.read(3 * w * h)
        path = self.read(struct.unpack('<I', self.read(4))[0]).decode()
        return (w, h, [data[3 * w * y:3 * w * (y + 1)] for y in range(h)]) if w and h else None, path

    def is_closed(self):
        try:
            while self.socket.recv(1 << 16):
                pass
            return True
        except ConnectionError:
            return True
        except TimeoutError:
            return False
