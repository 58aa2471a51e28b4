/* One table of options: the source of parsing, --help, the man page and the bash completion. */
#ifndef SPLAT_CLI_OPTIONS_H
#define SPLAT_CLI_OPTIONS_H

#include "base/option_table.h"
#include "sizes.h"
#include "splatsmith.h"
#include "bench/bench.h"
#include "measure/random_views.h"
#include "mesh/measure/mesh_figures.h"

#include <stdio.h>

#define CLI_LIST_MAX 1024
#define CLI_OPTIONS_MAX 384
#define CLI_WORDS_MAX 256
#define CLI_TEXT_MAX 1024

typedef struct cli_list {
    int values[CLI_LIST_MAX];
    size_t n;
} cli_list;

/* The help that is asked for: of the options that people need first, or of all. */
typedef enum cli_help { CLI_NO_HELP, CLI_HELP_BASIC, CLI_HELP_ALL } cli_help;

/* Everything a command line can say. The library's own structs are filled by the library's own init functions, so that
 * a default is written down once. Strings point into argv. */
typedef struct cli_values {
    splat_context_options context;
    splat_scene_options scene;
    splat_train_options train;
    splat_sample_options sample;
    splat_cameras_options cameras;
    splat_bench_options bench;
    splat_viewer_options viewer;
    const char *camera_path; /* of render; NULL: the views of the scene */
    int viewer_port;      /* of --viewer beside a training; -1: none */
    double viewer_budget; /* percent */
    bool viewer_stay;     /* the page stays after the training; of interest where it is given */
    splat_random_views_options random_views; /* n = 0: none */
    const char *bench_label, *bench_notes;
    const char *bench_mode, *max_slowdown, *quality_tolerance, *perturb, *what;
    const char *render_exposure; /* "neutral" or "own" */
    const char *mesh_file;      /* of render and eval: taken instead of a splat; of refine: to begin with; NULL: none */
    splat_mesh_draw_options mesh_draw;
    int render_width, render_height; /* 0: the scene's */
    cli_list test_iterations, save_iterations, checkpoint_iterations;
    cli_limit vram_limit, device_memory;
    const char *fragmentation;
    size_t n_gaussians;
    const char *strategy;       /* of train */
    const char *quality;        /* "high": the strategy that measures best, unless one is given */
    const char *regularization; /* of coarse */
    int coarse_iterations;
    bool export_ply;
    const char *gs_output_dir, *coarse_checkpoint, *refinement_time; /* of pipeline and refine */
    const char *gaussians_per_triangle; /* of refine and pipeline; NULL: not said */
    const char *deform;         /* of refine: the edited mesh; NULL: it trains */
    int refinement_iterations;
    float normal_consistency_factor;
    bool skip_training, skip_coarse, skip_refine, skip_texture, low_poly, high_poly, export_obj;
    splat_viewer *shared_viewer; /* of the pipeline around a stage; NULL: none */
    struct cli_outcome *outcome; /* filled by train, coarse and mesh; NULL: nobody asks */
    int reduce_sh_degree;       /* of a loaded model; -1: as it is */
    bool optimize_memory;       /* an alias, as quality: src/program/cli/aliases.c */
    const char *model_path, *experiment_name, *start_checkpoint, *ply, *output, *render_mode, *data_device;
    int iteration, from_iteration, checkpoint_interval;
    int n_sheet_views;
    int monitor_pid;            /* 0: none */
    float monitor_interval;
    const char *monitor_csv;
    splat_mesh_report_options mesh_report;
    const char *mesh_thresholds, *mesh_json, *mesh_tensorboard;
    int mesh_step;
    const char *profile_folder, *profile_svg;
    cli_list snapshot_iterations;
    bool profile_tensors, tensorboard, report;
    int profile_interval;
    const char *tensorboard_tags;
    splat_lpips_options lpips;
    splat_mesh_extract_options mesh;
    const char *surface_levels, *bbox_min, *bbox_max;
    splat_texture_options texture;
    splat_clean_options clean;  /* of export, but for its box: bbox_min, bbox_max */
    const char *spz_version;    /* of export */
    const char *up_axis, *scene_up; /* of export; up_axis NULL: it stays */
    double export_scale;
    int min_views;             /* of export; 0: all stay */
    double max_host_memory;     /* of mesh and texture, GiB; 0: no limit */
    bool use_marching_cubes, use_centers, use_vanilla_3dgs, remove_floaters;
    bool diffuse_only;          /* of eval */
    const char *gpus;           /* of train: how many GPUs, or "all"; NULL: one */
    int n_gpus;                 /* the same as a number, once it is looked at; 0: one */
    bool eval_only, delete_first, enable_lpips, skip_train, skip_test, fused, quiet;
    cli_help help;
    const char *ignored_text;   /* where options without effect leave their value */
    bool ignored_flag;
    const char *operand;        /* the word that is not an option: OUT of sample, a command for help */
    const char *words[CLI_WORDS_MAX]; /* those after it, of commands that take many */
    size_t n_words;
    char **command_line;        /* as the program was called, NULL at the end */
    bool given[CLI_OPTIONS_MAX]; /* by the index in the table */
    bool unnamed[CLI_OPTIONS_MAX]; /* given without its value: a usual port */
} cli_values;

/* What an option takes: as in the tables of the library's options, or more. */
typedef enum cli_kind {
    CLI_FLAG = SPLAT_OPTION_FLAG, /* the value may be left out */
    CLI_TEXT = SPLAT_OPTION_TEXT,
    CLI_WORD = SPLAT_OPTION_CHOICE, /* one of the words of `metavar`, which stand between bars */
    CLI_INT = SPLAT_OPTION_INT,
    CLI_SIZE = SPLAT_OPTION_SIZE,
    CLI_COUNT = SPLAT_OPTION_COUNT,
    CLI_SEED = SPLAT_OPTION_U64,
    CLI_REAL = SPLAT_OPTION_REAL,
    CLI_DOUBLE = SPLAT_OPTION_DOUBLE,
    CLI_GIB = SPLAT_OPTION_GIB,
    CLI_CHOICE = 100, /* const char *, one of the words of `metavar` */
    CLI_PORT,   /* int; the value may be left out: that of the metavar, [PORT=8080] */
    CLI_HELP,   /* cli_help; "all" may follow */
    CLI_INTS,   /* cli_list */
    CLI_LIMIT   /* cli_limit; the metavar says whether percentages and max are meant too */
} cli_kind;

typedef enum cli_group {
    CLI_GROUP_INPUT,
    CLI_GROUP_OUTPUT,
    CLI_GROUP_SCENE,
    CLI_GROUP_TRAINING,
    CLI_GROUP_FILTER,
    CLI_GROUP_RATES,
    CLI_GROUP_DENSITY,
    CLI_GROUP_SURFACE,
    CLI_GROUP_MEMORY,
    CLI_GROUP_MESH,
    CLI_GROUP_SAVING,
    CLI_GROUP_SAMPLE,
    CLI_GROUP_MACHINE,
    CLI_GROUP_GENERAL,
    CLI_GROUP_IGNORED,
    CLI_N_GROUPS
} cli_group;

/* Who sees an option in --help; --help all, the man page and the completion have every option. */
typedef enum cli_level {
    CLI_BASIC,   /* everybody */
    CLI_STAGE,   /* those who ask a command for help, but not the pipeline that takes the options of its stages */
    CLI_ADVANCED /* nobody */
} cli_level;

typedef struct cli_option {
    const char *name;     /* with underscores */
    char letter;          /* 0: none */
    const char *aliases;  /* names with commas between, or NULL */
    unsigned commands;    /* cli_command.bit of every command that has it */
    cli_level level;
    cli_group group;
    cli_kind kind;
    size_t offset;        /* in cli_values */
    const char *metavar;
    double low, high;     /* of numbers; low above high: the library's range */
    const char *help;     /* CLI_GROUP_IGNORED: why it has no effect */
    const char *fallback; /* shown as default where the value in the struct does not tell; "": show none */
} cli_option;

typedef struct cli_command {
    const char *name;
    unsigned bit;
    int (*run)(const cli_values *values);
    const char *usage;    /* after "splatsmith <name> " */
    const char *operand;  /* what the operand is called, or NULL when none is taken; "..." at its end: any number */
    const char *summary;
    const char *details;  /* shown by --help; NULL: none */
    bool prints; /* its result is what it prints: when the reader leaves, there is nothing more to do */
    bool hidden;
} cli_command;

/* Of an option that takes a number; both limits are included. Both 0: it has no limit. */
typedef struct cli_range {
    double low, high;
    bool or_zero; /* 0 is possible besides */
} cli_range;

extern const cli_option cli_options[];
extern const size_t cli_n_options;
extern const cli_command cli_commands[];
extern const size_t cli_n_commands;
extern const char *const cli_group_titles[CLI_N_GROUPS];

cli_range cli_option_range(const cli_option *option);

void cli_values_init(cli_values *values);
/* NULL when there is none. */
const cli_command *cli_find_command(const char *name);
/* The one message about a word that is no command, with the nearest one. */
void cli_unknown_command(const char *name);

/* Reads the words after the command. Prints one sentence and returns false when they are wrong. */
bool cli_parse(cli_values *values, const cli_command *command, int n_words, char **words);
/* As if the command line had set it, to this text, which must live as long as the values. */
bool cli_set_option(cli_values *values, const cli_option *option, const char *text);
/* Options that stand for a value of another one become that one, with a notice. Prints one sentence and returns false
 * when the other one is given, too, with another value. */
bool cli_take_aliases(cli_values *values, const cli_command *command);
/* Whether the command line set the option. */
bool cli_given(const cli_values *values, const char *name);
/* Whether it set the option's value, too. */
bool cli_names_value(const cli_values *values, const char *name);
/* An option of a kind of the library's tables as a row of one, whose struct is cli_values. */
splat_option cli_option_row(const cli_option *option);
/* Bytes of the field that an option of this kind has. */
size_t cli_kind_size(cli_kind kind);
/* Of a struct of options in `values`, `part`: writes what the command line set over another struct of that type, which
 * holds what applies else, such as a preset or what a file says. */
void cli_put_given(const cli_values *values, const void *part, size_t size, void *options);
/* Takes a text option back: not set, and its default. */
void cli_forget(cli_values *values, const char *name);

/* The value of an option as the command line would say it, "" when it has none; a list that is too long is cut. */
void cli_value_text(const cli_option *option, const cli_values *values, char *text, size_t size);

/* The next name in a comma-separated list of aliases: copies it and returns what follows, NULL at the end. */
const char *cli_next_name(const char *names, char name[64]);
/* What follows the name, or NULL: "FOLDER", or "WORD" when the words are so many that they stand in the text. */
const char *cli_option_metavar(const cli_option *option);
/* "-s, --source_path FOLDER" */
const char *cli_option_heading(const cli_option *option, char text[CLI_TEXT_MAX]);
/* The help with defaults and aliases. `defaults` come from cli_values_init. */
const char *cli_option_text(const cli_option *option, const cli_values *defaults, char text[CLI_TEXT_MAX]);

#endif
