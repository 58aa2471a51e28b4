/* Memory profiles: lines of JSON, read, judged and drawn. */
#include "fuzz.h"
#include "report/profile/profile.h"
#include "report/profile/profile_chart.h"
#include "report/profile/profile_read.h"


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    splat_profile *profile;
    splat_error error;
    fuzz_file("in.jsonl", data, size);
    splat_status status = splat_profile_read("in.jsonl", &profile, &error);
    fuzz_judge(status, &error);
    if (status != SPLAT_OK) return 0;
    fuzz_judge(splat_profile_write_svg(profile, "/dev/null", &error), &error);
    splat_profile_free(profile);
    return 0;
}
