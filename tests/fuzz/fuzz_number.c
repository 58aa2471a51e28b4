/* Numbers in text: what is read as a finite float is written so that it reads back as the same. */
#include "fuzz.h"

#include "io/number.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[32], *end;
    char *word = malloc(size + 1);
    memcpy(word, data, size);
    word[size] = '\0';
    double number = splat_number_parse(word, &end);
    if (end < word || end > word + strlen(word)) abort();
    if (end > word && isfinite((float)number)) {
        float value = (float)number;
        if ((float)splat_number_parse(splat_number_format(text, value), &end) != value || *end) abort();
    }
    free(word);
    return 0;
}
