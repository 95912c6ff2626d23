/* What ranking, swaps and gradients share. */
#ifndef SUREFOOT_LAMBDAS_H
#define SUREFOOT_LAMBDAS_H

#include "surefoot.h"

struct query {
    const double *gains;
    const int32_t *order;
    int64_t begin, size;
};

/* Gains and discounts by rank, and sums over ranks by which a change takes a few operations. AP: what a document
   contributes only by its rank (one), the relevant ones so far (two), and all of them (first). RR: the ranks of the
   first two relevant documents. ERR: the chance to get as far as each rank (one), and the metric down to it (two). */
struct swaps {
    int64_t metric, size;
    const float *gain, *discount, *rest;
    double *one, *two, first, second;
};

#define find_query SF_NAME(find_query)
#define prepare SF_NAME(prepare)
#define change_pairs SF_NAME(change_pairs)
#define weigh SF_NAME(weigh)

/* The documents of a query; false if they or their order are out of range. */
bool find_query(const struct query_set *all, const int32_t *order, int64_t number, struct query *found);

/* Fill in the sums over ranks. */
void prepare(struct swaps *swaps);

/* Fill in the change of the metric for swaps of a rank with others below it, from begin on; for metrics but NDCG these
   are all. A change is positive if the ranking would be better. */
void change_pairs(const struct swaps *swaps, int64_t rank, int64_t begin, int64_t size, float *change);

/* Fill in the weights of changes of the metric of a query. */
void weigh(const struct objective *weights, int64_t query, const float *change, float *weight, int64_t size);

#endif
