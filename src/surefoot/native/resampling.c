/* Bootstrap resamples. */
#include "surefoot.h"

/* Add to the weights how often each resample draws each topic. */
SF_KERNEL(count_draws) {
    for (int64_t resample = 0; resample < a->resamples; resample++) {
        const int32_t *drawn = a->drawn + resample * a->topics;
        double *weights = a->weights + resample * a->topics;
        for (int64_t draw = 0; draw < a->topics; draw++) {
            if (SF_UNLIKELY(drawn[draw] < 0 || drawn[draw] >= a->topics)) return SF_OUT_OF_RANGE;
            weights[drawn[draw]] += 1.0;
        }
    }
    return 0;
}
