"""JPEGs of one view of a splat from `splatsmith view`: colours, depth, normals, Gaussians a pixel.

    gallery_views.py PROGRAM MODEL PREFIX    # writes PREFIXcolor.jpg, PREFIXdepth.jpg, ..."""
import json, os, subprocess, sys, urllib.request
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'viewer'))
from browser import WebSocket
from cameras import quaternion_of

WIDTH, HEIGHT, VIEW = 320, 240, 8


def main(program, model, prefix):
    server = subprocess.Popen([program, 'view', model, '--port', '0'], stdout=subprocess.PIPE, text=True)
    try:
        url = next(line.strip() for line in server.stdout if line.startswith('http://'))
        with urllib.request.urlopen(url.replace('/?', '/api/scene?')) as answer:
            view = json.load(answer)['views'][VIEW]
        web = WebSocket(url.replace('/?', '/ws?'))
        for seq, what in enumerate(('color', 'depth', 'normal', 'density'), 1):
            camera = {'seq': seq, 'position': view['position'], 'quaternion': quaternion_of(view['rotation']),
                      'fov_y': 45}
            web.send(json.dumps({'camera': camera, 'size': [WIDTH, HEIGHT], 'what': what, 'moving': False}))
            kind = 0
            while kind != 2:
                kind, data = web.receive()
            web.send(json.dumps({'ack': seq}))
            with open(f'{prefix}{what}.jpg', 'wb') as out:
                out.write(data[data.index(b'\xff\xd8'):])
    finally:
        server.terminate()
        server.wait()


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
