/* The table of kernels: the arguments of each, which the C files and the binding (__init__.py) both read.

   A kernel NAME takes a pointer to its struct NAME. Python passes the fields in this order, without the sizes, which
   the binding fills in: SIZE(rows, topics) is the shape of an array, and a field named rows its length. A kernel
   overwrites arrays that are not const. A field is a pointer, int64_t, double, or a struct of such fields, for which
   Python passes a tuple; its sizes are written as SIZE(run.topics) in other structs. An int64_t ONE_OF(form) is passed
   as the word after form_ in that enum. */
#ifndef SUREFOOT_KERNELS_H
#define SUREFOOT_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE(...)
#define ONE_OF(name)

/* An effectiveness measure: a sum of discounted gains (P, R, nDCG, RBP), a sum over pairs of relevant documents (AP), or
   a cascade, in which a gain is the probability that the user stops (ERR, RR). Gains are divided by the scale. */
enum form { form_sum, form_pairs, form_cascade };
enum gain { gain_binary, gain_linear, gain_exponential };
enum discount { discount_none, discount_log2, discount_reciprocal, discount_geometric };
enum norm { norm_none, norm_cutoff, norm_ideal, norm_relevant };

struct measure {
    int64_t form ONE_OF(form);
    int64_t gain ONE_OF(gain);
    int64_t discount ONE_OF(discount);
    int64_t norm ONE_OF(norm);
    int64_t cutoff;
    double rel;
    double persistence;
    double scale;
};

/* ranking.c */
struct measure_ranking {
    struct measure measure;
    const double *grades SIZE(ranks);
    const double *judged SIZE(documents);
    double *value SIZE(1);
    int64_t ranks, documents;
};

struct measure_both {
    struct measure measure;
    const int64_t *own SIZE(own_ranks);
    const int64_t *base SIZE(base_ranks);
    const int64_t *grades SIZE(assignments, documents);
    const int64_t *rest SIZE(assignments, levels);
    double *judged SIZE(judged_room);
    double *ranked SIZE(ranked_room);
    double *values SIZE(2, assignments);
    int64_t own_ranks, base_ranks, assignments, documents, levels, judged_room, ranked_room;
};

/* resampling.c */
struct count_draws {
    const int32_t *drawn SIZE(resamples, topics);
    double *weights SIZE(resamples, topics);
    int64_t resamples, topics;
};

/* distributions.c */
struct expf {
    const float *x SIZE(size);
    float *out SIZE(size);
    int64_t size;
};

struct exp {
    const double *x SIZE(size);
    double *out SIZE(size);
    int64_t size;
};

struct exp2 {
    const double *x SIZE(size);
    double *out SIZE(size);
    int64_t size;
};

struct log2 {
    const double *x SIZE(size);
    double *out SIZE(size);
    int64_t size;
};

/* lambdas.c, swaps.c */
enum metric { metric_ndcg, metric_map, metric_mrr, metric_err };
enum weighing { weighing_factor, weighing_line, weighing_step, weighing_cubic, weighing_t, weighing_georisk };

/* The documents of query q are the rows from bounds[q] to bounds[q + 1]; an order has, within these, offsets from the
   first by rank. A gain is what a document contributes to its metric: for NDCG (2^label - 1) / ideal DCG; for AP and RR
   whether it is relevant; for ERR the chance that it satisfies, (2^label - 1) / 2^highest label. The discount of a rank
   is a float and its remainder. */
struct query_set {
    const int64_t *bounds SIZE(count + 1);
    const double *gains SIZE(rows);
    const float *discounts SIZE(2, longest);
    int64_t metric ONE_OF(metric);
    int64_t count, rows, longest;
};

/* How an objective turns changes of the metric into weights: parameters of each query, and of all. */
struct objective {
    int64_t form ONE_OF(weighing);
    const float *per_query SIZE(queries, 8);
    const float *shared SIZE(9);
    int64_t queries;
};

struct rank_queries {
    struct query_set queries;
    const double *scores SIZE(queries.rows);
    int32_t *order SIZE(queries.rows);
    double *values SIZE(queries.count);
    int64_t first, end;
};

struct measure_queries {
    struct query_set queries;
    const int32_t *order SIZE(queries.rows);
    double *values SIZE(queries.count);
};

struct lambda_gradients {
    struct query_set queries;
    const double *scores SIZE(queries.rows);
    const int32_t *order SIZE(queries.rows);
    struct objective weights;
    int64_t truncation;
    double sigmoid;
    int64_t norm, first, end;
    float *documents SIZE(16, queries.longest);
    int64_t *ranks SIZE(2, queries.longest);
    float *pairs SIZE(2, queries.longest + 520);
    double *sums SIZE(2, queries.longest);
    float *gradient SIZE(queries.rows);
    float *hessian SIZE(queries.rows);
};

struct pair_weights {
    struct query_set queries;
    const int32_t *order SIZE(queries.rows);
    struct objective weights;
    int64_t truncation, first, end;
    float *gain SIZE(queries.longest);
    double *sums SIZE(2, queries.longest);
    float *change SIZE(queries.count, queries.longest, queries.longest);
    float *weight SIZE(queries.count, queries.longest, queries.longest);
};

struct change_weights {
    struct objective weights;
    const float *changes SIZE(weights.queries, steps);
    float *out SIZE(weights.queries, steps);
    int64_t steps;
};

#endif
