/* Elementwise functions. */
#include "maths.h"
#include "surefoot.h"

#define ELEMENTWISE(name)                                                                                              \
    SF_KERNEL(name) {                                                                                                  \
        for (int64_t index = 0; index < a->size; index++) a->out[index] = sf_##name(a->x[index]);                      \
        return 0;                                                                                                      \
    }

ELEMENTWISE(expf)
ELEMENTWISE(exp)
ELEMENTWISE(exp2)
ELEMENTWISE(log2)
