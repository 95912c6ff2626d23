/* Sums over topics behind the risk measures, and resamples of topics.

   Sums have a fixed order: each of 4 or 8 lanes adds every 4th or 8th term, the lanes are folded in halves, and the
   terms that are left over are added one by one. */
#include "maths.h"
#include "surefoot.h"

enum { BLOCK = 2048 }; /* topics that are compared at a time: the innermost cache holds them */
enum { SUMS = 2, MOST_COUNTS = 3, MOST_COLUMNS = 3, MOST_LANES = 8 };

static const double LARGE_LOSS = 0.2 + 1e-9;

/* Computes the terms of two sums, and conditions that are counted, at as many topics as a vector has lanes. */
typedef void terms_of(const f64v *columns, f64v *parameters, f64v *terms, i64v *conditions);

SF_INLINE f64v where(i64v condition, f64v value) { return (f64v)(condition & (i64v)value); }

/* Fill in the sums of the terms over the topics, and how often the conditions hold. */
SF_INLINE void sum_terms(terms_of *of, int lanes, const double *const *columns, int width, int64_t topics,
                         f64v *parameters, double *sums, int counts, int64_t *count) {
    f64v part[SUMS][MOST_LANES / F64_LANES] = {0}, at[MOST_COLUMNS], term[SUMS];
    i64v held[MOST_COUNTS] = {0}, condition[MOST_COUNTS];
    int64_t topic = 0;
    for (; topic <= topics - lanes; topic += lanes)
        for (int vector = 0; vector < lanes / F64_LANES; vector++) {
            for (int column = 0; column < width; column++)
                at[column] = f64v_load(columns[column] + topic + vector * F64_LANES);
            of(at, parameters, term, condition);
            for (int sum = 0; sum < SUMS; sum++) part[sum][vector] += term[sum];
            for (int index = 0; index < counts; index++) held[index] -= condition[index];
        }
    for (int sum = 0; sum < SUMS; sum++) {
        double lane[MOST_LANES];
        memcpy(lane, part[sum], (size_t)lanes * sizeof *lane);
        for (int half = lanes / 2; half; half /= 2)
            for (int index = 0; index < half; index++) lane[index] += lane[index + half];
        sums[sum] = lane[0];
    }
    for (int index = 0; index < counts; index++) {
        count[index] = 0;
        for (int lane = 0; lane < F64_LANES; lane++) count[index] += held[index][lane];
    }
    for (; topic < topics; topic += F64_LANES) {
        int left = (int)least(topics - topic, F64_LANES);
        for (int column = 0; column < width; column++) {
            at[column] = f64v_all(0.0);
            memcpy(&at[column], columns[column] + topic, (size_t)left * sizeof(double));
        }
        of(at, parameters, term, condition);
        for (int lane = 0; lane < left; lane++) {
            for (int sum = 0; sum < SUMS; sum++) sums[sum] += term[sum][lane];
            for (int index = 0; index < counts; index++) count[index] -= condition[index][lane];
        }
    }
}

/* Replace numbers by larger absolute values. */
SF_INLINE void keep_larger(f64v *best, f64v value) {
    f64v size = (f64v)((i64v)value & INT64_MAX);
    *best = f64v_select(size > *best, size, *best);
}

/* Gains and losses of a system against its baseline; losses, wins and large losses are counted. The parameters become
   the largest absolute scores. */
SF_INLINE void difference_terms(const f64v *columns, f64v *parameters, f64v *terms, i64v *conditions) {
    f64v base = columns[1], d = columns[0] - base;
    for (int column = 0; column < 2; column++) keep_larger(&parameters[column], columns[column]);
    conditions[0] = d < 0.0;
    conditions[1] = d > 0.0;
    conditions[2] = (d < -LARGE_LOSS * base) & (base > 0.0);
    terms[0] = where(conditions[1], d);
    terms[1] = where(conditions[0], d);
}

/* Squared deviations of gains (including ties) and of losses from their means, which are the parameters. */
SF_INLINE void deviation_terms(const f64v *columns, f64v *parameters, f64v *terms, i64v *conditions) {
    (void)conditions;
    f64v d = columns[0] - columns[1], above = d - parameters[0], below = d - parameters[1];
    terms[0] = where(~(d < 0.0), above * above);
    terms[1] = where(d < 0.0, below * below);
}

/* (x - e) / sqrt(|T|) above and below 0, where e = share T; the columns are x, T and 1 / sqrt(|T|). */
SF_INLINE void z_terms(const f64v *columns, f64v *parameters, f64v *terms, i64v *conditions) {
    (void)conditions;
    f64v expected = parameters[0] * columns[1], z = (columns[0] - expected) * where(expected > 0.0, columns[2]);
    terms[0] = where(z > 0.0, z);
    terms[1] = where(z < 0.0, z);
}

/* Add count, mean and squared deviations of a sample to those of another (Chan, Golub and LeVeque 1983). */
static void add_moments(double *into, double n, double mean, double m2) {
    if (!(n > 0.0)) return;
    double total = into[0] + n, shift = mean - into[1];
    into[2] += m2 + shift * shift * (into[0] * n / total);
    into[1] = into[0] == 0.0 ? mean : into[1] + shift * n / total;
    into[0] = total;
}

/* Fill in the statistics of Comparison for each pair of rows; either side may have one row for all.

   Columns: count, mean and squared deviations of the gains (including ties), the same for the losses, the number of
   wins, the number of large losses, and the largest absolute score of both rows. */
SF_KERNEL(compare) {
    if (a->rows > 0 && (a->systems < 1 || a->baselines < 1)) return SF_OUT_OF_RANGE;
    for (int64_t row = 0; row < a->rows; row++) {
        double *found = a->found + 9 * row;
        memset(found, 0, 9 * sizeof *found);
        for (int64_t begin = 0; begin < a->topics; begin += BLOCK) {
            int64_t size = least(BLOCK, a->topics - begin);
            const double *pair[] = {a->system + least(row, a->systems - 1) * a->topics + begin,
                                    a->baseline + least(row, a->baselines - 1) * a->topics + begin};
            double sums[SUMS], squares[SUMS];
            f64v largest[2] = {0}, means[SUMS];
            int64_t counts[3];
            sum_terms(difference_terms, 4, pair, 2, size, largest, sums, 3, counts);
            double losses = (double)counts[0], gains = (double)(size - counts[0]);
            means[0] = f64v_all(sums[0] / (gains < 1.0 ? 1.0 : gains));
            means[1] = f64v_all(sums[1] / (losses < 1.0 ? 1.0 : losses));
            sum_terms(deviation_terms, 8, pair, 2, size, means, squares, 0, NULL);
            add_moments(found, gains, means[0][0], squares[0]);
            add_moments(found + 3, losses, means[1][0], squares[1]);
            found[6] += (double)counts[1];
            found[7] += (double)counts[2];
            keep_larger(&largest[0], largest[1]);
            for (int lane = 0; lane < F64_LANES; lane++)
                if (largest[0][lane] > found[8]) found[8] = largest[0][lane];
        }
    }
    return 0;
}

/* Fill in the sums of positive and of negative z of each row.

   z = (x - e) / sqrt(e) with e = share T; inverse_roots are 1 / sqrt(|T|). Where e is not above 0, z is 0. */
SF_KERNEL(sum_z) {
    for (int64_t row = 0; row < a->rows; row++) {
        const double *columns[] = {a->matrix + row * a->topics, a->totals, a->inverse_roots};
        f64v shares = f64v_all(a->shares[row]);
        double sums[SUMS], share = a->shares[row], factor = share != 0.0 ? 1.0 / sqrt(fabs(share)) : 0.0;
        sum_terms(z_terms, 8, columns, 3, a->topics, &shares, sums, 0, NULL);
        a->gains[row] = factor * sums[0];
        a->losses[row] = factor * sums[1];
    }
    return 0;
}

/* Fill in the weighted sums of positive and of negative z, for each row and resample whose root_share is above 0.

   With T the column totals, scaled = x / sqrt(T), root = sqrt(T) and root_share = sqrt(S / N):
   z = (x - e) / sqrt(e) = scaled / root_share - root_share root. */
SF_KERNEL(weighted_z) {
    for (int64_t resample = 0; resample < a->resamples; resample++)
        for (int64_t row = 0; row < a->rows; row++) {
            int64_t at = row * a->resamples + resample;
            const double *weights = a->weights + resample * a->topics, *scaled = a->scaled + row * a->topics;
            double own = a->root_share[at], inverse = 1.0 / own, gain = 0.0, loss = 0.0;
            if (!(own > 0.0)) continue;
            for (int64_t topic = 0; topic < a->topics; topic++) {
                double z = weights[topic] * (scaled[topic] * inverse - own * a->root[topic]);
                gain += z < 0.0 ? 0.0 : z;
                loss += z > 0.0 ? 0.0 : z;
            }
            a->gains[at] = gain;
            a->losses[at] = loss;
        }
    return 0;
}

/* Add to the weights how often each resample draws each topic. */
SF_KERNEL(count_draws) {
    const int64_t topics = a->topics;
    for (int64_t resample = 0; resample < a->resamples; resample++) {
        const int32_t *drawn = a->drawn + resample * topics;
        double *weights = a->weights + resample * topics;
        for (int64_t draw = 0; draw < topics; draw++) {
            if (SF_UNLIKELY((uint64_t)drawn[draw] >= (uint64_t)topics)) return SF_OUT_OF_RANGE;
            weights[drawn[draw]] += 1.0;
        }
    }
    return 0;
}
