"""GLB files of meshes in Blender: objects, vertices, faces, materials with pictures, size, up, and what the file says.

    blender --background --factory-startup --python-exit-code 1 --python check_blender.py -- FILE:UP[:SIZES] ...

UP is the direction in the file's numbers, x,y,z, that must be up; SIZES are the sides of the bounding box of the mesh
across, along and up, in this order. The file is parsed here as well, and Blender must agree with it.
"""
import json
import struct
import sys

import bpy
import numpy

if "bool" not in vars(numpy):
    numpy.bool = bool  # Debian 12's importer needs it, Debian 12's numpy lacks it

def check(good, what):
    if not good:
        raise AssertionError(what)


class Glb:
    """The JSON and the positions of a GLB file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        length = struct.unpack_from("<I", data, 12)[0]
        self.root = json.loads(data[20:20 + length])
        self.binary = data[20 + length + 8:]

    def positions(self, mesh):
        accessor = self.root["accessors"][self.root["meshes"][mesh]["primitives"][0]["attributes"]["POSITION"]]
        at = self.root["bufferViews"][accessor["bufferView"]].get("byteOffset", 0)
        values = struct.unpack_from("<%df" % (3 * accessor["count"]), self.binary, at)
        return [values[i:i + 3] for i in range(0, len(values), 3)]

    def triangles(self, mesh):
        return sum(self.root["accessors"][p["indices"]]["count"] // 3 for p in self.root["meshes"][mesh]["primitives"])

    def picture_size(self, image):
        """Width and height of a PNG."""
        at = self.root["bufferViews"][self.root["images"][image]["bufferView"]]["byteOffset"]
        return struct.unpack_from(">II", self.binary, at + 16)


def bounds(points):
    return [(min(p[k] for p in points), max(p[k] for p in points)) for k in range(3)]


def material_picture(material):
    pictures = [node.image for node in material.node_tree.nodes if node.type == "TEX_IMAGE" and node.image]
    check(len(pictures) == 1, f"the material {material.name} has {len(pictures)} pictures")
    check(pictures[0].has_data or len(pictures[0].pixels) > 0, f"the picture of {material.name} is empty")
    return tuple(pictures[0].size)


def check_object(glb, node):
    """Returns the corners of the object in Blender's world, where z is up."""
    found = bpy.data.objects.get(node["name"])
    check(found is not None and found.type == "MESH", f"there is no mesh object {node['name']}")
    wanted, mesh = glb.root["meshes"][node["mesh"]], found.data
    check(mesh.name == wanted["name"], f"the mesh is called {mesh.name}, not {wanted['name']}")
    n_vertices, n_faces = len(glb.positions(node["mesh"])), glb.triangles(node["mesh"])
    check(len(mesh.vertices) == n_vertices, f"{len(mesh.vertices)} vertices instead of {n_vertices}")
    check(len(mesh.polygons) == n_faces, f"{len(mesh.polygons)} faces instead of {n_faces}")
    check(len(mesh.uv_layers) == 1, "no texture coordinates")
    sizes = []
    for primitive, material in zip(wanted["primitives"], mesh.materials):
        texture = glb.root["materials"][primitive["material"]]["pbrMetallicRoughness"]["baseColorTexture"]["index"]
        sizes.append(material_picture(material))
        picture = glb.picture_size(glb.root["textures"][texture]["source"])
        check(sizes[-1] == picture, f"a picture of {sizes[-1]} instead of {picture}")
    check(len(sizes) == len(wanted["primitives"]), f"{len(mesh.materials)} materials")
    print(f"  {found.name}: {n_vertices} vertices, {n_faces} faces, pictures {sizes}")
    return [found.matrix_world @ v.co for v in mesh.vertices]


def check_file(path, up, sizes):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path)
    glb = Glb(path)
    print(f"{path.rpartition('/')[2]}: {glb.root['asset']['generator']}, in Blender {bpy.app.version_string}")
    nodes = glb.root["nodes"]
    check(len([o for o in bpy.data.objects if o.type == "MESH"]) == len(nodes), "objects that the file has not")
    places = [check_object(glb, node) for node in nodes]
    for key, value in glb.root["scenes"][0]["extras"].items():
        check(bpy.context.scene.get(key) == value, f"{key} is {bpy.context.scene.get(key)}, not {value}")
    # the lowest and the highest vertex by the scene's own up are those of Blender's z, at the same height
    length = sum(x * x for x in up) ** 0.5
    heights = [sum(a * b for a, b in zip(p, up)) / length for p in glb.positions(0)]
    box = bounds(places[0])
    for mine, wanted in zip(box[2], (min(heights), max(heights))):
        check(abs(mine - wanted) < 0.02 * (max(heights) - min(heights)), f"z is {mine}, up is {wanted}")
    if sizes:
        found = sorted(high - low for low, high in box[:2])[::-1] + [box[2][1] - box[2][0]]
        for a, b in zip(found, sizes):  # up, found by the cameras, is half a degree off in the room
            check(abs(a - b) < 0.03 * b, f"the bounding box is {found}, not {sizes}")
    for other in places[1:]:  # the sky is around the mesh
        for (low, high), (sky_low, sky_high) in zip(box, bounds(other)):
            check(sky_low < low and high < sky_high, "the sky is not around the mesh")


def main():
    for word in sys.argv[sys.argv.index("--") + 1:]:
        path, *lists = word.split(":")
        up, *sizes = [[float(x) for x in text.split(",")] for text in lists]
        check_file(path, up, sizes[0] if sizes else None)
    print("OK: Blender opens our meshes")


main()
