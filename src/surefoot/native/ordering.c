/* The best documents of each query along a line of scores. */
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
    for (int64_t row = 0; row < size && found; row++)
        if (row < found || line[row] > best[found - 1]) insert(line[row], row, least(row, found - 1), best, rows);
    return found;
}

/* Fill in, for each query and step, the sum of discounted gains of the ranking by scores + step x column.

   The rows of a query are those between two bounds. Only as many ranks count as there are discounts. Ties rank by row.
   line, best and rows are scratch space. */
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
