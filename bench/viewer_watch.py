"""Watches a training through its viewer as a hand that looks about from the first camera would, without a browser, and says
how many pictures came, how large they were and how long they took.

    splatsmith train ... --viewer 0          # prints the address
    python3 bench/viewer_watch.py ADDRESS [SECONDS [PICTURES_A_SECOND [WIDTH HEIGHT [full]]]]

With `full` every picture is asked for at its whole size, as by a hand that has stopped.

The steps a second of the training, here and without anybody, stand in its summary and in report.html."""
import json, math, os, statistics, struct, sys, time, urllib.request
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'viewer'))
from browser import WebSocket
from cameras import quaternion_of


def turned(rows, angle):
    """The quaternion of a camera's axes, the rows of its rotation, turned about its y."""
    x, y, z = rows[0:3], rows[3:6], rows[6:9]
    c, s = math.cos(angle), math.sin(angle)
    x, z = [c * a - s * b for a, b in zip(x, z)], [s * a + c * b for a, b in zip(x, z)]
    return quaternion_of([*x, *y, *z])


def main(url, seconds=60.0, rate=30.0, width=1280, height=720, full=False):
    with urllib.request.urlopen(url.replace('/?', '/api/scene?')) as answer:
        scene = json.load(answer)
    position, rotation = scene['center'], [1, 0, 0, 0, 1, 0, 0, 0, 1]
    if scene['views']:
        position, rotation = scene['views'][0]['position'], scene['views'][0]['rotation']
    socket = WebSocket(url.replace('/?', '/ws?'))
    times, sizes, rates, begin, seq = [], [], [], time.monotonic(), 0
    try:
        while time.monotonic() - begin < seconds:
            asked, seq = time.monotonic(), seq + 1
            quaternion = turned(rotation, 0.4 * math.sin(asked - begin))
            socket.send(json.dumps({'camera': {'seq': seq, 'position': position, 'fov_y': 50,
                                               'quaternion': quaternion},
                                    'size': [width, height], 'moving': not full}))
            while True:
                kind, data = socket.receive()
                if kind == 2:
                    break
                status = json.loads(data)['status']
                if status['rate']:
                    rates.append(status['rate'])
            times.append(1000 * (time.monotonic() - asked))
            sizes.append(struct.unpack('<HH', data[12:16]))
            socket.send(json.dumps({'ack': seq}))
            time.sleep(max(0, asked + 1 / rate - time.monotonic()))
    except ConnectionError:
        print('the training has ended')
    taken = time.monotonic() - begin
    if not times:
        sys.exit('no picture came')
    wide = statistics.median(w for w, _ in sizes)
    print(f'{len(times)} pictures in {taken:.0f} s: {len(times) / taken:.1f} a second, median {wide:.0f} pixels wide, '
          f'latency median {statistics.median(times):.0f} ms, 95 % {sorted(times)[int(0.95 * len(times))]:.0f} ms; '
          f'the training: {statistics.median(rates or [0]):.1f} steps a second')


if len(sys.argv) < 2:
    sys.exit(__doc__)
main(sys.argv[1], *map(float, sys.argv[2:4]), *map(int, sys.argv[4:6]), *(word == 'full' for word in sys.argv[6:7]))
