/* Swaps of two documents of a ranking: the change of the metric, and its weight under an objective. */
#ifndef SUREFOOT_SWAPS_H
#define SUREFOOT_SWAPS_H

#include "surefoot.h"

struct query {
    const double *gains;
    const int32_t *order;
    int64_t begin, size;
};

/* Gains and discounts by rank, and sums over ranks that make each change cheap. AP: the part of a contribution that
   depends only on the rank (one), the relevant documents so far (two), and all of them (first). RR: the ranks of the
   first two relevant documents. ERR: the probability to reach each rank (one), and the metric down to it (two). */
struct swaps {
    int64_t metric, size;
    const float *gain, *discount, *rest;
    double *one, *two, first, second;
};

#define EDGE 1e-6f /* a swap that ends closer than this to the baseline ends at it: often it restores that ranking */

SF_INLINE float smaller(float one, float other) { return other < one ? other : one; }
SF_INLINE float larger(float one, float other) { return one < other ? other : one; }

/* The documents of a query; false if they or their order are out of range. */
static bool find_query(const struct query_set *all, const int32_t *order, int64_t number, struct query *found) {
    int64_t begin = all->bounds[number], end = all->bounds[number + 1];
    if (begin < 0 || end < begin || end > all->rows || end - begin > least(all->longest, INT32_MAX)) return false;
    *found = (struct query){all->gains + begin, order + begin, begin, end - begin};
    uint32_t highest = 0;
    for (int64_t rank = 0; rank < found->size; rank++) {
        uint32_t offset = (uint32_t)found->order[rank];
        highest = offset > highest ? offset : highest;
    }
    return found->size == 0 || (int64_t)highest < found->size;
}

/* Fill in the sums over ranks. */
static void prepare(struct swaps *swaps) {
    if (swaps->metric == metric_ndcg) return;
    double seen = 0.0, harmonic = 0.0, left = 1.0, total = 0.0, size = (double)swaps->size, first = size, second = size;
    for (int64_t rank = 0; rank < swaps->size; rank++) {
        double gain = (double)swaps->gain[rank], place = (double)(rank + 1);
        if (swaps->metric == metric_map) {
            seen += gain;
            swaps->one[rank] = harmonic - seen / place;
            harmonic += gain / place;
            swaps->two[rank] = seen;
        } else if (swaps->metric == metric_err) {
            swaps->one[rank] = left;
            swaps->two[rank] = total;
            total += left * gain / place;
            left *= 1.0 - gain;
        } else if (gain > 0.0 && second == size)
            *(first == size ? &first : &second) = (double)rank;
    }
    swaps->first = swaps->metric == metric_map ? (seen < 1.0 ? 1.0 : seen) : first;
    swaps->second = second;
}

/* Difference of gains times difference of discounts. */
static void change_ndcg(const struct swaps *swaps, int64_t rank, int64_t begin, int64_t size, float *restrict out) {
    const float *gains = swaps->gain + begin, *discounts = swaps->discount + begin, *rests = swaps->rest + begin;
    float gain = swaps->gain[rank], discount = swaps->discount[rank], rest = swaps->rest[rank];
    for (int64_t at = 0; at < size; at++)
        out[at] = (gains[at] - gain) * ((discount - discounts[at]) + (rest - rests[at]));
}

/* A relevant document goes up or down; relevant ones between the two ranks get one more or one fewer above them. */
static void change_map(const struct swaps *swaps, int64_t rank, int64_t size, float *restrict out) {
    const float *gains = swaps->gain + rank + 1;
    const double *falls = swaps->one + rank + 1;
    float gain = swaps->gain[rank];
    double own = (double)gain, place = (double)(rank + 1), seen = swaps->two[rank], divisor = swaps->first;
    double harmonic = swaps->one[rank] + seen / place + own / place; /* of ranks up to this one */
    double constant = (seen + 1.0 - own) / place - harmonic, sign = 1.0 - 2.0 * own;
    for (int64_t at = 0; at < size; at++)
        out[at] = (float)((double)fabsf(gains[at] - gain) * sign * (falls[at] + constant) / divisor);
}

/* Only a swap that moves the first relevant document, or one before it, matters. */
static void change_mrr(const struct swaps *swaps, int64_t rank, int64_t size, float *restrict out) {
    const float *gains = swaps->gain + rank + 1;
    double place = (double)(rank + 1), now = 1.0 / (swaps->first + 1.0), second = swaps->second;
    for (int64_t at = 0; at < size; at++) {
        double gain = (double)gains[at], other = (double)(rank + 1 + at);
        if (place <= swaps->first)
            out[at] = (float)(gain * (1.0 / place - now));
        else if (place == swaps->first + 1.0)
            out[at] = (float)((1.0 - gain) * (1.0 / ((other < second ? other : second) + 1.0) - now));
        else
            out[at] = 0.0f;
    }
}

/* The contributions of the two ranks change, and the probability to reach the ranks between them. */
static void change_err(const struct swaps *swaps, int64_t rank, int64_t size, float *restrict out) {
    const float *gains = swaps->gain + rank + 1;
    const double *reaches = swaps->one + rank + 1, *totals = swaps->two + rank + 1;
    double own = (double)swaps->gain[rank], reach = swaps->one[rank], place = (double)(rank + 1);
    double passed = swaps->two[rank] + reach * own / place;
    for (int32_t at = 0, next = (int32_t)rank + 2; at < (int32_t)size; at++) {
        double their = (double)gains[at];
        double ratio = (own - their) / (1.0 - own); /* how many more users get past this rank, as a fraction */
        double here = reach * (their - own) / place, between = (totals[at] - passed) * ratio;
        double there = reaches[at] * ((1.0 + ratio) * own - their) / (double)(next + at);
        out[at] = (float)(here + between + there);
    }
}

/* Fill in the change of the metric for swaps of a rank with others below it, from begin on; for metrics but NDCG these
   are all. A change is positive if the ranking would be better. */
static void change_pairs(const struct swaps *swaps, int64_t rank, int64_t begin, int64_t size, float *change) {
    switch (swaps->metric) {
    case metric_ndcg: change_ndcg(swaps, rank, begin, size, change); break;
    case metric_map: change_map(swaps, rank, size, change); break;
    case metric_mrr: change_mrr(swaps, rank, size, change); break;
    default: change_err(swaps, rank, size, change);
    }
}

/* Each form says which parameters of the query (own) and of all queries (shared) it takes. A weight is never negative:
   it is the size of the objective's change where that has the sign of the metric's, else 0. */
#define WEIGH(form)                                                                                                    \
    static void form(const float *restrict own, const float *restrict shared, const float *restrict change,            \
                     float *restrict weight, int64_t size)

static const volatile float BOUNDS[] = {0.0f, 1.0f, 4.0f, 1e-30f}; /* as constants, gcc makes branches of them */

/* All changes of the query count own[0] times. */
WEIGH(by_factor) {
    (void)shared;
    for (int64_t at = 0; at < size; at++) weight[at] = own[0] * fabsf(change[at]);
}

/* A change counts own[3] times, below a kink own[0] times more. The query is own[1] above the kink, or own[2] below. */
WEIGH(by_line) {
    (void)shared;
    float extra = own[0], above = own[1], below = own[2], base = own[3];
    for (int64_t at = 0; at < size; at++)
        weight[at] = fabsf(base * change[at] + extra * smaller(change[at] + above, below));
}

/* A change that ends below the baseline counts 1 + own[0] times; the query is own[1] above it. */
WEIGH(by_step) {
    (void)shared;
    float factor = 1.0f + own[0], above = own[1] + EDGE;
    for (int64_t at = 0; at < size; at++) weight[at] = fabsf(change[at]) * (change[at] + above < 0.0f ? factor : 1.0f);
}

/* The cubic a d^3 + b d^2 + c d with shared = a, b, c; the query's difference to the baseline is own[0]. */
WEIGH(by_cubic) {
    float d = own[0], a = shared[0], b = shared[1], c = shared[2];
    for (int64_t at = 0; at < size; at++) {
        float step = change[at];
        float slope = a * (3.0f * d * (d + step) + step * step) + b * (2.0f * d + step) + c;
        weight[at] = fabsf(step) * larger(slope, 0.0f);
    }
}

/* The change of sqrt(c) U / s, U the mean and s the standard deviation of the values v, times sqrt(c) s.

   A change of the query's value by e, that of by_line with base 1, turns the sum of squares around the mean, Q, into
   Q (1 + r) with r = e (own[3] + shared[0] e), where own[3] = 2 (v - U) / Q and shared[0] = (1 - 1/c) / Q; so
   s / s' - 1 = -r / (sqrt(1 + r) (1 + sqrt(1 + r))). shared[1] is c U. */
WEIGH(by_t) {
    float extra = own[0], above = own[1], below = own[2], slope = own[3], square = shared[0], total = shared[1];
    for (int64_t at = 0; at < size; at++) {
        float step = change[at], moved = step + extra * smaller(step + above, below);
        float r = larger(moved * (slope + square * moved), -1.0f), root = sqrtf(1.0f + r);
        float found = moved + (moved + total) * (-r / (root * (1.0f + root)));
        weight[at] = larger(step > 0.0f ? found : -found, 0.0f);
    }
}

/* The change of GeoRisk times 2 c GeoRisk / Phi(Z / c), so that it is the metric's own where Z does not move.

   own: x, sqrt(e), 1 / sqrt(e) (0 where e = 0), the part of e's change that is linear in x's, z above 0, z below 0, and
   how the other queries' z move. shared: alpha, 1 if S counts in e, N, S, c, and the series of log Phi around Z / c.

   A swap moves Z / c, S and N by about 1 / c of themselves, so that short series replace slow functions: those of
   1 / (N + dM), of log Phi, of log(1 + dM / S), and of the exponential of half their sum, 2 (exp(u / 2) - 1). With a
   handful of queries swaps leave their reach; bounds then keep the sign right and the size finite. */
WEIGH(by_georisk) {
    float root = own[1], linear = own[3], above = own[4], below = own[5], others = own[6];
    float alpha = shared[0], whole = shared[1], per_grand = 1.0f / shared[2], total = shared[3], count = shared[4];
    float first = shared[5], second = shared[6], third = shared[7], fourth = shared[8];
    float e = root * root, lost = own[0] * own[2];
    float zero = BOUNDS[0], one = BOUNDS[1], most = BOUNDS[2], tiny = BOUNDS[3];
    for (int64_t at = 0; at < size; at++) {
        float step = change[at], t = smaller(step * per_grand, one);
        float more = step * (linear + whole * step) * per_grand;
        more *= one - t * (one - t * (one - t * (one - t * (one - t))));
        float new = sqrtf(larger(e + more, tiny)), both = new + root, share = one / (new * both);
        float rise = more * new * share, dz = (step - lost * rise) * both * share - rise;
        float h = (dz + alpha * smaller(dz + above, below) + others * step) / count;
        float u = h * larger(first + h * (second + h * (third + h * fourth)), zero);
        t = smaller(step / total, one);
        u += t * (one - t * (1.0f / 2 - t * (1.0f / 3 - t * (1.0f / 4 - t * (1.0f / 5)))));
        u = smaller(larger(u, -most), most);
        u *= one + u * (1.0f / 4 + u * (1.0f / 24 + u * (1.0f / 192 + u * (1.0f / 1920))));
        weight[at] = total * larger(step > zero ? u : -u, zero);
    }
}

/* Fill in the weights of changes of the metric of a query. */
static void weigh(const struct objective *weights, int64_t query, const float *change, float *weight, int64_t size) {
    WEIGH((*const forms[])) = {
        [weighing_factor] = by_factor, [weighing_line] = by_line, [weighing_step] = by_step,
        [weighing_cubic] = by_cubic,   [weighing_t] = by_t,       [weighing_georisk] = by_georisk,
    };
    forms[weights->form](weights->per_query + 8 * query, weights->shared, change, weight, size);
}

#endif
