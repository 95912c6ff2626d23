/* Bootstrap resamples. */
#include "surefoot.h"

/* Add to the weights how often each resample draws each topic. */
SF_KERNEL(count_draws) {
    const int64_t topics = a->topics;
    for (int64_t resample = 0; resample < a->resamples; resample++) {
        const int32_t *drawn = a->drawn + resample * topics;
        double *weights = a->weights + resample * topics;
        for (int64_t draw = 0; draw < topics; draw++) {
            if (SF_UNLIKELY((uint64_t)drawn[draw] >= (uint64_t)topics)) return SF_OUT_OF_RANGE;
            weights[drawn[draw]] += 1.0;
        }
    }
    return 0;
}
