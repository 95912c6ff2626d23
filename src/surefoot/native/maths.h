/* Elementary functions with the same bits on every platform; libm's differ from one to the next.

   Each reduces its argument by a table and sums the Taylor series of what is left, in a fixed order and without FMA. */
#ifndef SUREFOOT_MATHS_H
#define SUREFOOT_MATHS_H

#include "surefoot.h"
#include "tables.h"

static const double TO_INTEGER = 0x1.8p+52; /* added to a number, it leaves the nearest integer in the lowest bits */

SF_INLINE uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

SF_INLINE double double_of(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* exp(x) for x in -87..88; beyond, the nearest of both. Rounded right but for about one number in 500,000. */
SF_INLINE float sf_expf(float x) {
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    double z = (double)x * (32.0 / LN2), rounded = z + TO_INTEGER, r = (z - (rounded - TO_INTEGER)) * (LN2 / 32.0);
    uint64_t k = bits_of(rounded);
    double power = double_of(bits_of(POWERS[k % 32][0]) + (k / 32 << 52)), r2 = r * r;
    return (float)(power * ((1.0 + r) + r2 * ((1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24))));
}

/* 2^(k / 32) e^r for small r. The exponent is halved, so that no factor overflows and a tiny result is rounded once. */
SF_INLINE double sf_scaled(int64_t k, double r) {
    const double *power = POWERS[k & 31];
    double r2 = r * r, low = 1.0 / 6 + r * (1.0 / 24), high = 1.0 / 120 + r * (1.0 / 720) + r2 * (1.0 / 5040);
    double value = power[0] + (power[1] + power[0] * (r + r2 * (1.0 / 2 + r * (low + r2 * high))));
    int64_t exponent = k >> 5, half = exponent >> 1;
    return value * double_of((uint64_t)(1023 + half) << 52) * double_of((uint64_t)(1023 + exponent - half) << 52);
}

/* exp(x). */
static inline double sf_exp(double x) {
    x = x < -750.0 ? -750.0 : x > 710.0 ? 710.0 : x;
    double rounded = x * (32.0 / LN2) + TO_INTEGER, count = rounded - TO_INTEGER;
    return sf_scaled((int64_t)(bits_of(rounded) - bits_of(TO_INTEGER)), x - count * STEP - count * STEP_REST);
}

/* 2^x for x in -1000..1000. */
static inline double sf_exp2(double x) {
    double rounded = x * 32.0 + TO_INTEGER, count = rounded - TO_INTEGER;
    return sf_scaled((int64_t)(bits_of(rounded) - bits_of(TO_INTEGER)), (x - count / 32.0) * LN2);
}

/* log2(x) for finite x >= 1, in twice the precision until the last sum: integers up to 100,000 are rounded right.

   x = 2^k m, and m times a reciprocal from the table is 1 + r. The products of high parts are exact. */
static inline double sf_log2(double x) {
    uint64_t bits = bits_of(x), fraction = bits & ((1ull << 52) - 1);
    const double *near = LOGARITHMS[fraction >> 46], k = (double)(bits >> 52) - 1023.0;
    double m = double_of(fraction | 1023ull << 52), head = double_of(bits_of(m) & ~0ull << 27);
    double high = head * near[0] - 1.0, low = (m - head) * near[0], r = high + low, r2 = r * r, r4 = r2 * r2;
    double series = (-1.0 / 2 + r * (1.0 / 3)) + r2 * (-1.0 / 4 + r * (1.0 / 5));
    series += r4 * ((-1.0 / 6 + r * (1.0 / 7)) + r2 * (-1.0 / 8 + r * (1.0 / 9)) + r4 * (-1.0 / 10));
    double start = k + near[1], step = high * PER_LN2, sum = start + step, rest = start - sum + step;
    return sum + (rest + (near[2] + (high * PER_LN2_REST + (low + r2 * series) * (1.0 / LN2))));
}

#endif
