/* splatsmith-lpips-convert: the weights of LPIPS, from the files users can get, to the file splatsmith reads. Nothing in
 * the files is executed. */
#include "measure/lpips/lpips_convert.h"

#include <splatsmith.h>

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "splatsmith-lpips-convert NET BACKBONE.pth HEADS.pth OUT.safetensors\n"
    "\n"
    "  NET       vgg, alex or squeeze\n"
    "  BACKBONE  torchvision's weights: vgg16-397923af.pth, alexnet-owt-7be5be79.pth or squeezenet1_1-b8a52dc0.pth\n"
    "  HEADS     the linear layers of LPIPS: lpips/weights/v0.1/NET.pth of github.com/richzhang/PerceptualSimilarity\n"
    "  OUT       call it lpips_NET.safetensors, and name it or its folder with --lpips_weights or\n"
    "            SPLATSMITH_LPIPS_WEIGHTS\n";

int main(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc != 5) {
        fputs(usage, stderr);
        return 2;
    }
    splat_error error;
    char text[2048];
    if (splat_lpips_convert(argv[1], argv[2], argv[3], argv[4], &error) != SPLAT_OK) {
        fprintf(stderr, "splatsmith-lpips-convert: %s\n", splat_error_format(&error, text, sizeof text));
        return 1;
    }
    printf("wrote %s\n", argv[4]);
    return 0;
}
