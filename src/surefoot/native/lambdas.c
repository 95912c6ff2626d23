/* The gradients of LambdaMART: sums over the pairs of documents of each query.

   A query is walked in stretches of ranks whose pairs fill buffers that stay in the L1 cache: first the signed changes
   of the metric if the two documents of a pair swapped ranks, positive if the ranking would be better; then the weights
   that the objective gives to them; then, rank by rank, the gradients and hessians of the pairs. A document is paired
   with all those below it or, for NDCG and a document without gain, with those that have gain. No loop over pairs takes
   an exponential, as one for each document is enough: 1 / (1 + exp(a - b)) = B / (A + B). Numbers are floats;
   differences of nearby numbers are taken of a float and its remainder, which loses no precision. */
#include "maths.h"
#include "swaps.h"

#define WIDEST 40.0 /* exponent on either side of the middle: a float holds e^80, where a pair has no gradient left */
#define PAIRS 512   /* ranks are joined until they have this many pairs, to fill vectors on short lists too */
#define STEP 8      /* weights are computed for a multiple of this many changes, padded with zeros */
#define LANES 16    /* of a sum over pairs */

typedef float f32x4 __attribute__((vector_size(16))), f32x1 __attribute__((vector_size(4)));
typedef int32_t i32x4 __attribute__((vector_size(16))), i32x1 __attribute__((vector_size(4)));
SF_VECTOR(f32x4, float, i32x4)
SF_VECTOR(f32x1, float, i32x1)

/* Higher scores first, ties by offset. */
SF_INLINE bool is_higher(const void *items, int32_t one, int32_t other) {
    const double *scores = items;
    return scores[one] > scores[other] || (scores[one] == scores[other] && one < other);
}

static double metric_of(const struct query_set *all, const struct query *query) {
    double total = 0.0, seen = 0.0, left = 1.0;
    for (int64_t rank = 0; rank < query->size; rank++) {
        double gain = query->gains[query->order[rank]], place = (double)(rank + 1);
        if (all->metric == metric_ndcg)
            total += gain * ((double)all->discounts[rank] + (double)all->discounts[all->longest + rank]);
        else if (all->metric == metric_map) {
            seen += gain;
            total += gain * seen / place;
        } else if (all->metric == metric_err) {
            total += left * gain / place;
            left *= 1.0 - gain;
        } else if (gain > 0.0)
            return 1.0 / place;
    }
    return total / (seen < 1.0 ? 1.0 : seen);
}

/* Rank the documents of the queries from first to end by descending score, ties by row, unless they are ranked already;
   fill in their metrics. */
SF_KERNEL(rank_queries) {
    struct query query;
    if (a->first < 0 || a->end > a->queries.count) return SF_OUT_OF_RANGE;
    for (int64_t number = a->first; number < a->end; number++) {
        if (!find_query(&a->queries, a->order, number, &query)) return SF_OUT_OF_RANGE;
        if (!a->is_ranked) sort(a->order + query.begin, query.size, is_higher, a->scores + query.begin);
        a->values[number] = metric_of(&a->queries, &query);
    }
    return 0;
}

/* The documents of a query by rank; behind the length of the longest list, copies of those with gain. Scores and
   discounts are each a float and its remainder. below[rank] is where the partners of the document at that rank begin;
   relevant has the ranks of the documents with gain. */
struct ranked {
    union {
        struct {
            float *discount, *discount_rest, *gain, *power, *score, *score_rest, *gradient, *hessian;
        };
        float *column[8];
    };
    int64_t *below, *relevant, size, count, copies;
};

static struct ranked documents_in(const struct lambda_gradients *a) {
    int64_t longest = a->queries.longest;
    struct ranked d = {.below = a->ranks, .relevant = a->ranks + longest, .copies = longest};
    for (int column = 0; column < 8; column++) d.column[column] = a->documents + 2 * column * longest;
    for (int column = 0; column < 2; column++)
        memcpy(d.column[column], a->queries.discounts + column * longest, (size_t)longest * sizeof(float));
    return d;
}

/* Overwrite the columns with the documents of a query; returns the difference of the highest and lowest score. */
static double by_rank(struct ranked *d, const struct query *query, const double *scores, double sigmoid) {
    double best = scores[query->order[0]], worst = scores[query->order[query->size - 1]], middle = 0.5 * (best + worst);
    d->size = query->size;
    for (int64_t rank = 0; rank < d->size; rank++) {
        double score = scores[query->order[rank]] - middle, power = sigmoid * score;
        power = power < -WIDEST ? -WIDEST : power;
        d->gain[rank] = (float)query->gains[query->order[rank]];
        d->score[rank] = (float)score;
        d->score_rest[rank] = (float)(score - (double)d->score[rank]);
        d->power[rank] = sf_expf((float)(power > WIDEST ? WIDEST : power));
    }
    return best - worst;
}

/* Overwrite below and the copies of the documents with gain; all gradients and hessians become 0. */
static void copy_relevant(struct ranked *d, int64_t metric) {
    d->count = 0;
    for (int64_t rank = 0; rank < d->size; rank++) {
        d->relevant[d->count] = rank; /* overwritten by the next unless it has gain */
        d->count += d->gain[rank] > 0.0f;
        d->below[rank] = metric == metric_ndcg && d->gain[rank] == 0.0f ? d->copies + d->count : rank + 1;
    }
    for (int column = 0; column < 6; column++)
        for (int64_t index = 0; index < d->count; index++)
            d->column[column][d->copies + index] = d->column[column][d->relevant[index]];
    for (int column = 6; column < 8; column++) {
        memset(d->column[column], 0, (size_t)d->size * sizeof(float));
        memset(d->column[column] + d->copies, 0, (size_t)d->count * sizeof(float));
    }
}

/* How many documents the one at a rank is paired with. */
SF_INLINE int64_t partners(const struct ranked *d, int64_t rank) {
    return (d->below[rank] == rank + 1 ? d->size : d->copies + d->count) - d->below[rank];
}

/* Overwrite the powers of the partners with exponentials relative to the document above them, whose power is then 1: for
   score differences that are too large for one exponential for each document. */
static void relate(const struct ranked *d, int64_t rank, double sigmoid) {
    for (int64_t at = d->below[rank], end = at + partners(d, rank); at < end; at++) {
        float difference = (d->score[rank] - d->score[at]) + (d->score_rest[rank] - d->score_rest[at]);
        double power = sigmoid * (double)difference;
        d->power[at] = sf_expf(-(float)(power > 2.0 * WIDEST ? 2.0 * WIDEST : power));
    }
}

/* One document, and arrays of its partners and of their pairs. A damped pair is divided by 0.01 + the difference of
   scores, as LightGBM's normalisation does. */
struct pairs {
    const float *power, *score, *score_rest, *change, *weight;
    float *gradient, *hessian;
    float own_power, own_score, own_rest;
    bool damped;
};

/* Add the loss of a vector of pairs to gradients and hessians of the partners, and to sums: |change| * loss, the
   document's own gradient and hessian. */
#define ADD_PAIRS(vector, mask)                                                                                        \
    SF_INLINE void vector##_add(const struct pairs *p, int64_t at, vector *total, vector *gradient, vector *hessian) { \
        vector own = vector##_all(p->own_power), theirs = vector##_load(p->power + at), divisor = vector##_all(1.0f);  \
        vector change = vector##_load(p->change + at), weight = vector##_load(p->weight + at);                         \
        if (p->damped)                                                                                                 \
            divisor = 0.01f + ((p->own_score - vector##_load(p->score + at)) +                                         \
                               (p->own_rest - vector##_load(p->score_rest + at)));                                     \
        vector inverse = 1.0f / ((own + theirs) * divisor);                                                            \
        mask up = change > 0.0f;                                                                                       \
        vector loss = vector##_select(up, own, theirs) * inverse;                                                      \
        vector curved = weight * (loss * vector##_select(up, theirs, own) * inverse * divisor);                        \
        vector slope = weight * vector##_select(up, loss, -loss);                                                      \
        *total += (vector)((mask)change & INT32_MAX) * loss;                                                           \
        *gradient += slope;                                                                                            \
        *hessian += curved;                                                                                            \
        vector##_store(p->gradient + at, vector##_load(p->gradient + at) - slope);                                     \
        vector##_store(p->hessian + at, vector##_load(p->hessian + at) + curved);                                      \
    }

ADD_PAIRS(f32v, i32v)
ADD_PAIRS(f32x4, i32x4)
ADD_PAIRS(f32x1, i32x1)

SF_INLINE float fold(f32x4 sum) { return (sum[0] + sum[2]) + (sum[1] + sum[3]); }

SF_INLINE float fold_wide(const f32v *sums) {
    const float *lanes = (const float *)sums;
    return fold((f32x4_load(lanes) + f32x4_load(lanes + 8)) + (f32x4_load(lanes + 4) + f32x4_load(lanes + 12)));
}

/* Add the pairs of a document; returns the sum of |change| * loss. Sums have 16 lanes, then 4, then 1. */
static float add_pairs(struct pairs pairs, int64_t size, float *gradient, float *hessian) {
    const struct pairs *p = &pairs;
    float sums[3] = {0.0f, 0.0f, 0.0f};
    int64_t at = 0;
    if (size >= LANES) {
        f32v wide[3][LANES / F32_LANES] = {0};
        for (; at + LANES <= size; at += LANES)
            for (int part = 0; part < LANES / F32_LANES; part++)
                f32v_add(p, at + part * F32_LANES, &wide[0][part], &wide[1][part], &wide[2][part]);
        for (int sum = 0; sum < 3; sum++) sums[sum] = fold_wide(wide[sum]);
    }
    if (at + 4 <= size) {
        f32x4 narrow[3] = {{sums[0]}, {sums[1]}, {sums[2]}};
        for (; at + 4 <= size; at += 4) f32x4_add(p, at, &narrow[0], &narrow[1], &narrow[2]);
        for (int sum = 0; sum < 3; sum++) sums[sum] = fold(narrow[sum]);
    }
    f32x1 single[3] = {{sums[0]}, {sums[1]}, {sums[2]}};
    for (; at < size; at++) f32x1_add(p, at, &single[0], &single[1], &single[2]);
    *gradient += single[1][0];
    *hessian += single[2][0];
    return single[0][0];
}

/* Add the pairs of the ranks from first to end, whose changes and weights are given; returns the sum of their
   |change| * loss. */
static double add_ranks(const struct lambda_gradients *a, const struct ranked *d, int64_t first, int64_t end,
                        double spread) {
    const float *change = a->pairs, *weight = a->pairs + a->queries.longest + PAIRS + STEP;
    bool is_wide = a->sigmoid * spread > 2.0 * WIDEST, damped = a->norm && spread > 0.0;
    double total = 0.0;
    for (int64_t rank = first; rank < end; rank++) {
        int64_t begin = d->below[rank], size = partners(d, rank);
        if (is_wide) relate(d, rank, a->sigmoid);
        struct pairs pairs = {
            .power = d->power + begin, .score = d->score + begin, .score_rest = d->score_rest + begin,
            .change = change, .weight = weight, .gradient = d->gradient + begin, .hessian = d->hessian + begin,
            .own_power = is_wide ? 1.0f : d->power[rank], .own_score = d->score[rank],
            .own_rest = d->score_rest[rank], .damped = damped};
        total += (double)add_pairs(pairs, size, d->gradient + rank, d->hessian + rank);
        change += size;
        weight += size;
    }
    return total;
}

/* Add all pairs of a query; returns the sum of their |change| * loss. */
static double add_query(const struct lambda_gradients *a, const struct ranked *d, int64_t number, double spread) {
    int64_t longest = a->queries.longest, last = d->count ? least(d->size - 1, a->truncation) : 0;
    float *change = a->pairs, *weight = a->pairs + longest + PAIRS + STEP;
    struct swaps swaps = {.metric = a->queries.metric, .size = d->size, .gain = d->gain, .discount = d->discount,
                          .rest = d->discount_rest, .one = a->sums, .two = a->sums + longest};
    double total = 0.0;
    prepare(&swaps);
    for (int64_t rank = 0, first = 0; rank < last; first = rank) {
        int64_t size = 0;
        for (; rank < last && size < PAIRS; size += partners(d, rank++))
            change_pairs(&swaps, rank, d->below[rank], partners(d, rank), change + size);
        while (size % STEP) change[size++] = 0.0f;
        weigh(&a->weights, number, change, weight, size);
        total += add_ranks(a, d, first, rank, spread);
    }
    for (int64_t index = 0; index < d->count; index++) {
        d->gradient[d->relevant[index]] += d->gradient[d->copies + index];
        d->hessian[d->relevant[index]] += d->hessian[d->copies + index];
    }
    return total;
}

/* Overwrite the gradients and hessians of the queries from first to end. Normalisation, as in LightGBM's lambdarank,
   uses the plain metric: the objective's weights must not be divided away again. */
SF_KERNEL(lambda_gradients) {
    struct ranked d = documents_in(a);
    struct query query;
    if (a->first < 0 || a->end > least(a->queries.count, a->weights.queries)) return SF_OUT_OF_RANGE;
    for (int64_t number = a->first; number < a->end; number++) {
        if (!find_query(&a->queries, a->order, number, &query)) return SF_OUT_OF_RANGE;
        if (query.size == 0) continue;
        double spread = by_rank(&d, &query, a->scores + query.begin, a->sigmoid);
        copy_relevant(&d, a->queries.metric);
        double total = add_query(a, &d, number, spread) * (2.0 * a->sigmoid);
        double scale = a->sigmoid * (a->norm && total > 0.0 ? sf_log2(1.0 + total) / total : 1.0);
        float of_gradient = (float)scale, of_hessian = (float)(scale * a->sigmoid);
        for (int64_t rank = 0; rank < d.size; rank++) {
            int64_t row = query.begin + query.order[rank];
            a->gradient[row] = d.gradient[rank] * of_gradient;
            a->hessian[row] = d.hessian[rank] * of_hessian;
        }
    }
    return 0;
}

/* Fill in change and weight of the pairs of the queries from first to end: cells of query, rank, lower rank. For loss
   functions that another library differentiates. */
SF_KERNEL(pair_weights) {
    const struct query_set *all = &a->queries;
    struct query query;
    if (a->first < 0 || a->end > least(all->count, a->weights.queries)) return SF_OUT_OF_RANGE;
    for (int64_t number = a->first; number < a->end; number++) {
        if (!find_query(all, a->order, number, &query)) return SF_OUT_OF_RANGE;
        for (int64_t rank = 0; rank < query.size; rank++) a->gain[rank] = (float)query.gains[query.order[rank]];
        struct swaps swaps = {.metric = all->metric, .size = query.size, .gain = a->gain, .discount = all->discounts,
                              .rest = all->discounts + all->longest, .one = a->sums, .two = a->sums + all->longest};
        prepare(&swaps);
        for (int64_t rank = 0; rank < least(query.size - 1, a->truncation); rank++) {
            int64_t cell = (number * all->longest + rank) * all->longest + rank + 1;
            change_pairs(&swaps, rank, rank + 1, query.size - rank - 1, a->change + cell);
            weigh(&a->weights, number, a->change + cell, a->weight + cell, query.size - rank - 1);
        }
    }
    return 0;
}
