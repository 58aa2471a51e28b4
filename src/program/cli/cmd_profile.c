/* splatsmith profile: what a run's memory profile says. */
#include "cli.h"
#include "paths.h"
#include "progress.h"
#include "report/profile/profile.h"
#include "report/profile/profile_chart.h"
#include "report/profile/profile_read.h"

#include <math.h>

static double percent(size_t part, size_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_totals(const splat_profile *p)
{
    const splat_profile_sample *first = &p->samples[0], *last = &p->samples[p->n_samples - 1],
                               *peak = &p->samples[p->peak];
    char a[32], b[32], c[32];
    cli_say("Memory profile %s", p->path);
    cli_say("  %s; %zu samples, iterations %d to %d, %zu to %zu Gaussians", p->backend, p->n_samples, first->iteration,
            last->iteration, first->n_gaussians, last->n_gaussians);
    cli_say("\nTotals");
    cli_say("  at the end   %s allocated, %s reserved in %zu blocks (with the host's); on the host %s",
            splat_bytes(last->allocated_bytes, a), splat_bytes(last->reserved_bytes, b), last->n_blocks,
            splat_bytes(last->host_bytes, c));
    cli_say("  highest      %s reserved in a sample, at iteration %d with %zu Gaussians; %s between samples",
            splat_bytes(peak->reserved_bytes, a), peak->iteration, peak->n_gaussians, splat_bytes(last->peak_bytes, b));
    if (!last->driver_bytes) return;
    double driver = (double)last->driver_bytes, counted = (double)last->reserved_bytes + (double)p->overhead_bytes;
    cli_say("  the driver   counts %s at the end; the blocks and its own %s of the start make %.2f %% %s",
            splat_bytes(last->driver_bytes, a), splat_bytes(p->overhead_bytes, b),
            100 * fabs(driver - counted) / driver, driver >= counted ? "less" : "more");
}

static void print_categories(const splat_profile *p)
{
    const splat_profile_sample *peak = &p->samples[p->peak], *last = &p->samples[p->n_samples - 1];
    char a[32], b[32], c[32];
    cli_say("\nBy category              highest     at iteration    share of the peak       at the end");
    for (int i = 0; i < SPLAT_N_MEMORY_CATEGORIES; i++) {
        const splat_profile_sample *sample = &p->samples[p->category_peaks[i]];
        if (!sample->category_bytes[i]) continue;
        snprintf(c, sizeof c, "%.1f %%", percent(peak->category_bytes[i], peak->reserved_bytes));
        cli_say("  %-16s %14s %16d %20s %16s", splat_memory_category_name((splat_memory_category)i),
                splat_bytes(sample->category_bytes[i], a), sample->iteration, c,
                splat_bytes(last->category_bytes[i], b));
    }
}

static void print_largest(const splat_profile *p)
{
    char bytes[32];
    cli_say("\nLargest blocks, at the highest sample");
    for (size_t i = 0; i < p->n_largest; i++) {
        const splat_profile_large_block *block = &p->largest[i];
        cli_say("  %-24s %12s %6.1f %%   %s, %s", block->name, splat_bytes(block->bytes, bytes),
                percent(block->bytes, p->samples[p->peak].reserved_bytes), block->category, block->type);
    }
}

/* Five samples, evenly spread. */
static void print_growth(const splat_profile *p)
{
    char a[32], b[32], c[32], d[32];
    size_t before = SIZE_MAX;
    cli_say("\nOver time    iteration   Gaussians    allocated     reserved   unused   bytes/Gaussian     process");
    for (size_t i = 0; i < 5; i++) {
        size_t at = (p->n_samples - 1) * i / 4;
        const splat_profile_sample *s = &p->samples[at];
        if (at == before) continue;
        before = at;
        snprintf(d, sizeof d, "%.1f %%", percent(s->reserved_bytes - s->allocated_bytes, s->reserved_bytes));
        cli_say("  %20d %11zu %12s %12s %8s %16.0f %11s", s->iteration, s->n_gaussians,
                splat_bytes(s->allocated_bytes, a), splat_bytes(s->reserved_bytes, b), d,
                s->n_gaussians ? (double)s->reserved_bytes / (double)s->n_gaussians : 0,
                splat_bytes(s->process_bytes, c));
    }
}

static void print_trends(const splat_profile *p)
{
    static const char *const words[] = {"flat", "GROWS", "not judged"};
    bool grows = false, judged = false;
    cli_say("\nLeaks (from iteration %d on, where the number of Gaussians stays)", p->settled_iteration);
    for (size_t i = 0; i < p->n_trends; i++) {
        const splat_profile_trend *trend = &p->trends[i];
        char reason[sizeof trend->reason + 64];
        cli_library_text(trend->reason, reason, sizeof reason);
        grows = grows || trend->verdict == SPLAT_PROFILE_GROWS;
        judged = judged || trend->verdict != SPLAT_PROFILE_UNKNOWN;
        if (trend->verdict == SPLAT_PROFILE_GROWS)
            cli_say("  %-31s GROWS %.1f KiB per 1000 steps: %s", trend->what, trend->bytes_per_1000_steps / 1024,
                    reason);
        else
            cli_say("  %-31s %s: %s", trend->what, words[trend->verdict], reason);
    }
    cli_say("  Verdict: %s", grows ? "memory grows while the model does not; a longer run would need more and more"
                             : judged ? "no leak"
                                      : "too few samples to tell; train longer, or lower --profile_interval");
}

static void print_fragmentation(const splat_profile *p)
{
    double worst = 0, sum = 0;
    int when = p->samples[0].iteration;
    for (size_t i = 0; i < p->n_samples; i++) {
        const splat_profile_sample *s = &p->samples[i];
        double share = percent(s->reserved_bytes - s->allocated_bytes, s->reserved_bytes);
        sum += share;
        if (share > worst) {
            worst = share;
            when = s->iteration;
        }
    }
    cli_say("\nFragmentation: %.2f %% of what is reserved is not in use on average, %.2f %% at worst (iteration %d): "
            "the ends of pages or granules", sum / (double)p->n_samples, worst, when);
}

static void print_savings(const splat_profile *p)
{
    char bytes[32], option[96];
    cli_say("\nWhat would free most, at the highest sample");
    for (size_t i = 0; i < p->n_savings; i++)
        cli_say("  %-42s %10s; cost: %s", cli_library_text(p->savings[i].option, option, sizeof option),
                splat_bytes(p->savings[i].bytes, bytes), p->savings[i].cost);
}

int cmd_profile(splat_line *line)
{
    char path[CLI_PATH_MAX];
    splat_profile *profile;
    splat_error error;
    if (!line->operand) {
        cli_error("name a model folder, a tensor_profile_*.jsonl, or latest");
        return CLI_USAGE;
    }
    if (line->profile->svg && cli_is_other_format(line->profile->svg, ".svg")) {
        cli_error("--svg writes SVG; name a file like memory.svg, not '%s'", line->profile->svg);
        return CLI_USAGE;
    }
    if (splat_profile_find(line->operand, line->profile->folder ? line->profile->folder : ".", path, sizeof path,
                           &error) != SPLAT_OK ||
        splat_profile_read(path, &profile, &error) != SPLAT_OK)
        return cli_report(&error);
    if (profile->is_cut)
        cli_notice("the last line is cut off, as when a run is killed or still goes on; it is left out");
    print_totals(profile);
    print_categories(profile);
    print_largest(profile);
    print_growth(profile);
    print_trends(profile);
    print_fragmentation(profile);
    print_savings(profile);
    splat_status status = SPLAT_OK;
    if (line->profile->svg) status = splat_profile_write_svg(profile, line->profile->svg, &error);
    splat_profile_free(profile);
    if (status != SPLAT_OK) return cli_report(&error);
    if (line->profile->svg) cli_say("\nTimeline: %s", line->profile->svg);
    return CLI_OK;
}
