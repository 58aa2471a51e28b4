"""The C interface of Splatsmith as ctypes: made of include/ by make_bindings.py, not to be edited.

Functions, structs and their meaning are documented in the headers. `declare` gives
every function its types."""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32,
        c_size_t, c_uint32, c_uint64, c_uint8, c_void_p)
from enum import IntEnum
from typing import Any, Dict, List, Tuple

SPLATSMITH_VERSION_MAJOR = 0
SPLATSMITH_VERSION_MINOR = 1
SPLATSMITH_VERSION_PATCH = 0
SPLATSMITH_VERSION = "0.1.0"
SPLAT_MIB = 1048576.0
SPLAT_GIB = 1073741824.0
SPLAT_CAMERA_PARAMETERS = 16
SPLAT_MAX_RANKS = 1024
SPLAT_PLAN_ROWS = 17
SPLAT_PLAN_CHOICES = 8
SPLAT_MAX_LOSSES = 16
SPLAT_MESH_LEVELS = 8
SPLAT_PIPELINE_STAGES = 8


class Status(IntEnum):
    OK = 0
    ERROR_ARGUMENT = 1
    ERROR_IO = 2
    ERROR_FORMAT = 3
    ERROR_UNSUPPORTED = 4
    ERROR_MEMORY = 5
    ERROR_DEVICE = 6
    ERROR_NUMERIC = 7
    ERROR_STOPPED = 8
    ERROR_INTERNAL = 9
    ERROR_CHECKPOINT = 10
    ERROR_RANK = 11


class splat_error(Structure):
    pass


class splat_context(Structure):
    pass


class LogLevel(IntEnum):
    WARNING = 0
    NOTICE = 1
    DEBUG = 2


class Fragmentation(IntEnum):
    NORMAL = 0
    AGGRESSIVE = 1
    MINIMAL = 2


class splat_context_options(Structure):
    pass


class splat_device_info(Structure):
    pass


class splat_memory_info(Structure):
    pass


class ShStorage(IntEnum):
    FLOAT32 = 0
    FLOAT16 = 1


class OptimizerStorage(IntEnum):
    FLOAT32 = 0
    QUANTIZED = 1


class splat_camera(Structure):
    pass


class RenderMode(IntEnum):
    AUTO = 0
    MIP = 1
    CLASSIC = 2


class splat_file_format(Structure):
    pass


class splat_save_options(Structure):
    pass


class splat_scene(Structure):
    pass


class MaskMode(IntEnum):
    IGNORE = 0
    SEGMENT = 1
    ALPHA = 2


class Undistort(IntEnum):
    AUTO = 0
    OFF = 1
    CROP = 2
    ALL = 3


class SplitRule(IntEnum):
    EVERY = 0
    SECTOR = 1
    SPREAD = 2


class splat_scene_options(Structure):
    pass


class splat_scene_info(Structure):
    pass


class splat_view_info(Structure):
    pass


class ViewSet(IntEnum):
    TRAIN = 0
    TEST = 1
    TRAIN_REPORT = 2


class splat_exposure_spread(Structure):
    pass


class splat_scene_photo(Structure):
    pass


class splat_scene_arrays(Structure):
    pass


class splat_model(Structure):
    pass


class splat_model_info(Structure):
    pass


class ArrayType(IntEnum):
    FLOAT32 = 0
    FLOAT16 = 1


class splat_array(Structure):
    pass


class splat_model_arrays(Structure):
    pass


class splat_model_values(Structure):
    pass


class splat_clean_options(Structure):
    pass


class splat_clean_counts(Structure):
    pass


class splat_geometry_maps(Structure):
    pass


class splat_metrics(Structure):
    pass


class splat_lpips(Structure):
    pass


class splat_view_job(Structure):
    pass


class splat_lpips_options(Structure):
    pass


class splat_model_config(Structure):
    pass


class splat_comm(Structure):
    pass


class splat_trainer(Structure):
    pass


class Regularization(IntEnum):
    NONE = 0
    DENSITY = 1
    SDF = 2
    DN_CONSISTENCY = 3
    MULTIVIEW = 4


class splat_coarse_options(Structure):
    pass


class splat_refine_options(Structure):
    pass


class splat_strategy(Structure):
    pass


class splat_regularizer(Structure):
    pass


class splat_binding(Structure):
    pass


class GiveUp(IntEnum):
    PHOTOS = 1
    LISTS = 2
    SH = 4
    MOMENTS = 8
    DEVICE_MOMENTS = 16
    DEVICE_SH = 32
    ALL = 63


class splat_train_options(Structure):
    pass


class splat_step_info(Structure):
    pass


class splat_plan_options(Structure):
    pass


class splat_plan_row(Structure):
    pass


class splat_plan_choice(Structure):
    pass


class splat_plan_step(Structure):
    pass


class splat_plan(Structure):
    pass


class splat_stage_times(Structure):
    pass


class splat_rank_memory(Structure):
    pass


class splat_rank_info(Structure):
    pass


class splat_workers(Structure):
    pass


class splat_loss(Structure):
    pass


class EventKind(IntEnum):
    STEP = 0
    EVALUATION = 1
    SAVED = 2
    CHECKPOINT = 3


class splat_event(Structure):
    pass


class TensorboardKind(IntEnum):
    NONE = 0
    DEFAULT = 1
    UPSTREAM = 2


class splat_monitor(Structure):
    pass


class splat_run_options(Structure):
    pass


class splat_run_begun(Structure):
    pass


class MeshMethod(IntEnum):
    POISSON = 0
    TSDF = 1
    MARCHING_CUBES = 2


class MeshPointSource(IntEnum):
    LEVEL = 0
    DEPTH = 1
    CENTERS = 2
    VIEWS = 3


class MeshSurface(IntEnum):
    OPEN = 0
    CLOSED = 1


class splat_mesh_extract_options(Structure):
    pass


class splat_mesh_extract_info(Structure):
    pass


class splat_refine_info(Structure):
    pass


class splat_refine_input(Structure):
    pass


class TextureBake(IntEnum):
    PHOTOS = 0
    GAUSSIANS = 1


class splat_texture_options(Structure):
    pass


class splat_texture_info(Structure):
    pass


class Matcher(IntEnum):
    AUTO = 0
    EXHAUSTIVE = 1
    SEQUENTIAL = 2
    VOCAB_TREE = 3


class Mapper(IntEnum):
    AUTO = 0
    INCREMENTAL = 1
    GLOBAL = 2


class CameraQuality(IntEnum):
    AUTO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3


class splat_cameras_options(Structure):
    pass


class splat_cameras_info(Structure):
    pass


class SampleScene(IntEnum):
    BASIC = 0
    OBJECTS = 1
    ROOM = 2
    STREET = 3
    HALL = 4
    GATE = 5
    ROOM2 = 6
    GLOSSY = 7
    WHEEL = 8
    TABLE = 9
    PLACE = 10
    PRODUCT = 11
    FLIGHT = 12
    LOFT = 13
    OFFICE = 14


class SampleDistortion(IntEnum):
    NONE = 0
    SIMPLE_RADIAL = 1
    RADIAL = 2
    OPENCV = 3
    OPENCV_FISHEYE = 4
    FULL_OPENCV = 5
    FOV = 6
    SIMPLE_RADIAL_FISHEYE = 7
    RADIAL_FISHEYE = 8
    THIN_PRISM_FISHEYE = 9
    RAD_TAN_THIN_PRISM_FISHEYE = 10
    SIMPLE_DIVISION = 11
    DIVISION = 12
    SIMPLE_FISHEYE = 13
    FISHEYE = 14
    EUCM = 15
    EQUIRECTANGULAR = 16
    WIDE_FISHEYE = 17


class splat_sample_options(Structure):
    pass


class splat_viewer(Structure):
    pass


class splat_viewer_options(Structure):
    pass


class splat_pipeline_setting(Structure):
    pass


class splat_pipeline_options(Structure):
    pass


class PipelineMessage(IntEnum):
    RESULT = 0
    NOTICE = 1
    WARNING = 2
    ERROR = 3


class splat_pipeline_progress(Structure):
    pass


class splat_stop(Structure):
    pass


class splat_pipeline_callbacks(Structure):
    pass


class PipelineState(IntEnum):
    WAITING = 0
    LEFT_OUT = 1
    DONE_BEFORE = 2
    RUNNING = 3
    COMPLETE = 4
    STOPPED = 5
    FAILED = 6


class splat_pipeline_stage_info(Structure):
    pass


class splat_pipeline_result(Structure):
    pass


splat_log_function = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
splat_memory_block_function = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p, c_size_t)
splat_view_function = CFUNCTYPE(c_bool, c_void_p, c_size_t, POINTER(splat_view_info), POINTER(c_float),
        POINTER(c_uint8), POINTER(splat_metrics))
splat_event_function = CFUNCTYPE(None, c_void_p, POINTER(splat_event))
splat_mesh_progress = CFUNCTYPE(c_bool, c_void_p, c_char_p, c_double)
splat_texture_progress = CFUNCTYPE(c_bool, c_void_p, c_char_p, c_double)

splat_error._fields_ = [
    ("status", c_int),
    ("offset", c_uint64),
    ("line", c_uint64),
    ("file", c_char * 512),
    ("message", c_char * 1024),
]
splat_context_options._fields_ = [
    ("size", c_size_t),
    ("backend", c_char_p),
    ("gpu", c_int),
    ("threads", c_int),
    ("deterministic", c_bool),
    ("simd", c_char_p),
    ("fragmentation", c_int),
    ("sole_user", c_bool),
    ("log", splat_log_function),
    ("log_user", c_void_p),
]
splat_device_info._fields_ = [
    ("index", c_int),
    ("name", c_char * 256),
    ("compute_major", c_int),
    ("compute_minor", c_int),
    ("total_bytes", c_size_t),
    ("free_bytes", c_size_t),
    ("driver_version", c_int),
    ("runtime_version", c_int),
]
splat_memory_info._fields_ = [
    ("bytes", c_size_t),
    ("peak_bytes", c_size_t),
    ("n_blocks", c_size_t),
    ("used_bytes", c_size_t),
    ("host_bytes", c_size_t),
    ("overhead_bytes", c_size_t),
    ("limit_bytes", c_size_t),
    ("n_refused", c_size_t),
]
splat_camera._fields_ = [
    ("rotation", c_float * 9),
    ("translation", c_float * 3),
    ("center", c_float * 3),
    ("fx", c_float),
    ("fy", c_float),
    ("cx", c_float),
    ("cy", c_float),
    ("width", c_int32),
    ("height", c_int32),
]
splat_file_format._fields_ = [
    ("name", c_char_p),
    ("ending", c_char_p),
    ("description", c_char_p),
    ("reads", c_bool),
    ("writes", c_bool),
]
splat_save_options._fields_ = [
    ("size", c_size_t),
    ("fused", c_bool),
    ("sh_degree", c_int),
    ("spz_version", c_int),
    ("start", POINTER(splat_camera)),
]
splat_scene_options._fields_ = [
    ("size", c_size_t),
    ("source_path", c_char_p),
    ("images", c_char_p),
    ("resolution", c_int),
    ("resolution_scale", c_double),
    ("eval", c_bool),
    ("llffhold", c_int),
    ("test_camera_count", c_int),
    ("split_file", c_char_p),
    ("white_background", c_bool),
    ("load_allres", c_bool),
    ("image_cache_gb", c_double),
    ("low_dram", c_bool),
    ("seed", c_uint64),
    ("masks", c_char_p),
    ("invert_masks", c_bool),
    ("mask_mode", c_int),
    ("eval_masks", c_bool),
    ("undistort", c_int),
    ("fisheye_degrees", c_float),
    ("depths", c_char_p),
    ("sfm_depth", c_bool),
    ("strict", c_bool),
    ("split", c_int),
    ("sector", c_int),
    ("sky", c_char_p),
]
splat_scene_info._fields_ = [
    ("format", c_char_p),
    ("n_views", c_size_t),
    ("n_train", c_size_t),
    ("n_test", c_size_t),
    ("n_points", c_size_t),
    ("extent", c_float),
    ("max_width", c_int),
    ("max_height", c_int),
    ("random_points", c_bool),
    ("n_masked", c_size_t),
    ("n_photos", c_size_t),
    ("n_depths", c_size_t),
    ("n_depth_points", c_size_t),
]
splat_view_info._fields_ = [
    ("name", c_char_p),
    ("is_test", c_bool),
    ("camera", splat_camera),
]
splat_exposure_spread._fields_ = [
    ("n_photos", c_size_t),
    ("deviation", c_double),
    ("error", c_double),
    ("explained", c_double),
    ("differs", c_bool),
]
splat_scene_photo._fields_ = [
    ("size", c_size_t),
    ("name", c_char_p),
    ("pixels", POINTER(c_uint8)),
    ("width", c_int),
    ("height", c_int),
    ("channels", c_int),
    ("mask", POINTER(c_uint8)),
    ("camera_model", c_char_p),
    ("parameters", c_double * 16),
    ("camera_width", c_int),
    ("camera_height", c_int),
    ("rotation", c_double * 9),
    ("translation", c_double * 3),
    ("is_test", c_bool),
]
splat_scene_arrays._fields_ = [
    ("size", c_size_t),
    ("photos", POINTER(splat_scene_photo)),
    ("n_photos", c_size_t),
    ("points", POINTER(c_float)),
    ("colors", POINTER(c_uint8)),
    ("n_points", c_size_t),
]
splat_model_info._fields_ = [
    ("n_gaussians", c_size_t),
    ("sh_degree", c_int),
    ("has_filter_3d", c_bool),
    ("render_mode", c_int),
    ("kernel_size", c_float),
]
splat_array._fields_ = [
    ("data", c_void_p),
    ("gpu", c_int),
    ("type", c_int),
    ("n_dimensions", c_int),
    ("shape", c_size_t * 3),
    ("strides", c_size_t * 3),
]
splat_model_arrays._fields_ = [
    ("means", splat_array),
    ("sh_dc", splat_array),
    ("sh_rest", splat_array),
    ("opacities", splat_array),
    ("scales", splat_array),
    ("rotations", splat_array),
    ("filter_3d", splat_array),
]
splat_model_values._fields_ = [
    ("size", c_size_t),
    ("n", c_size_t),
    ("sh_degree", c_int),
    ("means", POINTER(c_float)),
    ("sh_dc", POINTER(c_float)),
    ("opacities", POINTER(c_float)),
    ("scales", POINTER(c_float)),
    ("rotations", POINTER(c_float)),
    ("sh_rest", POINTER(c_float)),
    ("filter_3d", POINTER(c_float)),
    ("render_mode", c_int),
    ("kernel_size", c_float),
]
splat_clean_options._fields_ = [
    ("size", c_size_t),
    ("has_bbox", c_bool),
    ("bbox_low", c_double * 3),
    ("bbox_high", c_double * 3),
    ("min_opacity", c_double),
    ("max_size", c_double),
    ("outlier_std", c_double),
    ("outlier_neighbors", c_size_t),
]
splat_clean_counts._fields_ = [
    ("n_before", c_size_t),
    ("n_removed", c_size_t),
    ("n_not_finite", c_size_t),
    ("n_outside", c_size_t),
    ("n_faint", c_size_t),
    ("n_large", c_size_t),
    ("n_lonely", c_size_t),
]
splat_geometry_maps._fields_ = [
    ("depth", POINTER(c_float)),
    ("median", POINTER(c_float)),
    ("normal", POINTER(c_float)),
    ("alpha", POINTER(c_float)),
    ("blended", POINTER(c_uint32)),
    ("camera_space", c_bool),
]
splat_metrics._fields_ = [
    ("l1", c_double),
    ("psnr", c_double),
    ("psnr_per_channel", c_double),
    ("ssim", c_double),
    ("n_views", c_size_t),
    ("lpips", c_double),
    ("lpips_net", c_char_p),
    ("render_ms", c_double),
    ("n_masked", c_size_t),
    ("kept", c_double),
    ("l1_whole", c_double),
    ("psnr_whole", c_double),
    ("psnr_per_channel_whole", c_double),
    ("ssim_whole", c_double),
    ("is_corrected", c_bool),
    ("cc_psnr", c_double),
    ("cc_ssim", c_double),
    ("cc_lpips", c_double),
    ("is_exposed", c_bool),
    ("exposed_psnr", c_double),
    ("exposed_ssim", c_double),
    ("is_exif_exposed", c_bool),
    ("exif_psnr", c_double),
    ("exif_ssim", c_double),
    ("n_near_views", c_size_t),
    ("near_light", c_double),
    ("all_light", c_double),
]
splat_view_job._fields_ = [
    ("size", c_size_t),
    ("set", c_int),
    ("quantize", c_bool),
    ("lpips", POINTER(splat_lpips)),
    ("visit", splat_view_function),
    ("user", c_void_p),
    ("color_correct", c_bool),
    ("exposures", c_char_p),
    ("nearby_exposures", c_char_p),
    ("near_light", c_bool),
]
splat_lpips_options._fields_ = [
    ("size", c_size_t),
    ("net", c_char_p),
    ("weights", c_char_p),
    ("normalize", c_bool),
]
splat_model_config._fields_ = [
    ("model_path", c_char_p),
    ("sh_degree", c_int),
    ("kernel_size", c_float),
    ("scene", splat_scene_options),
]
splat_coarse_options._fields_ = [
    ("regularization", c_int),
    ("first_iteration", c_int),
    ("regularize_after", c_int),
    ("entropy_factor", c_float),
    ("prune_opacity", c_float),
    ("estimation_factor", c_float),
    ("normal_factor", c_float),
    ("dn_factor", c_float),
    ("n_samples", c_size_t),
    ("neighbor_interval", c_int),
    ("full_res_normals", c_bool),
]
splat_refine_options._fields_ = [
    ("gaussians_per_triangle", c_int),
    ("normal_consistency_factor", c_float),
    ("foreground_radius", c_float),
]
splat_train_options._fields_ = [
    ("size", c_size_t),
    ("iterations", c_int),
    ("sh_degree", c_int),
    ("random_background", c_bool),
    ("kernel_size", c_float),
    ("ray_jitter", c_bool),
    ("resample_gt_image", c_bool),
    ("photos_on_host", c_bool),
    ("sample_more_highres", c_bool),
    ("position_lr_init", c_float),
    ("position_lr_final", c_float),
    ("position_lr_delay_mult", c_float),
    ("position_lr_max_steps", c_int),
    ("feature_lr", c_float),
    ("opacity_lr", c_float),
    ("scaling_lr", c_float),
    ("rotation_lr", c_float),
    ("lambda_dssim", c_float),
    ("percent_dense", c_float),
    ("densification_interval", c_int),
    ("opacity_reset_interval", c_int),
    ("densify_from_iter", c_int),
    ("densify_until_iter", c_int),
    ("densify_grad_threshold", c_float),
    ("min_opacity_threshold", c_float),
    ("target_gaussian_count", c_size_t),
    ("seed", c_uint64),
    ("sh_storage", c_int),
    ("optimizer_storage", c_int),
    ("sh_offload", c_bool),
    ("max_instances", c_uint64),
    ("max_gaussians", c_size_t),
    ("coarse", splat_coarse_options),
    ("strategy", POINTER(splat_strategy)),
    ("regularizer", POINTER(splat_regularizer)),
    ("binding", POINTER(splat_binding)),
    ("refine", splat_refine_options),
    ("sdf_range", c_float),
    ("prune_keep", c_float),
    ("flat_factor", c_float),
    ("flat_ratio", c_float),
    ("trim_views", c_int),
    ("geo_factor", c_float),
    ("ncc_factor", c_float),
    ("n_patches", c_size_t),
    ("dn_edges", c_bool),
    ("surface_fade", c_float),
    ("init_opacity", c_float),
    ("init_scale", c_float),
    ("opacity_reg", c_float),
    ("scale_reg", c_float),
    ("noise_lr", c_float),
    ("may_give_up", c_int),
    ("moments_offload", c_bool),
    ("lr_final_factor", c_float),
    ("lr_decay_from_iter", c_int),
    ("sh_rest_lr", c_float),
    ("exposure", c_bool),
    ("depth_l1_weight_init", c_float),
    ("depth_l1_weight_final", c_float),
    ("sfm_depth_weight", c_float),
    ("pixels_per_gaussian", c_float),
    ("late_prune_opacity", c_float),
    ("free_space", c_bool),
    ("dense_start", c_bool),
    ("begins_later", c_bool),
    ("dropout", c_float),
    ("ranks", POINTER(splat_comm)),
    ("dome", c_bool),
]
splat_step_info._fields_ = [
    ("size", c_size_t),
    ("iteration", c_int),
    ("loss", c_float),
    ("l1", c_float),
    ("ssim", c_float),
    ("n_visible", c_size_t),
    ("n_instances", c_size_t),
    ("n_degenerate", c_size_t),
    ("n_gaussians", c_size_t),
    ("active_sh_degree", c_int),
    ("view_index", c_size_t),
    ("n_views", c_int),
    ("step_ms", c_double),
    ("n_added", c_size_t),
    ("n_removed", c_size_t),
    ("n_refused", c_size_t),
]
splat_plan_options._fields_ = [
    ("size", c_size_t),
    ("limit_bytes", c_size_t),
    ("for_gpu", c_bool),
    ("overhead_bytes", c_size_t),
    ("n_gaussians", c_size_t),
    ("afterwards", POINTER(splat_train_options)),
    ("keep_photos", c_bool),
    ("keep_sh_storage", c_bool),
    ("keep_optimizer_storage", c_bool),
    ("keep_sh_offload", c_bool),
    ("n_vertices", c_size_t),
    ("n_ranks", c_size_t),
]
splat_plan_row._fields_ = [
    ("owner", c_char_p),
    ("name", c_char_p),
    ("bytes", c_size_t),
]
splat_plan_choice._fields_ = [
    ("option", c_char_p),
    ("cost", c_char_p),
    ("saved_bytes", c_size_t),
]
splat_plan_step._fields_ = [
    ("option", c_char_p),
    ("cost", c_char_p),
    ("n_gaussians", c_size_t),
]
splat_plan._fields_ = [
    ("size", c_size_t),
    ("limit_bytes", c_size_t),
    ("n_gaussians", c_size_t),
    ("estimated", c_bool),
    ("n_rows", c_size_t),
    ("rows", splat_plan_row * 17),
    ("total_bytes", c_size_t),
    ("evaluation_bytes", c_size_t),
    ("render_bytes", c_size_t),
    ("afterwards_bytes", c_size_t),
    ("host_bytes", c_size_t),
    ("n_choices", c_size_t),
    ("choices", splat_plan_choice * 8),
    ("start_gaussians", c_size_t),
    ("start_bytes", c_size_t),
    ("n_steps", c_size_t),
    ("steps", splat_plan_step * 8),
]
splat_stage_times._fields_ = [
    ("data", c_double),
    ("project", c_double),
    ("bin", c_double),
    ("raster", c_double),
    ("loss", c_double),
    ("raster_backward", c_double),
    ("project_backward", c_double),
    ("send", c_double),
    ("send_back", c_double),
    ("steps", c_int),
]
splat_rank_memory._fields_ = [
    ("parameters", c_size_t),
    ("optimizer", c_size_t),
    ("statistics", c_size_t),
    ("activations", c_size_t),
    ("buffers", c_size_t),
    ("images", c_size_t),
    ("other", c_size_t),
]
splat_rank_info._fields_ = [
    ("peak_bytes", c_size_t),
    ("n_visible", c_double),
    ("n_instances", c_double),
    ("exchange_ms", c_double),
    ("sent_bytes", c_double),
    ("stages", splat_stage_times),
    ("memory", splat_rank_memory),
]
splat_loss._fields_ = [
    ("name", c_char_p),
    ("label", c_char_p),
    ("tag", c_char_p),
    ("value", c_double),
    ("factor", c_double),
    ("is_figure", c_bool),
]
splat_event._fields_ = [
    ("kind", c_int),
    ("step", POINTER(splat_step_info)),
    ("set", c_int),
    ("metrics", POINTER(splat_metrics)),
    ("path", c_char_p),
    ("training_peak_bytes", c_size_t),
    ("evaluation_peak_bytes", c_size_t),
]
splat_run_options._fields_ = [
    ("size", c_size_t),
    ("model_path", c_char_p),
    ("test_iterations", POINTER(c_int)),
    ("n_test_iterations", c_size_t),
    ("save_iterations", POINTER(c_int)),
    ("n_save_iterations", c_size_t),
    ("checkpoint_iterations", POINTER(c_int)),
    ("n_checkpoint_iterations", c_size_t),
    ("checkpoint_interval", c_int),
    ("start_checkpoint", c_char_p),
    ("tensorboard", c_int),
    ("monitor", POINTER(splat_monitor)),
    ("report", c_bool),
    ("command", c_char_p),
    ("profile_interval", c_int),
    ("snapshot_iterations", POINTER(c_int)),
    ("n_snapshot_iterations", c_size_t),
    ("delete_first", c_bool),
    ("only_checkpoint", c_bool),
    ("lpips", POINTER(splat_lpips)),
    ("event", splat_event_function),
    ("event_user", c_void_p),
    ("checkpoint_seconds", c_double),
]
splat_run_begun._fields_ = [
    ("strategy", POINTER(splat_strategy)),
    ("exposure", c_bool),
    ("dome", c_bool),
    ("dense_start", c_bool),
]
splat_mesh_extract_options._fields_ = [
    ("size", c_size_t),
    ("method", c_int),
    ("points", c_int),
    ("levels", c_float * 8),
    ("n_levels", c_size_t),
    ("n_points", c_size_t),
    ("resolution_factor", c_float),
    ("poisson_depth", c_int),
    ("density_quantile", c_double),
    ("outlier_neighbors", c_size_t),
    ("outlier_std", c_double),
    ("project", c_bool),
    ("voxel_size", c_double),
    ("least_scale", c_double),
    ("max_depth", c_double),
    ("min_alpha", c_float),
    ("has_bbox", c_bool),
    ("bbox_low", c_double * 3),
    ("bbox_high", c_double * 3),
    ("target_vertices", c_size_t),
    ("min_component_faces", c_size_t),
    ("least_seen", c_double),
    ("unseen_rim", c_int),
    ("max_host_bytes", c_uint64),
    ("seed", c_uint64),
    ("progress", splat_mesh_progress),
    ("progress_user", c_void_p),
    ("support_trim", c_double),
    ("planes", c_bool),
    ("match", c_bool),
    ("surface", c_int),
    ("collider_faces", c_size_t),
    ("fairing", c_double),
    ("outlines", c_bool),
]
splat_mesh_extract_info._fields_ = [
    ("n_gaussians", c_size_t),
    ("n_points", c_size_t),
    ("n_vertices_first", c_size_t),
    ("n_faces_first", c_size_t),
    ("n_faces_unseen", c_size_t),
    ("n_faces_free", c_size_t),
    ("n_vertices", c_size_t),
    ("n_faces", c_size_t),
    ("n_sky_pixels", c_uint64),
    ("n_sky_covered", c_uint64),
    ("n_covered", c_uint64),
    ("n_back", c_uint64),
    ("n_trusted", c_uint64),
    ("n_violated", c_uint64),
    ("n_missing", c_uint64),
    ("n_collider_faces", c_size_t),
]
splat_refine_info._fields_ = [
    ("n_vertices", c_size_t),
    ("n_faces", c_size_t),
    ("n_gaussians", c_size_t),
    ("has_colors", c_bool),
    ("most_free", c_size_t),
]
splat_refine_input._fields_ = [
    ("size", c_size_t),
    ("mesh_path", c_char_p),
    ("splat_path", c_char_p),
    ("render_mode", c_int),
    ("keep_rest", c_bool),
    ("has_bbox", c_bool),
    ("bbox_low", c_double * 3),
    ("bbox_high", c_double * 3),
]
splat_texture_options._fields_ = [
    ("size", c_size_t),
    ("bake", c_int),
    ("texture_size", c_int),
    ("texel_density", c_double),
    ("max_texture", c_int),
    ("square_size", c_int),
    ("reject_outliers", c_bool),
    ("level_exposure", c_bool),
    ("two_bands", c_bool),
    ("polish_steps", c_int),
    ("gaussians_per_triangle", c_int),
    ("postprocess_mesh", c_bool),
    ("postprocess_density_threshold", c_float),
    ("postprocess_iterations", c_int),
    ("jpeg_quality", c_int),
    ("is_lit", c_bool),
    ("no_sky", c_bool),
    ("sky", c_char_p),
    ("max_host_bytes", c_uint64),
    ("progress", splat_texture_progress),
    ("progress_user", c_void_p),
    ("lods", c_int),
]
splat_texture_info._fields_ = [
    ("n_faces", c_size_t),
    ("n_charts", c_size_t),
    ("n_pages", c_size_t),
    ("width", c_int),
    ("height", c_int),
    ("used", c_double),
    ("n_texels", c_size_t),
    ("from_photos", c_double),
    ("from_gaussians", c_double),
    ("filled", c_double),
    ("gaussians_per_triangle", c_int),
    ("n_rim_faces", c_size_t),
    ("n_faces_seen", c_size_t),
    ("n_outliers", c_size_t),
    ("n_candidates", c_size_t),
    ("polish_losses", c_double * 2),
    ("seams", c_double * 2),
    ("host_bytes", c_uint64),
    ("n_lods", c_int),
]
splat_cameras_options._fields_ = [
    ("size", c_size_t),
    ("source", c_char_p),
    ("folder", c_char_p),
    ("images", c_char_p),
    ("colmap", c_char_p),
    ("camera_model", c_char_p),
    ("matcher", c_int),
    ("mapper", c_int),
    ("vocab_tree", c_char_p),
    ("n_frames", c_int),
    ("threads", c_int),
    ("progress", CFUNCTYPE(c_bool, c_void_p, c_char_p, c_double)),
    ("progress_user", c_void_p),
    ("log", splat_log_function),
    ("log_user", c_void_p),
    ("quality", c_int),
]
splat_cameras_info._fields_ = [
    ("n_photos", c_size_t),
    ("n_registered", c_size_t),
    ("n_points", c_size_t),
    ("n_models", c_size_t),
    ("camera_model", c_char * 32),
    ("matcher", c_int),
    ("is_done_before", c_bool),
]
splat_sample_options._fields_ = [
    ("size", c_size_t),
    ("width", c_int),
    ("height", c_int),
    ("n_cameras", c_int),
    ("n_points", c_int),
    ("n_truth", c_int),
    ("supersample", c_int),
    ("seed", c_uint64),
    ("scene", c_int),
    ("distortion", c_int),
    ("n_blobs", c_int),
    ("exposure_spread", c_float),
    ("things", c_char_p),
    ("tracks", c_bool),
    ("depths", c_bool),
]
splat_viewer_options._fields_ = [
    ("size", c_size_t),
    ("host", c_char_p),
    ("port", c_int),
    ("title", c_char_p),
    ("budget", c_double),
    ("sibr_port", c_int),
    ("sibr_host", c_char_p),
    ("n_ports", c_int),
    ("pause_limit", c_double),
    ("n_sibr_ports", c_int),
]
splat_pipeline_setting._fields_ = [
    ("name", c_char_p),
    ("value", c_char_p),
]
splat_pipeline_options._fields_ = [
    ("size", c_size_t),
    ("source", c_char_p),
    ("folder", c_char_p),
    ("settings", POINTER(splat_pipeline_setting)),
    ("n_settings", c_size_t),
    ("sole_user", c_bool),
    ("command", c_char_p),
]
splat_pipeline_progress._fields_ = [
    ("stage", c_char_p),
    ("activity", c_char_p),
    ("text", c_char_p),
    ("fraction", c_double),
    ("iteration", c_int),
]
splat_pipeline_callbacks._fields_ = [
    ("size", c_size_t),
    ("user", c_void_p),
    ("message", CFUNCTYPE(None, c_void_p, c_int, c_char_p)),
    ("progress", CFUNCTYPE(c_bool, c_void_p, POINTER(splat_pipeline_progress))),
    ("interval", c_double),
    ("stop", POINTER(splat_stop)),
]
splat_pipeline_stage_info._fields_ = [
    ("name", c_char * 16),
    ("state", c_int),
    ("seconds", c_double),
    ("peak_bytes", c_uint64),
    ("host_peak_bytes", c_uint64),
    ("psnr", c_double),
    ("summary", c_char * 1024),
    ("path", c_char * 4096),
]
splat_pipeline_result._fields_ = [
    ("stages", splat_pipeline_stage_info * 8),
    ("n_stages", c_size_t),
    ("files", POINTER(c_char_p)),
    ("n_files", c_size_t),
]

STRUCTS: List[Any] = [
    splat_error,
    splat_context_options,
    splat_device_info,
    splat_memory_info,
    splat_camera,
    splat_file_format,
    splat_save_options,
    splat_scene_options,
    splat_scene_info,
    splat_view_info,
    splat_exposure_spread,
    splat_scene_photo,
    splat_scene_arrays,
    splat_model_info,
    splat_array,
    splat_model_arrays,
    splat_model_values,
    splat_clean_options,
    splat_clean_counts,
    splat_geometry_maps,
    splat_metrics,
    splat_view_job,
    splat_lpips_options,
    splat_model_config,
    splat_coarse_options,
    splat_refine_options,
    splat_train_options,
    splat_step_info,
    splat_plan_options,
    splat_plan_row,
    splat_plan_choice,
    splat_plan_step,
    splat_plan,
    splat_stage_times,
    splat_rank_memory,
    splat_rank_info,
    splat_loss,
    splat_event,
    splat_run_options,
    splat_run_begun,
    splat_mesh_extract_options,
    splat_mesh_extract_info,
    splat_refine_info,
    splat_refine_input,
    splat_texture_options,
    splat_texture_info,
    splat_cameras_options,
    splat_cameras_info,
    splat_sample_options,
    splat_viewer_options,
    splat_pipeline_setting,
    splat_pipeline_options,
    splat_pipeline_progress,
    splat_pipeline_callbacks,
    splat_pipeline_stage_info,
    splat_pipeline_result,
]

FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "splat_error_format": (c_char_p, [POINTER(splat_error), c_char_p, c_size_t]),
    "splat_status_name": (c_char_p, [c_int]),
    "splat_bytes_format": (c_char_p, [c_uint64, c_char_p, c_size_t]),
    "splat_version": (c_char_p, []),
    "splat_folder_lock": (c_int, [c_char_p, POINTER(c_int), POINTER(splat_error)]),
    "splat_folder_unlock": (None, [c_int]),
    "splat_context_options_init_sized": (None, [POINTER(splat_context_options), c_size_t]),
    "splat_context_create": (c_int, [POINTER(splat_context_options), POINTER(POINTER(splat_context)),
        POINTER(splat_error)]),
    "splat_context_destroy": (None, [POINTER(splat_context)]),
    "splat_context_get_description": (c_char_p, [POINTER(splat_context)]),
    "splat_context_get_pci_bus_id": (c_char_p, [POINTER(splat_context)]),
    "splat_device_list": (c_int, [POINTER(splat_device_info), c_size_t, POINTER(c_size_t), POINTER(splat_error)]),
    "splat_context_get_memory": (None, [POINTER(splat_context), POINTER(splat_memory_info)]),
    "splat_context_visit_memory_blocks": (None, [POINTER(splat_context), splat_memory_block_function, c_void_p]),
    "splat_context_set_memory_limit": (c_int, [POINTER(splat_context), c_size_t, POINTER(splat_error)]),
    "splat_scene_options_init_sized": (None, [POINTER(splat_scene_options), c_size_t]),
    "splat_scene_options_set": (c_int, [POINTER(splat_scene_options), c_char_p, c_char_p, POINTER(splat_error)]),
    "splat_scene_open": (c_int, [POINTER(splat_context), POINTER(splat_scene_options), POINTER(POINTER(splat_scene)),
        POINTER(splat_error)]),
    "splat_scene_close": (None, [POINTER(splat_scene)]),
    "splat_scene_get_info": (None, [POINTER(splat_scene), POINTER(splat_scene_info)]),
    "splat_scene_get_view": (c_int, [POINTER(splat_scene), c_size_t, POINTER(splat_view_info), POINTER(splat_error)]),
    "splat_scene_read_photo": (c_int, [POINTER(splat_scene), c_size_t, POINTER(c_uint8), POINTER(splat_error)]),
    "splat_scene_measure_exposures": (c_int, [POINTER(splat_scene), POINTER(splat_exposure_spread),
        POINTER(splat_error)]),
    "splat_scene_has_sky": (c_int, [POINTER(splat_scene), POINTER(c_bool), POINTER(splat_error)]),
    "splat_scene_get_points": (None, [POINTER(splat_scene), POINTER(c_float), POINTER(c_uint8)]),
    "splat_scene_photo_init_sized": (None, [POINTER(splat_scene_photo), c_size_t]),
    "splat_scene_arrays_init_sized": (None, [POINTER(splat_scene_arrays), c_size_t]),
    "splat_scene_create": (c_int, [POINTER(splat_context), POINTER(splat_scene_arrays), POINTER(splat_scene_options),
        POINTER(POINTER(splat_scene)), POINTER(splat_error)]),
    "splat_model_load": (c_int, [POINTER(splat_context), c_char_p, POINTER(POINTER(splat_model)),
        POINTER(splat_error)]),
    "splat_model_destroy": (None, [POINTER(splat_model)]),
    "splat_model_describe": (c_int, [c_char_p, POINTER(splat_model_info), POINTER(splat_error)]),
    "splat_model_get_info": (None, [POINTER(splat_model), POINTER(splat_model_info)]),
    "splat_model_get_mean_opacity": (c_int, [POINTER(splat_model), POINTER(c_double), POINTER(splat_error)]),
    "splat_model_reduce_sh": (c_int, [POINTER(splat_model), c_int, POINTER(splat_error)]),
    "splat_model_set_render_mode": (c_int, [POINTER(splat_model), c_int, c_float, POINTER(splat_error)]),
    "splat_model_get_format": (c_bool, [c_size_t, POINTER(splat_file_format)]),
    "splat_model_check_path": (c_int, [c_char_p, POINTER(splat_error)]),
    "splat_save_options_init_sized": (None, [POINTER(splat_save_options), c_size_t]),
    "splat_model_save": (c_int, [POINTER(splat_model), c_char_p, POINTER(splat_save_options), POINTER(splat_error)]),
    "splat_model_get_arrays": (c_int, [POINTER(splat_model), POINTER(splat_model_arrays), POINTER(splat_error)]),
    "splat_model_values_init_sized": (None, [POINTER(splat_model_values), c_size_t]),
    "splat_model_from_values": (c_int, [POINTER(splat_context), POINTER(splat_model_values),
        POINTER(POINTER(splat_model)), POINTER(splat_error)]),
    "splat_clean_options_init_sized": (None, [POINTER(splat_clean_options), c_size_t]),
    "splat_clean_options_set": (c_int, [POINTER(splat_clean_options), c_char_p, c_char_p, POINTER(splat_error)]),
    "splat_clean_options_check": (c_int, [POINTER(splat_clean_options), POINTER(splat_error)]),
    "splat_model_clean": (c_int, [POINTER(splat_model), POINTER(splat_clean_options), POINTER(splat_clean_counts),
        POINTER(splat_error)]),
    "splat_model_transform": (c_int, [POINTER(splat_model), POINTER(c_double), c_double, POINTER(splat_error)]),
    "splat_model_add_sky": (c_int, [POINTER(splat_model), c_size_t, POINTER(splat_error)]),
    "splat_camera_transform": (None, [POINTER(splat_camera), POINTER(c_double), c_double]),
    "splat_model_render": (c_int, [POINTER(splat_model), POINTER(splat_camera), POINTER(c_float), POINTER(c_float),
        POINTER(splat_error)]),
    "splat_model_render_array": (c_int, [POINTER(splat_model), POINTER(splat_camera), POINTER(c_float),
        POINTER(splat_array), POINTER(splat_error)]),
    "splat_picture_write": (c_int, [c_char_p, POINTER(c_float), c_int, c_int, POINTER(splat_error)]),
    "splat_model_render_geometry": (c_int, [POINTER(splat_model), POINTER(splat_camera), POINTER(splat_geometry_maps),
        POINTER(splat_error)]),
    "splat_view_job_init_sized": (None, [POINTER(splat_view_job), c_size_t]),
    "splat_model_evaluate": (c_int, [POINTER(splat_model), POINTER(splat_scene), POINTER(splat_view_job),
        POINTER(splat_metrics), POINTER(splat_error)]),
    "splat_lpips_options_init_sized": (None, [POINTER(splat_lpips_options), c_size_t]),
    "splat_lpips_create": (c_int, [POINTER(splat_context), POINTER(splat_lpips_options),
        POINTER(POINTER(splat_lpips)), POINTER(splat_error)]),
    "splat_lpips_destroy": (None, [POINTER(splat_lpips)]),
    "splat_lpips_measure": (c_int, [POINTER(splat_lpips), c_int, c_int, POINTER(c_float), POINTER(c_uint8),
        POINTER(c_double), POINTER(c_double), POINTER(splat_error)]),
    "splat_model_config_read": (c_int, [c_char_p, POINTER(splat_model_config), POINTER(splat_error)]),
    "splat_model_config_free": (None, [POINTER(splat_model_config)]),
    "splat_model_find_iteration": (c_int, [c_char_p, c_int, c_char_p, c_size_t, POINTER(c_int), POINTER(splat_error)]),
    "splat_model_read_start": (c_int, [c_char_p, POINTER(splat_camera), POINTER(splat_error)]),
    "splat_scene_check_splat": (c_int, [POINTER(splat_scene), c_char_p, POINTER(splat_error)]),
    "splat_launch_get": (None, [POINTER(c_int), POINTER(c_int)]),
    "splat_comm_open_mpi": (c_int, [POINTER(POINTER(splat_comm)), POINTER(splat_error)]),
    "splat_comm_create_threads": (c_int, [c_int, POINTER(POINTER(splat_comm)), POINTER(splat_error)]),
    "splat_comm_get_rank": (c_int, [POINTER(splat_comm)]),
    "splat_comm_get_size": (c_int, [POINTER(splat_comm)]),
    "splat_comm_fail": (None, [POINTER(splat_comm), POINTER(splat_error)]),
    "splat_comm_interrupt": (None, [POINTER(splat_comm)]),
    "splat_comm_interrupt_by": (None, [POINTER(splat_comm), c_int]),
    "splat_comm_get_interrupt": (c_int, [POINTER(splat_comm), POINTER(c_int)]),
    "splat_comm_close": (None, [POINTER(splat_comm)]),
    "splat_strategy_find": (POINTER(splat_strategy), [c_char_p]),
    "splat_step_info_init_sized": (None, [POINTER(splat_step_info), c_size_t]),
    "splat_train_options_init_sized": (None, [POINTER(splat_train_options), c_size_t]),
    "splat_train_options_set": (c_int, [POINTER(splat_train_options), c_char_p, c_char_p, POINTER(splat_error)]),
    "splat_train_options_init_strategy_sized": (None, [POINTER(splat_train_options), c_size_t,
        POINTER(splat_strategy)]),
    "splat_train_options_set_steps": (None, [POINTER(splat_train_options), c_int]),
    "splat_train_options_fit_photos": (None, [POINTER(splat_train_options), c_size_t]),
    "splat_train_options_fit_rates": (None, [POINTER(splat_train_options), c_size_t]),
    "splat_train_options_init_coarse_sized": (None, [POINTER(splat_train_options), c_size_t, c_int]),
    "splat_train_options_check": (c_int, [POINTER(splat_train_options), POINTER(splat_error)]),
    "splat_trainer_create": (c_int, [POINTER(splat_context), POINTER(splat_scene), POINTER(splat_train_options),
        POINTER(POINTER(splat_trainer)), POINTER(splat_error)]),
    "splat_trainer_destroy": (None, [POINTER(splat_trainer)]),
    "splat_plan_options_init_sized": (None, [POINTER(splat_plan_options), c_size_t]),
    "splat_plan_init_sized": (None, [POINTER(splat_plan), c_size_t]),
    "splat_plan_make": (c_int, [POINTER(splat_context), POINTER(splat_scene), POINTER(splat_train_options),
        POINTER(splat_plan_options), POINTER(splat_train_options), POINTER(splat_plan), POINTER(splat_error)]),
    "splat_model_from_scene": (c_int, [POINTER(splat_context), POINTER(splat_scene), POINTER(splat_train_options),
        POINTER(POINTER(splat_model)), POINTER(splat_error)]),
    "splat_trainer_step": (c_int, [POINTER(splat_trainer), POINTER(splat_step_info), POINTER(splat_error)]),
    "splat_trainer_get_model": (POINTER(splat_model), [POINTER(splat_trainer)]),
    "splat_trainer_get_iteration": (c_int, [POINTER(splat_trainer)]),
    "splat_trainer_serve": (c_int, [POINTER(splat_trainer), POINTER(splat_error)]),
    "splat_trainer_gather": (c_int, [POINTER(splat_trainer), POINTER(splat_error)]),
    "splat_trainer_evaluate": (c_int, [POINTER(splat_trainer), POINTER(splat_view_job), POINTER(splat_metrics),
        POINTER(splat_error)]),
    "splat_trainer_get_mean_opacity": (c_int, [POINTER(splat_trainer), POINTER(c_double), POINTER(splat_error)]),
    "splat_trainer_get_ranks": (c_int, [POINTER(splat_trainer), POINTER(splat_rank_info), c_size_t, POINTER(c_size_t),
        POINTER(splat_error)]),
    "splat_workers_start": (c_int, [POINTER(splat_context_options), POINTER(splat_scene),
        POINTER(splat_train_options), c_int, POINTER(POINTER(splat_workers)), POINTER(POINTER(splat_comm)),
        POINTER(splat_error)]),
    "splat_workers_join": (None, [POINTER(splat_workers)]),
    "splat_trainer_measure_stages": (None, [POINTER(splat_trainer), c_bool]),
    "splat_trainer_take_stage_times": (None, [POINTER(splat_trainer), POINTER(splat_stage_times)]),
    "splat_trainer_load_model": (c_int, [POINTER(splat_trainer), c_char_p, c_int, POINTER(splat_error)]),
    "splat_trainer_start_coarse": (c_int, [POINTER(splat_trainer), c_char_p, POINTER(splat_error)]),
    "splat_trainer_load_exposures": (c_int, [POINTER(splat_trainer), c_char_p, POINTER(splat_error)]),
    "splat_trainer_load_sky": (c_int, [POINTER(splat_trainer), c_char_p, POINTER(splat_error)]),
    "splat_trainer_get_losses": (c_int, [POINTER(splat_trainer), POINTER(splat_loss), POINTER(c_size_t),
        POINTER(splat_error)]),
    "splat_trainer_grow_to": (c_int, [POINTER(splat_trainer), c_size_t, POINTER(splat_error)]),
    "splat_trainer_save_checkpoint": (c_int, [POINTER(splat_trainer), c_char_p, POINTER(splat_error)]),
    "splat_trainer_load_checkpoint": (c_int, [POINTER(splat_trainer), c_char_p, POINTER(splat_error)]),
    "splat_run_options_init_sized": (None, [POINTER(splat_run_options), c_size_t]),
    "splat_trainer_run": (c_int, [POINTER(splat_trainer), POINTER(splat_run_options), POINTER(splat_error)]),
    "splat_run_find_begun": (splat_run_begun, [POINTER(splat_run_options)]),
    "splat_trainer_request_stop": (None, [POINTER(splat_trainer)]),
    "splat_trainer_request_save": (None, [POINTER(splat_trainer)]),
    "splat_mesh_get_format": (c_bool, [c_size_t, POINTER(splat_file_format)]),
    "splat_mesh_check_path": (c_int, [c_char_p, POINTER(splat_error)]),
    "splat_mesh_extract_options_init_sized": (None, [POINTER(splat_mesh_extract_options), c_size_t]),
    "splat_mesh_extract_options_set": (c_int, [POINTER(splat_mesh_extract_options), c_char_p, c_char_p,
        POINTER(splat_error)]),
    "splat_mesh_extract_count": (c_size_t, [POINTER(splat_mesh_extract_options)]),
    "splat_mesh_collider_path": (c_int, [c_char_p, c_char_p, c_size_t, POINTER(splat_error)]),
    "splat_mesh_extract_options_check": (c_int, [POINTER(splat_mesh_extract_options), POINTER(splat_error)]),
    "splat_mesh_extract": (c_int, [POINTER(splat_context), POINTER(splat_scene), POINTER(splat_model),
        POINTER(splat_mesh_extract_options), POINTER(c_char_p), c_size_t, POINTER(splat_mesh_extract_info),
        POINTER(splat_error)]),
    "splat_mesh_extract_info_write": (c_int, [c_char_p, POINTER(splat_mesh_extract_info), POINTER(splat_error)]),
    "splat_model_remove_floaters": (c_int, [POINTER(splat_scene), POINTER(splat_model),
        POINTER(splat_mesh_extract_options), POINTER(c_size_t), POINTER(splat_error)]),
    "splat_model_remove_before_sky": (c_int, [POINTER(splat_scene), POINTER(splat_model), POINTER(c_size_t),
        POINTER(splat_error)]),
    "splat_model_remove_unseen": (c_int, [POINTER(splat_scene), POINTER(splat_model), c_int, POINTER(c_size_t),
        POINTER(splat_error)]),
    "splat_train_options_init_refine_sized": (None, [POINTER(splat_train_options), c_size_t]),
    "splat_refine_describe": (c_int, [c_char_p, c_int, POINTER(splat_refine_info), POINTER(splat_error)]),
    "splat_refine_input_init_sized": (None, [POINTER(splat_refine_input), c_size_t]),
    "splat_trainer_start_refine": (c_int, [POINTER(splat_trainer), POINTER(splat_refine_input), POINTER(splat_error)]),
    "splat_refine_deform": (c_int, [c_char_p, c_char_p, c_char_p, c_char_p, POINTER(splat_save_options),
        POINTER(splat_error)]),
    "splat_texture_options_init_sized": (None, [POINTER(splat_texture_options), c_size_t]),
    "splat_texture_options_set": (c_int, [POINTER(splat_texture_options), c_char_p, c_char_p, POINTER(splat_error)]),
    "splat_texture_options_check": (c_int, [POINTER(splat_texture_options), POINTER(splat_error)]),
    "splat_texture_make": (c_int, [POINTER(splat_context), POINTER(splat_scene), c_char_p, POINTER(splat_model),
        POINTER(splat_texture_options), POINTER(c_char_p), c_size_t, POINTER(splat_texture_info),
        POINTER(splat_error)]),
    "splat_cameras_options_init_sized": (None, [POINTER(splat_cameras_options), c_size_t]),
    "splat_cameras_options_set": (c_int, [POINTER(splat_cameras_options), c_char_p, c_char_p, POINTER(splat_error)]),
    "splat_cameras_options_check": (c_int, [POINTER(splat_cameras_options), POINTER(splat_error)]),
    "splat_cameras_are_needed": (c_bool, [c_char_p, c_char_p]),
    "splat_cameras_find": (c_int, [POINTER(splat_cameras_options), POINTER(splat_cameras_info), POINTER(splat_error)]),
    "splat_sample_options_init_sized": (None, [POINTER(splat_sample_options), c_size_t]),
    "splat_sample_options_set": (c_int, [POINTER(splat_sample_options), c_char_p, c_char_p, POINTER(splat_error)]),
    "splat_sample_options_choose": (None, [POINTER(splat_sample_options), c_int]),
    "splat_sample_write": (c_int, [POINTER(splat_context), c_char_p, POINTER(splat_sample_options),
        POINTER(splat_error)]),
    "splat_viewer_options_init_sized": (None, [POINTER(splat_viewer_options), c_size_t]),
    "splat_viewer_options_set": (c_int, [POINTER(splat_viewer_options), c_char_p, c_char_p, POINTER(splat_error)]),
    "splat_viewer_open": (c_int, [POINTER(splat_viewer_options), POINTER(POINTER(splat_viewer)), POINTER(splat_error)]),
    "splat_viewer_close": (None, [POINTER(splat_viewer)]),
    "splat_viewer_get_address": (c_char_p, [POINTER(splat_viewer)]),
    "splat_viewer_get_port": (c_int, [POINTER(splat_viewer)]),
    "splat_viewer_get_sibr_port": (c_int, [POINTER(splat_viewer)]),
    "splat_viewer_set_scene": (c_int, [POINTER(splat_viewer), POINTER(splat_model), POINTER(splat_scene),
        POINTER(splat_error)]),
    "splat_viewer_set_points": (c_int, [POINTER(splat_viewer), POINTER(splat_model), POINTER(splat_scene),
        POINTER(splat_error)]),
    "splat_viewer_set_mesh": (c_int, [POINTER(splat_viewer), POINTER(splat_context), c_char_p, POINTER(splat_scene),
        POINTER(splat_error)]),
    "splat_viewer_offer": (c_int, [POINTER(splat_viewer), c_char_p, c_int, POINTER(splat_model), POINTER(c_float),
        POINTER(splat_error)]),
    "splat_viewer_load_exposures": (c_int, [POINTER(splat_viewer), c_char_p, POINTER(splat_error)]),
    "splat_viewer_serve": (c_int, [POINTER(splat_viewer), POINTER(splat_model), POINTER(c_float), c_double,
        POINTER(c_bool), POINTER(splat_error)]),
    "splat_viewer_watch": (c_int, [POINTER(splat_viewer), POINTER(splat_trainer), c_char_p, POINTER(splat_error)]),
    "splat_viewer_event": (None, [c_void_p, POINTER(splat_event)]),
    "splat_viewer_finish": (None, [POINTER(splat_viewer), c_char_p]),
    "splat_viewer_stay": (None, [POINTER(splat_viewer), c_double]),
    "splat_viewer_get_clients": (None, [POINTER(splat_viewer), POINTER(c_int), POINTER(c_uint64)]),
    "splat_pipeline_options_init_sized": (None, [POINTER(splat_pipeline_options), c_size_t]),
    "splat_stop_create": (c_int, [POINTER(POINTER(splat_stop)), POINTER(splat_error)]),
    "splat_stop_destroy": (None, [POINTER(splat_stop)]),
    "splat_stop_request": (None, [POINTER(splat_stop), c_int]),
    "splat_pipeline_callbacks_init_sized": (None, [POINTER(splat_pipeline_callbacks), c_size_t]),
    "splat_pipeline_state_name": (c_char_p, [c_int]),
    "splat_pipeline_run": (c_int, [POINTER(splat_pipeline_options), POINTER(splat_pipeline_callbacks),
        POINTER(splat_pipeline_result), POINTER(splat_error)]),
    "splat_pipeline_result_free": (None, [POINTER(splat_pipeline_result)]),
}


def declare(library: Any) -> Any:
    """The library, with typed functions."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
