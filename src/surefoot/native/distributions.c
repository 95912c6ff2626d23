/* Elementwise functions, and distributions.

   erfc, log and log1p are those of libm: their last digit may differ from one platform to the next. */
#include "maths.h"
#include "surefoot.h"

static const double SMALLEST = 1e-300; /* replaces 0, by which a continued fraction must not divide */

/* The probability that a normal variable is at most x. */
SF_INLINE double normal_cdf(double x) { return 0.5 * erfc(-x * 0x1.6a09e667f3bcdp-1); }

SF_INLINE double logistic(double x) { return 1.0 / (1.0 + sf_exp(-x)); }

/* log(p / (1 - p)), near 1/2 by the distance from it, which is exact. */
SF_INLINE double logit(double p) {
    double distance = 2.0 * (p - 0.5);
    return p >= 0.3 && p <= 0.65 ? log1p(distance) - log1p(-distance) : log(p / (1.0 - p));
}

/* Gamma(a + 1/2) / Gamma(a): its series for large a (Tricomi and Erdélyi 1951), reached by recurrence for small a. */
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

/* log Gamma(a) less Stirling's (a - 1/2) log a - a + log(2 pi) / 2: its series for large a (DLMF 5.11.1). */
static double stirling_rest(double a) {
    double sum = 0.0;
    for (; a < 16.0; a += 1.0) sum += (a + 0.5) * log1p(1.0 / a) - 1.0;
    double u = 1.0 / (a * a), tail = 1.0 / 1260 + u * (-1.0 / 1680 + u * (1.0 / 1188 + u * (-691.0 / 360360)));
    return sum + (1.0 / 12 + u * (-1.0 / 360 + u * tail)) / a;
}

/* log(x / mean), given their difference. */
static double log_ratio(double x, double mean, double difference) {
    return 2.0 * x < mean ? log(x / mean) : log1p(difference / mean);
}

/* log(x^a y^b / B(a, b)) for y = 1 - x, by the distance of x from the mean, which keeps the digits for large a, b. */
static double log_beta_front(double a, double b, double x, double y) {
    double mean = a / (a + b), rest = b / (a + b), difference = x < y ? x - mean : rest - y;
    double deviance = a * log_ratio(x, mean, difference) + b * log_ratio(y, rest, -difference);
    double stirling = stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b);
    return deviance + stirling + 0.5 * log(a * rest / 0x1.921fb54442d18p+2);
}

/* The logarithm of the incomplete beta function I_x(a, b), for y = 1 - x and the front above. */
static double log_beta_cdf(double a, double b, double x, double y, double front) {
    bool is_lower = x < (a + 1.0) / (a + b + 2.0);
    double tail = front + log(is_lower ? beta_fraction(a, b, x) / a : beta_fraction(b, a, y) / b);
    return is_lower ? tail : log1p(-sf_exp(tail));
}

/* I_x(a, b), the probability that a beta variable is at most x. */
static double beta_cdf(double a, double b, double x) {
    if (!(x > 0.0 && x < 1.0)) return x;
    return sf_exp(log_beta_cdf(a, b, x, 1.0 - x, log_beta_front(a, b, x, 1.0 - x)));
}

/* log(x / (1 - x)) for the x at which I_x(a, b) = p. log I is concave in it: Newton's steps come from one side. */
static double beta_logit(double a, double b, double p) {
    if (p > 0.5) return -beta_logit(b, a, 1.0 - p);
    if (!(p > 0.0)) return p == 0.0 ? -INFINITY : NAN;
    double u = log(a / b), wanted = log(p), enough = 1e-9 / (1.0 + sqrt(a + b)), step = 1.0;
    for (int64_t count = 0; count < 200 && fabs(step) > enough; count++) {
        double x = logistic(u), y = logistic(-u), front = log_beta_front(a, b, x, y);
        double found = log_beta_cdf(a, b, x, y, front);
        step = (wanted - found) / sf_exp(front - found);
        u = u + step < -700.0 ? -700.0 : u + step > 700.0 ? 700.0 : u + step;
    }
    return u;
}

#define EACH(arguments, name, value)                                                                                   \
    SF_KERNEL_OF(arguments, name) {                                                                                    \
        for (int64_t i = 0; i < a->size; i++) a->out[i] = value;                                                       \
        return 0;                                                                                                      \
    }

EACH(elementwise, expf, (double)sf_expf((float)a->x[i]))
EACH(elementwise, exp, sf_exp(a->x[i]))
EACH(elementwise, exp2, sf_exp2(a->x[i]))
EACH(elementwise, log2, sf_log2(a->x[i]))
EACH(elementwise, normal_cdf, normal_cdf(a->x[i]))
EACH(elementwise, logistic, logistic(a->x[i]))
EACH(elementwise, logit, logit(a->x[i]))
EACH(student_p, student_p, two_sided_p(a->t[i], a->df[i]))
EACH(beta, beta_cdf, beta_cdf(a->a[i], a->b[i], a->x[i]))
EACH(beta, beta_logit, beta_logit(a->a[i], a->b[i], a->x[i]))
