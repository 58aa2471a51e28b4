// Draws a splat in the browser, with three.js and Spark: what the viewer's page imports as /explore.js.
import { Color, PerspectiveCamera, Quaternion, Scene, Vector3, WebGLRenderer } from 'three';
import { SparkRenderer, SplatEdit, SplatEditRgbaBlendMode, SplatEditSdf, SplatEditSdfType, SplatFileType,
  SplatMesh } from '@sparkjsdev/spark';

const NEAR = 0.2; // Gaussians that are nearer are left out, as the program does
const DEVIATIONS = 3.33; // of a Gaussian, where the most opaque one has 1/255 left

// A Gaussian's footprint is that of the projection at its centre. Far outside the picture the program takes the one at
// 1.3 times its borders instead, as training does, and Spark takes it as it is: wide Gaussians would look different.
const SLOPE = 'vec2 J2 = -(J1 * viewCenter.xy) * invZ;';
const CLAMPED_SLOPE = 'vec2 border = 1.3 / vec2(projectionMatrix[0][0], projectionMatrix[1][1]);\n' +
  'vec2 J2 = -J1 * clamp(viewCenter.xy * invZ, -border, border);';

// SPZ has y up and z backward: half a turn about x away from the world of the page.
const halfTurn = new Quaternion(1, 0, 0, 0);

export class Explorer {
  // Calls drawn() after each picture; Spark sorts in a thread of its own, so that there are more of them than calls.
  constructor(canvas, drawn) {
    this.drawn = drawn;
    this.renderer = new WebGLRenderer({ canvas, antialias: false, alpha: false });
    this.scene = new Scene();
    this.camera = new PerspectiveCamera();
    this.spark = new SparkRenderer({ renderer: this.renderer, sortRadial: false, maxStdDev: DEVIATIONS,
      maxPixelRadius: 1e6, clipXY: 100, onDirty: () => this.again() });
    const material = this.spark.material;
    if (!material.vertexShader.includes(SLOPE)) throw new Error('this is not the Spark that explore.js was written for');
    material.vertexShader = material.vertexShader.replace(SLOPE, CLAMPED_SLOPE);
    this.scene.add(this.spark);
    this.asked = 0;
  }

  // The bytes of an SPZ file in place of what was there; filter: "mip" or "classic" with its kernel's variance, pixel^2.
  async show(bytes, { filter, kernel, background }) {
    const mesh = new SplatMesh({ fileBytes: bytes, fileType: SplatFileType.SPZ, extSplats: true });
    await mesh.initialized;
    this.clear();
    this.mesh = mesh;
    this.scene.add(mesh);
    this.spark.preBlurAmount = filter === 'mip' ? 0 : kernel;
    this.spark.blurAmount = filter === 'mip' ? kernel : 0; // which makes up for it in the opacity
    const [r, g, b] = background;
    this.renderer.setClearColor(new Color().setRGB(r, g, b, 'srgb'), 1);
  }

  clear() {
    if (!this.mesh) return;
    this.scene.remove(this.mesh);
    this.mesh.dispose();
    this.mesh = null;
  }

  // Hides splats with centres outside of a box {low, high}; null: hides none.
  crop(box) {
    if (this.box) this.mesh.remove(this.box);
    this.box = null;
    this.mesh.edits = null;
    if (!box) return;
    const middle = k => (box.low[k] + box.high[k]) / 2, half = k => (box.high[k] - box.low[k]) / 2;
    const sdf = new SplatEditSdf({ type: SplatEditSdfType.BOX, opacity: 0, radius: 0 });
    sdf.position.set(middle(0), -middle(1), -middle(2));
    sdf.scale.set(half(0), half(1), half(2));
    this.box = new SplatEdit({ rgbaBlendMode: SplatEditRgbaBlendMode.MULTIPLY, invert: true, softEdge: 0, sdfSmooth: 0 });
    this.box.add(sdf);
    this.mesh.add(this.box);
  }

  // width, height: of the canvas, in pixels; position, q: the camera's, whose axes are x right, y down, z forward; fov: of
  // the height, in degrees; far: how far away what is seen may be.
  draw({ width, height, position: [x, y, z], q: [w, i, j, k], fov, far }) {
    const camera = this.camera;
    this.renderer.setSize(width, height, false);
    camera.fov = fov;
    camera.aspect = width / height;
    camera.near = NEAR;
    camera.far = Math.max(far, 10 * NEAR);
    camera.updateProjectionMatrix();
    camera.position.copy(new Vector3(x, -y, -z));
    camera.quaternion.copy(halfTurn).multiply(new Quaternion(i, j, k, w)).multiply(halfTurn);
    this.again();
  }

  again() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      if (!this.mesh) return;
      this.renderer.render(this.scene, this.camera);
      this.drawn();
    });
  }
}
