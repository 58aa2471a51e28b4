/* Skies at infinity. */
#include "sample/sample_sky.h"

#include "sample/sample_noise.h"

splat_sky splat_sky_of_seed(uint64_t seed)
{
    static const splat_sky skies[3] = {
        {SPLAT_SKY_OVERCAST, {1, 1, 1}, {1, 1, 1}},
        {SPLAT_SKY_BLUE, {0.78, 0.86, 0.95}, {0.30, 0.50, 0.82}},
        {SPLAT_SKY_CLOUDS, {0.74, 0.79, 0.86}, {0.46, 0.57, 0.74}},
    };
    return skies[seed % 3];
}

splat_vec3 splat_sky_color(const splat_sky *sky, const uint8_t noise[512], splat_vec3 direction)
{
    double up = fmax(-direction.y, 0);
    splat_vec3 color = splat_vec3_mix(sky->horizon, sky->zenith, sqrt(up));
    if (sky->kind != SPLAT_SKY_CLOUDS) return color;
    /* the place on a layer of clouds above the observer, which becomes fine towards the horizon */
    splat_vec3 place = splat_vec3_scale(direction, 2.4 / (0.35 + up));
    double thick = splat_smoothstep(0.3, 0.75, splat_noise_fractal(noise, place, 1));
    return splat_vec3_mix(color, splat_vec3_make(0.85, 0.86, 0.88), 0.6 * thick);
}
