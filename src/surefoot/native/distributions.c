/* Elementwise functions, and distributions.

   erfc, log and log1p are those of libm: their last digit may differ from one platform to the next. */
#include "maths.h"
#include "surefoot.h"

static const double SMALLEST = 1e-300; /* instead of 0, by which a continued fraction must not be divided */

/* The probability that a normal variable is at most x. */
SF_INLINE double normal_cdf(double x) { return 0.5 * erfc(-x * 0x1.6a09e667f3bcdp-1); }

SF_INLINE double logistic(double x) { return 1.0 / (1.0 + sf_exp(-x)); }

/* log(p / (1 - p)), near 1/2 by the distance from it, which is exact. */
SF_INLINE double logit(double p) {
    double distance = 2.0 * (p - 0.5);
    return p >= 0.3 && p <= 0.65 ? log1p(distance) - log1p(-distance) : log(p / (1.0 - p));
}

/* The numerators and denominators of the normal quantile near 1/2, in the tails, and far out; highest power first. */
static const double PROBIT[3][2][8] = {
    {{2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4,
      1.3731693765509461125e+4, 1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0},
     {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4,
      5.3941960214247511077e+3, 6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0}},
    {{7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.4178072517745061177e-1, 1.27045825245236838258e+0,
      3.64784832476320460504e+0, 5.7694972214606914055e+0, 4.6303378461565452959e+0, 1.42343711074968357734e+0},
     {1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, 1.4810397642748007459e-1,
      6.8976733498510000455e-1, 1.6763848301838038494e+0, 2.05319162663775882187e+0, 1.0}},
    {{2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.2426609473880784386e-3, 2.6532189526576123093e-2,
      2.9656057182850489123e-1, 1.7848265399172913358e+0, 5.4637849111641143699e+0, 6.6579046435011037772e+0},
     {2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
      1.48753612908506148525e-2, 1.3692988092273580531e-1, 5.9983220655588793769e-1, 1.0}},
};

/* The x that a normal variable is at most with probability p (Wichura 1988, AS 241). */
static double normal_quantile(double p) {
    double centre = p - 0.5, r = 0.180625 - centre * centre, factor = centre, sums[2] = {0.0, 0.0};
    if (!(p > 0.0 && p < 1.0)) return p == 0.0 ? -INFINITY : p == 1.0 ? INFINITY : NAN;
    int64_t part = fabs(centre) <= 0.425 ? 0 : 1;
    if (part) {
        r = sqrt(-log(centre <= 0.0 ? p : 1.0 - p));
        part += r > 5.0;
        r -= part == 1 ? 1.6 : 5.0;
        factor = centre < 0.0 ? -1.0 : 1.0;
    }
    for (int64_t side = 0; side < 2; side++)
        for (int64_t power = 0; power < 8; power++) sums[side] = sums[side] * r + PROBIT[part][side][power];
    return sums[0] * factor / sums[1];
}

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

/* log(x^a y^b / B(a, b)) for y = 1 - x: how far x is from the mean, which for large a and b keeps the digits. */
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
EACH(elementwise, normal_quantile, normal_quantile(a->x[i]))
EACH(elementwise, logistic, logistic(a->x[i]))
EACH(elementwise, logit, logit(a->x[i]))
EACH(student_p, student_p, two_sided_p(a->t[i], a->df[i]))
EACH(beta, beta_cdf, beta_cdf(a->a[i], a->b[i], a->x[i]))
EACH(beta, beta_logit, beta_logit(a->a[i], a->b[i], a->x[i]))
