/* Results of benchmarks: read, compared with themselves and put into a report. */
#include "fuzz.h"
#include "bench/compare.h"
#include "bench/report.h"


static void ignore(void *user, const char *sentence)
{
    (void)user;
    fuzz_touch(sentence, strlen(sentence));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_bench_record *record;
    splat_bench_comparison comparison;
    splat_error error;
    fuzz_file("in.json", data, size);
    splat_status status = splat_bench_read("in.json", &record, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    splat_bench_record *const records[] = {record, record};
    splat_bench_compare(record, record, &comparison);
    splat_bench_list_differences(record, record, ignore, NULL);
    char *markdown = splat_bench_report_markdown(records, 2, 0.1), *html = splat_bench_report_html(records, 2, 0.1);
    if (!markdown || !html) abort();
    free(markdown);
    free(html);
    splat_bench_record_free(record);
    return 0;
}
