"""Watches a training through its viewer as a hand that moves the camera all the time would, without a browser, and says
how many pictures came, how large they were and how long they took.

    splatsmith train ... --viewer 0          # prints the address
    python3 bench/viewer_watch.py ADDRESS [SECONDS [PICTURES_A_SECOND [WIDTH HEIGHT]]]

The steps a second of the training, here and without anybody, stand in its summary and in report.html."""
import json, math, os, statistics, struct, sys, time, urllib.request
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tests', 'viewer'))
from browser import WebSocket


def main(url, seconds=60.0, rate=30.0, width=1280, height=720):
    with urllib.request.urlopen(url.replace('/?', '/api/scene?')) as answer:
        scene = json.load(answer)
    center, radius = scene['center'], scene['radius']
    socket = WebSocket(url.replace('/?', '/ws?'))
    times, sizes, rates, begin, seq = [], [], [], time.monotonic(), 0
    try:
        while time.monotonic() - begin < seconds:
            asked, seq = time.monotonic(), seq + 1
            turn = 0.2 * (asked - begin)  # about y, looking at the middle
            position = [center[0] - radius * math.sin(turn), center[1], center[2] - radius * math.cos(turn)]
            socket.send(json.dumps({'camera': {'seq': seq, 'position': position, 'fov_y': 50, 'quaternion':
                                    [math.cos(turn / 2), 0, math.sin(turn / 2), 0]}, 'size': [width, height],
                                    'moving': True}))
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
main(sys.argv[1], *map(float, sys.argv[2:4]), *map(int, sys.argv[4:6]))
