#!/usr/bin/env python3
"""check_tensorboard.py RUN EXPECTED.json: are the curves of a run what TensorBoard's own reader sees?

EXPECTED.json: {"scalars": {tag: number of values}, "histograms": {...}, "images": {...}, "texts": {...}}; null instead
of a number stands for one or more. Tags of a run that are not named are a fault, and so are those that are missing.

Leaves with 0 when all is as described, 1 when not. Without the package tensorboard the files are read by the decoder
below, which knows the formats only; when that finds no fault, the script says SKIPPED of the other and leaves with 0.
"""
import glob
import json
import math
import os
import struct
import sys

KINDS = ("scalars", "histograms", "images", "texts")
PNG = b"\x89PNG\r\n\x1a\n"


def fail(text):
    print("FAILED: " + text)
    sys.exit(1)


# ---------------------------------------------------------------- TensorBoard's reader


def read_by_tensorboard(folder):
    """{kind: {tag: [value]}}: (step, float), (step, limits, counts), (step, width, height, png), (step, text)."""
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.util import tensor_util

    everything = {name: 0 for name in event_accumulator.DEFAULT_SIZE_GUIDANCE}
    reader = event_accumulator.EventAccumulator(folder, size_guidance=everything)
    reader.Reload()
    tags = reader.Tags()
    found = {kind: {} for kind in KINDS}
    for tag in tags["scalars"]:
        found["scalars"][tag] = [(e.step, e.value) for e in reader.Scalars(tag)]
    for tag in tags["histograms"]:
        found["histograms"][tag] = [
            (e.step, list(e.histogram_value.bucket_limit), list(e.histogram_value.bucket), e.histogram_value.num)
            for e in reader.Histograms(tag)]
    for tag in tags["images"]:
        found["images"][tag] = [(e.step, e.width, e.height, e.encoded_image_string) for e in reader.Images(tag)]
    for tag in tags["tensors"]:
        for event in reader.Tensors(tag):
            array = tensor_util.make_ndarray(event.tensor_proto)
            plugin = reader.SummaryMetadata(tag).plugin_data.plugin_name
            if plugin != "text":
                fail("%s: plugin %r, not text" % (tag, plugin))
            found["texts"].setdefault(tag, []).append((event.step, array.flatten()[0]))
    return found


# ---------------------------------------------------------------- a decoder of our own


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def make_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = make_table()


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data, path):
    at = 0
    while len(data) - at >= 12:
        length, length_crc = struct.unpack_from("<QI", data, at)
        if masked(data[at:at + 8]) != length_crc:
            fail("%s, byte %d: wrong checksum of a length" % (path, at))
        if length + 16 > len(data) - at:
            return  # torn: a run in work, or one that was killed
        body = data[at + 12:at + 12 + length]
        if struct.unpack_from("<I", data, at + 12 + length)[0] != masked(body):
            fail("%s, byte %d: wrong checksum of a record" % (path, at))
        yield body
        at += length + 16


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """{field number: [values]} of a message."""
    result, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at:at + size], at + size
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                fail("a field is cut off")
        else:
            fail("wire type %d" % wire)
        result.setdefault(key >> 3, []).append(value)
    return result


def doubles(data):
    return list(struct.unpack("<%dd" % (len(data) // 8), data))


def read_by_us(folder):
    found = {kind: {} for kind in KINDS}
    started = False
    for path in sorted(glob.glob(os.path.join(folder, "events.out.tfevents.*"))):
        with open(path, "rb") as stream:
            events = [fields(body) for body in records(stream.read(), path)]
        if not events or events[0].get(3) != [b"brain.Event:2"]:
            fail(path + ": the first event is not a file version")
        for event in events[1:]:
            step = event.get(2, [0])[0]
            if 7 in event and not started:  # TensorBoard takes the first for the beginning of all
                started = True
            elif 7 in event:  # a run begins or goes on: older values from here on do not count
                for values in (values for tags in found.values() for values in tags.values()):
                    values[:] = [value for value in values if value[0] < step]
            for summary in event.get(5, []):
                for value in map(fields, fields(summary)[1]):
                    add_value(found, step, value)
    return found


def add_value(found, step, value):
    tag = value[1][0].decode("utf-8")
    if 2 in value:
        found["scalars"].setdefault(tag, []).append((step, struct.unpack("<f", value[2][0])[0]))
    elif 5 in value:
        histogram = fields(value[5][0])
        found["histograms"].setdefault(tag, []).append(
            (step, doubles(histogram[6][0]), doubles(histogram[7][0]), doubles(histogram[3][0])[0]))
    elif 4 in value:
        image = fields(value[4][0])
        found["images"].setdefault(tag, []).append((step, image[2][0], image[1][0], image[4][0]))
    elif 8 in value:
        if fields(fields(value[9][0])[1][0])[1] != [b"text"]:
            fail(tag + ": not of the text plugin")
        found["texts"].setdefault(tag, []).append((step, fields(value[8][0])[8][0]))
    else:
        fail(tag + ": a value of no known kind")


# ---------------------------------------------------------------- the check


def check_values(kind, tag, values):
    steps = [value[0] for value in values]
    if steps != sorted(steps):
        fail("%s: steps go back" % tag)
    for value in values:
        if kind == "scalars" and not math.isfinite(value[1]):
            fail("%s, step %d: %r" % (tag, value[0], value[1]))
        if kind == "histograms":
            limits, counts = value[1], value[2]
            if len(limits) != len(counts) or sum(counts) != value[3] or limits != sorted(limits):
                fail("%s, step %d: buckets do not fit together" % (tag, value[0]))
        if kind == "images":
            width, height = struct.unpack(">II", value[3][16:24])
            if not value[3].startswith(PNG) or (width, height) != (value[1], value[2]):
                fail("%s, step %d: not a PNG of %d x %d" % (tag, value[0], value[1], value[2]))


def check(found, expected):
    n_values = 0
    for kind in KINDS:
        wanted = expected.get(kind, {})
        missing, more = sorted(set(wanted) - set(found[kind])), sorted(set(found[kind]) - set(wanted))
        if missing or more:
            fail("%s: missing %s, not expected %s" % (kind, missing, more))
        for tag, values in found[kind].items():
            if wanted[tag] is not None and len(values) != wanted[tag]:
                fail("%s: %d values, not %d" % (tag, len(values), wanted[tag]))
            check_values(kind, tag, values)
            n_values += len(values)
    return n_values


def main():
    if len(sys.argv) != 3:
        print("usage: check_tensorboard.py RUN EXPECTED.json")
        sys.exit(2)
    folder = sys.argv[1]
    with open(sys.argv[2], encoding="utf-8") as stream:
        expected = json.load(stream)
    n_values = check(read_by_us(folder), expected)
    try:
        import tensorboard
    except ImportError:
        print("our own decoder: %d values as described" % n_values)
        print("SKIPPED: the Python package tensorboard is absent; TensorBoard's own reader has not read %s" % folder)
        return
    n_values = check(read_by_tensorboard(folder), expected)
    print("TensorBoard %s: %d values as described" % (tensorboard.__version__, n_values))


if __name__ == "__main__":
    main()
