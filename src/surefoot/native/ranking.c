/* Effectiveness measures of rankings.

   A measure is a function of the grades of the ranked documents and of those of all judged documents, highest first.
   Documents without judgment have a grade below every other. Grades below 1 have no gain, or those below rel. */
#include "maths.h"
#include "surefoot.h"
#include "tokens.h"

static const double UNJUDGED = -0x1p31;

SF_INLINE double gain_of(const struct measure *measure, double grade) {
    if (measure->gain == gain_binary) return grade >= measure->rel ? 1.0 : 0.0;
    if (!(grade > 0.0)) return 0.0;
    return measure->gain == gain_linear ? grade : sf_exp2(grade) - 1.0;
}

/* The gain at a rank, which is counted from 0; weight is that of a geometric discount there. */
SF_INLINE double discounted(const struct measure *measure, double gain, int64_t rank, double weight) {
    switch (measure->discount) {
    case discount_log2: return gain / sf_log2((double)rank + 2.0);
    case discount_reciprocal: return gain / (double)(rank + 1);
    case discount_geometric: return gain * weight;
    default: return gain;
    }
}

/* A sum of discounted gains; in a cascade a gain counts with the probability that the user has not stopped before. */
static double sum_of(const struct measure *measure, const double *grades, int64_t depth) {
    double value = 0.0, goes_on = 1.0, weight = (1.0 - measure->persistence) / measure->scale;
    for (int64_t rank = 0; rank < depth; rank++) {
        double gain = gain_of(measure, grades[rank]);
        if (gain > 0.0 && measure->form == form_cascade) {
            double stops = gain / measure->scale;
            value += discounted(measure, goes_on * stops, rank, weight);
            goes_on *= 1.0 - stops;
            if (goes_on == 0.0) break;
        } else if (gain > 0.0)
            value += discounted(measure, gain, rank, weight);
        if (measure->discount == discount_geometric) weight *= measure->persistence;
    }
    return value;
}

/* Sum of the precisions at the ranks of relevant documents. */
static double pairs_of(const struct measure *measure, const double *grades, int64_t depth) {
    double value = 0.0;
    int64_t found = 0;
    for (int64_t rank = 0; rank < depth; rank++)
        if (grades[rank] >= measure->rel) value += (double)++found / (double)(rank + 1);
    return value;
}

/* The value of a measure; 0 if nothing is relevant. */
static double value_of(const struct measure *measure, const double *grades, int64_t ranks, const double *judged,
                       int64_t documents) {
    int64_t depth = least(ranks, measure->cutoff), relevant = 0;
    double value = (measure->form == form_pairs ? pairs_of : sum_of)(measure, grades, depth);
    if (measure->norm == norm_none || value == 0.0) return value;
    if (measure->norm == norm_cutoff) return value / (double)measure->cutoff;
    if (measure->norm == norm_ideal) {
        double best = sum_of(measure, judged, least(documents, measure->cutoff));
        return best > 0.0 ? value / best : 0.0;
    }
    while (relevant < documents && judged[relevant] >= measure->rel) relevant++;
    return relevant ? value / (double)relevant : 0.0;
}

/* Fill in the value of one ranking. */
SF_KERNEL(measure_ranking) {
    a->value[0] = value_of(&a->measure, a->grades, a->ranks, a->judged, a->documents);
    return 0;
}

/* Fill in the value of a ranking of documents under one assignment of grades to them; false if one has none. */
static bool measure_assigned(const struct measure_both *a, const int64_t *ranking, int64_t ranks, const int64_t *grades,
                             int64_t judged, double *value) {
    if (ranks > a->ranked_room) return false;
    for (int64_t index = 0; index < ranks; index++) {
        if (ranking[index] < 0 || ranking[index] >= a->documents) return false;
        a->ranked[index] = (double)grades[ranking[index]];
    }
    *value = value_of(&a->measure, a->ranked, ranks, a->judged, judged);
    return true;
}

/* Fill in the values of two rankings under each assignment of grades to their documents.

   own and base are the ranked documents of either, as indices of the columns of grades. rest counts the other judged
   documents of each grade. judged and ranked are scratch space. */
SF_KERNEL(measure_both) {
    for (int64_t row = 0; row < a->assignments; row++) {
        const int64_t *grades = a->grades + row * a->documents;
        int64_t filled = 0;
        for (int64_t level = a->levels - 1; level >= 0; level--) {
            int64_t count = a->rest[row * a->levels + level];
            for (int64_t document = 0; document < a->documents; document++) count += grades[document] == level;
            if (count < 0 || count > a->judged_room - filled) return SF_OUT_OF_RANGE;
            for (int64_t index = 0; index < count; index++) a->judged[filled++] = (double)level;
        }
        if (!measure_assigned(a, a->own, a->own_ranks, grades, filled, &a->values[row]) ||
            !measure_assigned(a, a->base, a->base_ranks, grades, filled, &a->values[a->assignments + row]))
            return SF_OUT_OF_RANGE;
    }
    return 0;
}

/* Fill in the grades of the first documents of each topic, down to a depth, and their number; skip leaves out unjudged
   documents. The documents of a topic are those between two bounds; tables[topic] has the first slot and the size of the
   hash table of its judged documents. */
SF_KERNEL(look_up) {
    for (int64_t topic = 0; topic < a->topics; topic++) {
        int64_t judged = a->topic_of[topic], begin = a->bounds[topic], end = a->bounds[topic + 1], count = 0;
        a->sizes[topic] = 0;
        if (judged < 0) continue;
        if (judged >= a->judged_topics || !are_bounds(a->run.count, begin, end)) return SF_OUT_OF_RANGE;
        const int64_t *table = a->tables + 2 * judged;
        if (!is_table(a->table_slots, table[0], table[1]) ||
            !is_within(a->room, a->first[topic], least(a->depth, end - begin)))
            return SF_OUT_OF_RANGE;
        double *grades = a->grades + a->first[topic];
        const int32_t *slots = a->slots + table[0];
        for (int64_t item = begin; item < end && count < a->depth; item++) {
            if (SF_UNLIKELY(!is_token(&a->run, item))) return SF_OUT_OF_RANGE;
            int64_t slot = find(slots, table[1], &a->run, item, &a->qrels);
            int64_t key = slot < 0 ? EMPTY : slots[slot];
            if (key >= 0 && key < a->qrels.count)
                grades[count++] = a->judged[key];
            else if (!a->skip)
                grades[count++] = UNJUDGED;
        }
        a->sizes[topic] = count;
    }
    return 0;
}

/* Whether the grades of a topic, and its topic of the qrels, are within their arrays. */
SF_INLINE bool is_ranked(const struct ranked_topics *run, int64_t topic, int64_t judged_topics) {
    return run->topic_of[topic] < judged_topics && is_within(run->room, run->first[topic], run->sizes[topic]);
}

/* Fill in the fractions of the first documents that are judged, down to each cutoff, for the topics that a run has. */
SF_KERNEL(judged_fractions) {
    for (int64_t topic = 0; topic < a->run.topics; topic++) {
        if (a->run.topic_of[topic] < 0) continue;
        if (!is_ranked(&a->run, topic, a->judged_topics)) return SF_OUT_OF_RANGE;
        const double *grades = a->run.grades + a->run.first[topic];
        for (int64_t row = 0; row < a->rows; row++) {
            int64_t depth = least(a->run.sizes[topic], a->cutoffs[row]), known = 0;
            for (int64_t rank = 0; rank < depth; rank++) known += grades[rank] != UNJUDGED;
            a->fractions[row * a->judged_topics + a->run.topic_of[topic]] = (double)known / (double)depth;
        }
    }
    return 0;
}

/* Fill in the values of each topic that a run has. */
SF_KERNEL(measure_topics) {
    for (int64_t topic = 0; topic < a->run.topics; topic++) {
        int64_t judged = a->run.topic_of[topic];
        if (judged < 0) continue;
        if (!is_ranked(&a->run, topic, a->judged_topics) ||
            !are_bounds(a->documents, a->bounds[judged], a->bounds[judged + 1]))
            return SF_OUT_OF_RANGE;
        for (int64_t row = 0; row < a->rows; row++)
            a->values[row * a->judged_topics + judged] =
                value_of(&a->measures[row], a->run.grades + a->run.first[topic], a->run.sizes[topic],
                         a->judged + a->bounds[judged], a->bounds[judged + 1] - a->bounds[judged]);
    }
    return 0;
}
