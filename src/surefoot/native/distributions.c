/* Elementwise functions, and distributions.

   erfc, log and log1p are those of libm: their last digit may differ from one platform to the next. */
#include "maths.h"
#include "surefoot.h"

static const double SMALLEST = 1e-300; /* instead of 0, by which a continued fraction must not be divided */

/* The probability that a normal variable is at most x. */
SF_INLINE double sf_normal_cdf(double x) { return 0.5 * erfc(-x * 0x1.6a09e667f3bcdp-1); }

SF_INLINE double sf_logistic(double x) { return 1.0 / (1.0 + sf_exp(-x)); }

/* log(p / (1 - p)), near 1/2 by the distance from it, which is exact. */
SF_INLINE double sf_logit(double p) {
    double distance = 2.0 * (p - 0.5);
    return p >= 0.3 && p <= 0.65 ? log1p(distance) - log1p(-distance) : log(p / (1.0 - p));
}

#define ELEMENTWISE(name)                                                                                              \
    SF_KERNEL(name) {                                                                                                  \
        for (int64_t index = 0; index < a->size; index++) a->out[index] = sf_##name(a->x[index]);                      \
        return 0;                                                                                                      \
    }

ELEMENTWISE(expf)
ELEMENTWISE(exp)
ELEMENTWISE(exp2)
ELEMENTWISE(log2)
ELEMENTWISE(normal_cdf)
ELEMENTWISE(logistic)
ELEMENTWISE(logit)

/* Gamma(a + 1/2) / Gamma(a): its series for large a (Tricomi and Erdélyi 1951); smaller ones are led up to it. */
static double gamma_ratio(double a) {
    double factor = 1.0;
    for (; a < 30.0; a += 1.0) factor *= a / (a + 0.5);
    double u = 1.0 / a, u2 = u * u;
    double series = 5.0 / 1024 + u * (-21.0 / 32768 + u * (-399.0 / 262144));
    series = 1.0 + u * (-1.0 / 8 + u * (1.0 / 128 + u * series));
    return factor * sqrt(a) * (series + u2 * (u2 * u2) * (869.0 / 4194304));
}

SF_INLINE double not_zero(double x) { return fabs(x) > SMALLEST ? x : SMALLEST; }

/* The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22). */
static double beta_fraction(double a, double b, double x) {
    double c = 1.0, d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0)), fraction = d;
    for (int64_t step = 1; step < 100000; step++) {
        double m = (double)step, twice = a + 2.0 * m;
        double coefficients[] = {m * (b - m) * x / ((twice - 1.0) * twice),
                                 -(a + m) * (a + b + m) * x / (twice * (twice + 1.0))};
        for (int index = 0; index < 2; index++) {
            d = 1.0 / not_zero(1.0 + coefficients[index] * d);
            c = not_zero(1.0 + coefficients[index] / c);
            fraction *= c * d;
        }
        if (fabs(c * d - 1.0) < 1e-16) break;
    }
    return fraction;
}

/* The two-sided p of t: the incomplete beta function I_x(df / 2, 1 / 2) at x = df / (df + t^2). */
static double two_sided_p(double t, double df) {
    double a = 0.5 * df, square = t * t, x = df / (df + square), rest = square / (df + square);
    if (!(x > 0.0 && rest > 0.0)) /* t is 0, infinite or NaN */
        return square == 0.0 ? 1.0 : square > 0.0 ? 0.0 : (double)NAN;
    double front = sf_exp(-a * log1p(square / df)) * sqrt(rest / 0x1.921fb54442d18p+1) * gamma_ratio(a);
    return x < (a + 1.0) / (a + 2.5) ? front * beta_fraction(a, 0.5, x) / a
                                     : 1.0 - 2.0 * front * beta_fraction(0.5, a, rest);
}

/* Fill in the two-sided p of each t. */
SF_KERNEL(student_p) {
    for (int64_t index = 0; index < a->size; index++) a->out[index] = two_sided_p(a->t[index], a->df[index]);
    return 0;
}
