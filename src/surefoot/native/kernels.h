/* The table of kernels: the arguments of each, which the C files and the binding (__init__.py) both read.

   A kernel NAME takes a pointer to its struct NAME. Python passes the fields in this order, without the sizes, which
   the binding fills in: SIZE(rows, topics) is the shape of an array, and a field named rows has its length. A kernel
   overwrites arrays that are not const. A field is a pointer, int64_t, double, or a struct of such fields, for which
   Python passes a tuple; other structs write its sizes as SIZE(run.topics). native.records makes an array of structs.
   Python passes an int64_t ONE_OF(form) as the word after form_ in that enum. Neighbours of one type and shape are
   declared together. KERNELS(sample, mean, median) says that the kernels mean and median take a struct sample. */
#ifndef SUREFOOT_KERNELS_H
#define SUREFOOT_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#define SIZE(...)
#define ONE_OF(name)
#define KERNELS(...)

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
    double rel, persistence, scale;
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

/* tokens.h: ids in the bytes of a text, by start, length and hash. */
struct text {
    const uint8_t *bytes SIZE(size);
    int64_t size;
};

struct ranges {
    struct text text;
    const int64_t *start SIZE(count);
    const int32_t *length SIZE(count);
    int64_t count;
};

struct tokens {
    struct text text;
    const int64_t *start SIZE(count);
    const int32_t *length SIZE(count);
    const uint64_t *codes SIZE(count);
    int64_t count;
};

/* tokens.c: the key of hashes; a factor of 0 asks for fingerprints. */
struct key {
    int64_t start, factor;
};

struct hash_tokens {
    struct ranges tokens;
    struct key key;
    uint64_t *codes SIZE(tokens.count);
};

struct number_tokens {
    struct tokens tokens;
    const int64_t *bounds SIZE(groups + 1);
    const int64_t *tables SIZE(groups, 2);
    int32_t *slots SIZE(room);
    int32_t *number SIZE(tokens.count);
    int64_t *first SIZE(tokens.count);
    int64_t groups, room;
};

struct gather_tokens {
    struct ranges tokens;
    uint8_t *out SIZE(room);
    int64_t room;
};

/* trec.c: documents in the order of their lines, with scores or grades; blocks of lines of one topic. */
struct documents {
    int64_t *start SIZE(count);
    int32_t *length SIZE(count);
    uint64_t *codes SIZE(count);
    double *numbers SIZE(count);
    int64_t count;
};

struct blocks {
    int64_t *start SIZE(room);
    int32_t *length SIZE(room);
    int64_t *line SIZE(room);
    int64_t room;
};

struct parse_trec {
    struct text text;
    struct key key;
    int64_t at, is_run;
    struct documents documents;
    struct blocks blocks;
    int64_t *found SIZE(3);
};

struct scan {
    struct text text;
    int64_t at;
    int64_t *found SIZE(3);
};
KERNELS(scan, count_lines, other_tag)

struct rank_topics {
    struct text text;
    const int64_t *bounds SIZE(topics + 1);
    struct documents documents;
    int32_t *order SIZE(spare.count);
    struct documents spare;
    int64_t topics;
};

struct write_run {
    struct ranges documents;
    const int64_t *scores SIZE(documents.count);
    const int64_t *bounds SIZE(topics + 1);
    const uint8_t *heads SIZE(head_bytes);
    const int64_t *head_bounds SIZE(topics + 1);
    const uint8_t *tag SIZE(tag_bytes);
    int64_t separator;
    uint8_t *out SIZE(room);
    int64_t topics, head_bytes, tag_bytes, room;
};

/* letor.c: problems of a line (open: a value that only Python can parse); for each line its label, the start, the stop
   and the number of its features, and its document id. */
enum problem { problem_none, problem_label, problem_query, problem_feature, problem_value, problem_twice, problem_open };

struct rows {
    float *labels SIZE(count);
    int64_t *start, *stop SIZE(count);
    int32_t *pairs SIZE(count);
    int64_t *document SIZE(count);
    int32_t *document_size SIZE(count);
    int64_t count;
};

struct parse_letor {
    struct text text;
    int64_t at;
    struct rows rows;
    struct blocks blocks;
    int64_t *found SIZE(5);
};

struct read_features {
    struct text text;
    int64_t row, end;
    struct rows rows;
    const int64_t *target SIZE(rows.count);
    int64_t first;
    float *matrix SIZE(matrix_rows, columns);
    const int64_t *bounds SIZE(bounds_size);
    int32_t *indices SIZE(room);
    float *values SIZE(room);
    int64_t *open_pairs SIZE(open_room, 2);
    int64_t *found SIZE(5);
    int64_t matrix_rows, columns, bounds_size, room, open_room;
};

/* ranking.c: runs against qrels. topic_of is the index in the qrels of each topic of a run, or negative; first is where
   the grades of the topic begin. */
struct look_up {
    struct tokens run;
    const int64_t *bounds SIZE(topics + 1);
    const int64_t *topic_of, *first SIZE(topics);
    struct tokens qrels;
    const double *judged SIZE(qrels.count);
    const int64_t *tables SIZE(judged_topics, 2);
    const int32_t *slots SIZE(table_slots);
    int64_t depth, skip;
    double *grades SIZE(room);
    int64_t *sizes SIZE(topics);
    int64_t topics, judged_topics, table_slots, room;
};

struct ranked_topics {
    const int64_t *topic_of, *first, *sizes SIZE(topics);
    const double *grades SIZE(room);
    int64_t topics, room;
};

struct judged_fractions {
    struct ranked_topics run;
    const int64_t *cutoffs SIZE(rows);
    double *fractions SIZE(rows, judged_topics);
    int64_t rows, judged_topics;
};

struct measure_topics {
    struct ranked_topics run;
    const struct measure *measures SIZE(rows);
    const int64_t *bounds SIZE(judged_topics + 1);
    const double *judged SIZE(documents);
    double *values SIZE(rows, judged_topics);
    int64_t rows, judged_topics, documents;
};

/* distributions.c */
struct elementwise {
    const double *x SIZE(size);
    double *out SIZE(size);
    int64_t size;
};
KERNELS(elementwise, expf, exp, exp2, log2, normal_cdf, logistic, logit)

struct student_p {
    const double *t, *df SIZE(size);
    double *out SIZE(size);
    int64_t size;
};

struct beta {
    const double *a, *b, *x SIZE(size);
    double *out SIZE(size);
    int64_t size;
};
KERNELS(beta, beta_cdf, beta_logit)

/* risk.c */
struct count_draws {
    const int32_t *drawn SIZE(resamples, topics);
    double *weights SIZE(resamples, topics);
    int64_t resamples, topics;
};

struct compare {
    const double *system SIZE(systems, topics);
    const double *baseline SIZE(baselines, topics);
    double *found SIZE(rows, 9);
    int64_t systems, baselines, rows, topics;
};

struct sum_z {
    const double *matrix SIZE(rows, topics);
    const double *shares SIZE(rows);
    const double *totals, *inverse_roots SIZE(topics);
    double *gains, *losses SIZE(rows);
    int64_t rows, topics;
};

struct weighted_z {
    const double *weights SIZE(resamples, topics);
    const double *scaled SIZE(rows, topics);
    const double *root SIZE(topics);
    const double *root_share SIZE(rows, resamples);
    double *gains, *losses SIZE(rows, resamples);
    int64_t resamples, rows, topics;
};

/* ordering.c */
struct line_dcg {
    const double *scores SIZE(items);
    const float *column SIZE(items);
    const double *steps SIZE(step_count);
    const double *gains SIZE(items);
    const double *discounts SIZE(ranks);
    const int64_t *bounds SIZE(queries + 1);
    double *line SIZE(room);
    double *best SIZE(ranks);
    int64_t *rows SIZE(ranks);
    double *out SIZE(queries, step_count);
    int64_t items, step_count, ranks, queries, room;
};

/* lambdas.c, swaps.h */
enum metric { metric_ndcg, metric_map, metric_mrr, metric_err };
enum weighing { weighing_factor, weighing_line, weighing_step, weighing_cubic, weighing_t, weighing_georisk };

/* The documents of query q are the rows from bounds[q] to bounds[q + 1]; an order has their offsets from the first, by
   rank. A gain is the contribution of a document to its metric: for NDCG (2^label - 1) / ideal DCG; for AP and RR
   whether it is relevant; for ERR the probability that it satisfies, (2^label - 1) / 2^highest label. The discount of a
   rank is a float and its remainder. */
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
    int64_t is_ranked;
    double *values SIZE(queries.count);
    int64_t first, end;
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
    float *gradient, *hessian SIZE(queries.rows);
};

struct pair_weights {
    struct query_set queries;
    const int32_t *order SIZE(queries.rows);
    struct objective weights;
    int64_t truncation, first, end;
    float *gain SIZE(queries.longest);
    double *sums SIZE(2, queries.longest);
    float *change, *weight SIZE(queries.count, queries.longest, queries.longest);
};

/* delimited.c */
struct split_rows {
    struct text text;
    int64_t at, separator, is_quoted;
    int64_t *start SIZE(room, width);
    int32_t *length SIZE(room, width);
    int64_t *found SIZE(2);
    int64_t room, width;
};

struct read_numbers {
    struct ranges cells;
    double *values SIZE(cells.count);
};

struct trim_tokens {
    struct text text;
    int64_t *start SIZE(count);
    int32_t *length SIZE(count);
    int64_t count;
};

#endif
