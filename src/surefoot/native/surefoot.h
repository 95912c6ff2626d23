/* What every C file of the library includes: names by processor level, vectors, and the kernels' arguments.

   Each file is compiled once for every level (build.py): SF_LEVEL is base or v3, so that sf_compare_base and
   sf_compare_v3 are the same code for different processors. Both must give the same bits: sums have a fixed order that
   the source spells out, no function is taken from libm but sqrt (and erfc, log and log1p in distributions.c), and no
   memory is allocated. */
#ifndef SUREFOOT_H
#define SUREFOOT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels.h"

#if defined _WIN32
#define SF_EXPORT __declspec(dllexport)
#else
#define SF_EXPORT __attribute__((visibility("default")))
#endif

#define SF_JOIN_(name, level) sf_##name##_##level
#define SF_JOIN(name, level) SF_JOIN_(name, level)
#define SF_NAME(name) SF_JOIN(name, SF_LEVEL) /* for what several files share; all else is static */
#define SF_KERNEL_OF(arguments, name) SF_EXPORT int64_t SF_NAME(name)(const struct arguments *a)
#define SF_KERNEL(name) SF_KERNEL_OF(name, name)
#define SF_INLINE static inline __attribute__((always_inline))

#define SF_OUT_OF_RANGE INT64_MIN /* returned by a kernel whose arrays hold an index or a count without room */
#define SF_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Vectors of the width that the processor has. Sums over a fixed number of lanes use as many vectors as that takes:
   f32v sum[16 / F32_LANES]. */
#if defined __AVX__
#define SF_WIDTH 32
#else
#define SF_WIDTH 16
#endif
#define F32_LANES (SF_WIDTH / 4)
#define F64_LANES (SF_WIDTH / 8)

typedef float f32v __attribute__((vector_size(SF_WIDTH)));
typedef double f64v __attribute__((vector_size(SF_WIDTH)));
typedef int32_t i32v __attribute__((vector_size(SF_WIDTH)));
typedef int64_t i64v __attribute__((vector_size(SF_WIDTH)));

#define SF_VECTOR(vector, element, mask)                                                                               \
    SF_INLINE vector vector##_load(const element *from) {                                                              \
        vector loaded;                                                                                                 \
        memcpy(&loaded, from, sizeof loaded);                                                                          \
        return loaded;                                                                                                 \
    }                                                                                                                  \
    SF_INLINE void vector##_store(element *to, vector stored) { memcpy(to, &stored, sizeof stored); }                  \
    SF_INLINE vector vector##_all(element value) { return value - (vector){0}; }                                       \
    SF_INLINE vector vector##_select(mask condition, vector yes, vector no) {                                          \
        return (vector)((condition & (mask)yes) | (~condition & (mask)no));                                            \
    }

SF_VECTOR(f32v, float, i32v)
SF_VECTOR(f64v, double, i64v)

/* Whether a range is within this many elements. */
SF_INLINE bool are_bounds(int64_t elements, int64_t begin, int64_t end) {
    return begin >= 0 && begin <= end && end <= elements;
}

SF_INLINE int64_t least(int64_t one, int64_t other) { return other < one ? other : one; }

/* Whether an item comes before another, or is the same; a constant of the caller, so that it is inlined. */
typedef bool comes_before(const void *items, int32_t one, int32_t other);

/* Sort items that are gap apart; false if it gave up after most moves. */
SF_INLINE bool insertion_sort(int32_t *order, int64_t size, int64_t gap, int64_t most, comes_before *before,
                              const void *items) {
    int64_t moves = 0;
    for (int64_t rank = gap; rank < size; rank++) {
        int32_t item = order[rank];
        int64_t at = rank;
        for (; at >= gap && !before(items, order[at - gap], item); at -= gap, moves++) order[at] = order[at - gap];
        order[at] = item;
        if (moves > most) return false;
    }
    return true;
}

/* Sort items; cheap if they almost are in order, else Shell's sort with Gonnet's gaps. */
SF_INLINE void sort(int32_t *order, int64_t size, comes_before *before, const void *items) {
    if (insertion_sort(order, size, 1, 32 * size, before, items)) return;
    for (int64_t gap = size; gap > 1;) {
        gap = gap < 3 ? 1 : 5 * gap / 11;
        insertion_sort(order, size, gap, INT64_MAX, before, items);
    }
}

#endif
