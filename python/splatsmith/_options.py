"""The options of the C interface as types: made of include/ by make_bindings.py, not to be edited.

The headers have the meaning, the range and the default of each, and so has `splatsmith train
--help`. Enums are also given as words: mask_mode="alpha"."""
import os
from enum import IntEnum
from typing import Dict, Sequence, Type, TypedDict, Union

from . import _c

PathLike = Union[str, "os.PathLike[str]"]

# The density strategies.
STRATEGIES = ("default", "fast", "high", "classic", "mcmc")


class ContextOptions(TypedDict, total=False):
    backend: PathLike
    gpu: int
    threads: int
    deterministic: bool
    simd: PathLike
    fragmentation: Union[str, _c.Fragmentation]
    sole_user: bool


class SaveOptions(TypedDict, total=False):
    fused: bool
    sh_degree: int
    spz_version: int


class SceneOptions(TypedDict, total=False):
    images: PathLike
    resolution: int
    resolution_scale: float
    eval: bool
    llffhold: int
    test_camera_count: int
    split_file: PathLike
    white_background: bool
    load_allres: bool
    image_cache_gb: float
    low_dram: bool
    seed: int
    masks: PathLike
    invert_masks: bool
    mask_mode: Union[str, _c.MaskMode]
    eval_masks: bool
    undistort: Union[str, _c.Undistort]
    fisheye_degrees: float
    depths: PathLike
    sfm_depth: bool
    strict: bool
    split: Union[str, _c.SplitRule]
    sector: int
    sky: PathLike


class CleanOptions(TypedDict, total=False):
    bbox_low: Sequence[float]
    bbox_high: Sequence[float]
    min_opacity: float
    max_size: float
    outlier_std: float
    outlier_neighbors: int


class ViewJob(TypedDict, total=False):
    set: Union[str, _c.ViewSet]
    quantize: bool
    color_correct: bool
    exposures: PathLike
    nearby_exposures: PathLike
    near_light: bool


class LpipsOptions(TypedDict, total=False):
    net: PathLike
    weights: PathLike
    normalize: bool


class TrainOptions(TypedDict, total=False):
    iterations: int
    sh_degree: int
    random_background: bool
    kernel_size: float
    ray_jitter: bool
    resample_gt_image: bool
    photos_on_host: bool
    sample_more_highres: bool
    position_lr_init: float
    position_lr_final: float
    position_lr_delay_mult: float
    position_lr_max_steps: int
    feature_lr: float
    opacity_lr: float
    scaling_lr: float
    rotation_lr: float
    lambda_dssim: float
    percent_dense: float
    densification_interval: int
    opacity_reset_interval: int
    densify_from_iter: int
    densify_until_iter: int
    densify_grad_threshold: float
    min_opacity_threshold: float
    target_gaussian_count: int
    seed: int
    sh_storage: Union[str, _c.ShStorage]
    optimizer_storage: Union[str, _c.OptimizerStorage]
    sh_offload: bool
    max_instances: int
    max_gaussians: int
    sdf_range: float
    prune_keep: float
    flat_factor: float
    flat_ratio: float
    trim_views: int
    geo_factor: float
    ncc_factor: float
    n_patches: int
    dn_edges: bool
    surface_fade: float
    init_opacity: float
    init_scale: float
    opacity_reg: float
    scale_reg: float
    noise_lr: float
    may_give_up: int
    moments_offload: bool
    lr_final_factor: float
    lr_decay_from_iter: int
    sh_rest_lr: float
    exposure: bool
    depth_l1_weight_init: float
    depth_l1_weight_final: float
    sfm_depth_weight: float
    pixels_per_gaussian: float
    late_prune_opacity: float
    free_space: bool
    dense_start: bool
    begins_later: bool
    dropout: float
    dome: bool
    first_iteration: int
    regularize_after: int
    entropy_factor: float
    prune_opacity: float
    estimation_factor: float
    normal_factor: float
    dn_factor: float
    n_samples: int
    neighbor_interval: int
    full_res_normals: bool


class PlanOptions(TypedDict, total=False):
    limit_bytes: int
    for_gpu: bool
    overhead_bytes: int
    n_gaussians: int
    keep_photos: bool
    keep_sh_storage: bool
    keep_optimizer_storage: bool
    keep_sh_offload: bool
    n_vertices: int
    n_ranks: int


class RunOptions(TypedDict, total=False):
    test_iterations: Sequence[int]
    save_iterations: Sequence[int]
    checkpoint_iterations: Sequence[int]
    checkpoint_interval: int
    start_checkpoint: PathLike
    tensorboard: Union[str, _c.TensorboardKind]
    report: bool
    command: PathLike
    profile_interval: int
    snapshot_iterations: Sequence[int]
    delete_first: bool
    only_checkpoint: bool
    checkpoint_seconds: float


class MeshExtractOptions(TypedDict, total=False):
    method: Union[str, _c.MeshMethod]
    points: Union[str, _c.MeshPointSource]
    levels: Sequence[float]
    resolution_factor: float
    poisson_depth: int
    density_quantile: float
    outlier_neighbors: int
    outlier_std: float
    project: bool
    voxel_size: float
    least_scale: float
    max_depth: float
    min_alpha: float
    has_bbox: bool
    bbox_low: Sequence[float]
    bbox_high: Sequence[float]
    target_vertices: int
    min_component_faces: int
    least_seen: float
    unseen_rim: int
    max_host_bytes: int
    seed: int
    support_trim: float
    planes: bool
    match: bool
    surface: Union[str, _c.MeshSurface]
    collider_faces: int
    fairing: float
    outlines: bool


class TextureOptions(TypedDict, total=False):
    bake: Union[str, _c.TextureBake]
    texture_size: int
    texel_density: float
    max_texture: int
    square_size: int
    reject_outliers: bool
    level_exposure: bool
    two_bands: bool
    polish_steps: int
    gaussians_per_triangle: int
    postprocess_mesh: bool
    postprocess_density_threshold: float
    postprocess_iterations: int
    jpeg_quality: int
    is_lit: bool
    no_sky: bool
    sky: PathLike
    max_host_bytes: int
    lods: int


class CamerasOptions(TypedDict, total=False):
    source: PathLike
    folder: PathLike
    images: PathLike
    colmap: PathLike
    camera_model: PathLike
    matcher: Union[str, _c.Matcher]
    mapper: Union[str, _c.Mapper]
    vocab_tree: PathLike
    n_frames: int
    threads: int
    quality: Union[str, _c.CameraQuality]


class SampleOptions(TypedDict, total=False):
    width: int
    height: int
    n_cameras: int
    n_points: int
    n_truth: int
    supersample: int
    seed: int
    scene: Union[str, _c.SampleScene]
    distortion: Union[str, _c.SampleDistortion]
    n_blobs: int
    exposure_spread: float
    things: PathLike
    tracks: bool
    depths: bool


class ViewerOptions(TypedDict, total=False):
    host: PathLike
    title: PathLike
    budget: float
    sibr_port: int
    sibr_host: PathLike
    n_ports: int
    pause_limit: float
    n_sibr_ports: int


class PipelineOptions(TypedDict, total=False):
    source: PathLike
    folder: PathLike
    sole_user: bool
    command: PathLike


# Which fields of structs are of enums.
ENUM_FIELDS: Dict[str, Dict[str, Type[IntEnum]]] = {
    "splat_error": {"status": _c.Status},
    "splat_context_options": {"fragmentation": _c.Fragmentation},
    "splat_scene_options": {"mask_mode": _c.MaskMode, "undistort": _c.Undistort, "split": _c.SplitRule},
    "splat_model_info": {"render_mode": _c.RenderMode},
    "splat_array": {"type": _c.ArrayType},
    "splat_model_values": {"render_mode": _c.RenderMode},
    "splat_view_job": {"set": _c.ViewSet},
    "splat_coarse_options": {"regularization": _c.Regularization},
    "splat_train_options": {"sh_storage": _c.ShStorage, "optimizer_storage": _c.OptimizerStorage},
    "splat_event": {"kind": _c.EventKind, "set": _c.ViewSet},
    "splat_run_options": {"tensorboard": _c.TensorboardKind},
    "splat_mesh_extract_options": {"method": _c.MeshMethod, "points": _c.MeshPointSource, "surface": _c.MeshSurface},
    "splat_refine_input": {"render_mode": _c.RenderMode},
    "splat_texture_options": {"bake": _c.TextureBake},
    "splat_cameras_options": {"matcher": _c.Matcher, "mapper": _c.Mapper, "quality": _c.CameraQuality},
    "splat_cameras_info": {"matcher": _c.Matcher},
    "splat_sample_options": {"scene": _c.SampleScene, "distortion": _c.SampleDistortion},
    "splat_pipeline_stage_info": {"state": _c.PipelineState},
}
