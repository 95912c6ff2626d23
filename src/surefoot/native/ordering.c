/* Orders of documents by their scores: the best of each query along a line, and how far two orders differ. */
#include "surefoot.h"

/* Insert a value at or above a rank, and move smaller ones down. */
SF_INLINE void insert(double value, int64_t row, int64_t rank, double *best, int64_t *rows) {
    for (; rank > 0 && best[rank - 1] < value; rank--) {
        best[rank] = best[rank - 1];
        rows[rank] = rows[rank - 1];
    }
    best[rank] = value;
    rows[rank] = row;
}

/* Fill in the rows of the largest values, the largest first; returns how many there are. */
SF_INLINE int64_t top(const double *line, int64_t size, double *best, int64_t *rows, int64_t ranks) {
    int64_t found = least(ranks, size);
    for (int64_t row = 0; row < found; row++) insert(line[row], row, row, best, rows);
    for (int64_t row = found; row < size && found; row++)
        if (line[row] > best[found - 1]) insert(line[row], row, found - 1, best, rows);
    return found;
}

/* Fill in, for each query and step, the sum of discounted gains of the ranking by scores + step x column.

   The rows of a query are those between two bounds. As many ranks count as there are discounts. Of equal scores the
   earlier row comes first. line, best and rows are scratch space. */
SF_KERNEL(line_dcg) {
    for (int64_t query = 0; query < a->queries; query++) {
        int64_t first = a->bounds[query], last = a->bounds[query + 1];
        if (!are_bounds(a->items, first, last) || last - first > a->room) return SF_OUT_OF_RANGE;
        int64_t size = last - first;
        for (int64_t index = 0; index < a->step_count; index++) {
            double step = a->steps[index], total = 0.0, *restrict line = a->line;
            for (int64_t row = 0; row < size; row++)
                line[row] = a->scores[first + row] + step * (double)a->column[first + row];
            int64_t found = top(line, size, a->best, a->rows, a->ranks);
            for (int64_t rank = 0; rank < found; rank++)
                total += a->discounts[rank] * a->gains[first + a->rows[rank]];
            a->out[query * a->step_count + index] = total;
        }
    }
    return 0;
}

/* Sort rows by descending score, then ascending row, merging runs of doubling length; returns how many pairs were in
   another order. spare has as much room as rows. */
static int64_t sort_rows(int64_t *rows, int64_t *spare, int64_t size, const double *scores) {
    int64_t moved = 0, *from = rows, *into = spare;
    for (int64_t run = 1; run < size; run *= 2) {
        for (int64_t low = 0; low < size; low += 2 * run) {
            int64_t middle = least(low + run, size), high = least(low + 2 * run, size), left = low, right = middle;
            for (int64_t index = low; index < high; index++) {
                int64_t one = left < middle ? from[left] : -1, other = right < high ? from[right] : -1;
                bool is_one = other < 0 || (one >= 0 && (scores[one] > scores[other] ||
                                                         (scores[one] == scores[other] && one < other)));
                into[index] = is_one ? one : other;
                moved += is_one ? 0 : middle - left; /* it passes all that remain in the left run */
                left += is_one;
                right += !is_one;
            }
        }
        int64_t *swapped = from;
        from = into;
        into = swapped;
    }
    if (from != rows) memcpy(rows, from, (size_t)size * sizeof *rows);
    return moved;
}

/* Fill in, for each query, the fraction of pairs of documents that two sets of scores order differently; ties are ranked
   in the order of the rows. rows and spare are scratch space. */
SF_KERNEL(discordant_fractions) {
    for (int64_t query = 0; query < a->queries; query++) {
        int64_t begin = a->bounds[query], end = a->bounds[query + 1];
        if (!are_bounds(a->items, begin, end) || end - begin > a->room) return SF_OUT_OF_RANGE;
        int64_t size = end - begin, pairs = size * (size - 1) / 2;
        for (int64_t row = 0; row < size; row++) a->rows[row] = row;
        sort_rows(a->rows, a->spare, size, a->first + begin);
        int64_t differ = sort_rows(a->rows, a->spare, size, a->second + begin);
        a->fractions[query] = (double)differ / (double)(pairs > 1 ? pairs : 1);
    }
    return 0;
}
