#!/usr/bin/env python3
"""Trains a splat from photos that are arrays, and writes pictures of it.

    train.py [SCENE] [--steps N] [--out FOLDER]

SCENE is any folder that `splatsmith train` reads; without one a small ray-traced scene is made. Its photos and cameras
are taken into memory first, as a program would have them that knows its cameras from elsewhere. Needs nothing but the
package; FOLDER then holds splat.ply, view.png (what the splat shows) and photo.png (what the photo shows)."""
import argparse
import tempfile
from pathlib import Path

import splatsmith


def take(folder):
    """The photos of a scene with their cameras, and its points. Any array of uint8 serves as pixels: numpy's, Pillow's
    images, ..."""
    files = splatsmith.Scene.open(folder)
    photos = [splatsmith.Photo(view.name, files.photo(i), view.camera) for i, view in enumerate(files)]
    return (photos, *files.points())


def main():
    parser = argparse.ArgumentParser(description="Trains a splat from arrays, and writes pictures of it.")
    parser.add_argument("scene", nargs="?", type=Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("."))
    options = parser.parse_args()

    if options.scene:
        photos, points, colors = take(options.scene)
    else:
        with tempfile.TemporaryDirectory() as folder:
            sample = Path(folder, "sample")
            splatsmith.write_sample(sample, width=96, height=72, n_cameras=12, n_points=3000, n_truth=10)
            photos, points, colors = take(sample)

    scene = splatsmith.Scene.create(photos, points, colors, eval=True)  # every eighth photo is held out
    print(f"{scene.info.n_train} photos to train on, {scene.info.n_test} to test with")
    trainer = splatsmith.Trainer(scene, iterations=options.steps)
    for step in trainer:
        if step.iteration % 50 == 0:
            print(f"step {step.iteration}: loss {step.loss:.4f}, {step.n_gaussians} Gaussians")

    model = trainer.model
    print(f"PSNR {model.evaluate(scene).psnr:.2f} dB")
    options.out.mkdir(parents=True, exist_ok=True)
    model.save(options.out / "splat.ply", fused=True)
    held_out = next(i for i, view in enumerate(scene) if view.is_test)
    splatsmith.save_png(options.out / "view.png", model.render(scene[held_out].camera))
    photo = scene.photo(held_out).tolist()
    splatsmith.save_png(options.out / "photo.png", [[[c / 255 for c in pixel] for pixel in row] for row in photo])
    print(f"wrote {options.out / 'splat.ply'}, {options.out / 'view.png'} and {options.out / 'photo.png'}")


if __name__ == "__main__":
    main()
