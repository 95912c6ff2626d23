/* LETOR lines, in two passes over chunks of whole lines that threads process in parallel.

   The first pass finds labels, queries, document ids and where the features of each line are, so that the second can
   write every value directly to its cell. */
#include "tokens.h"

enum { MOST_FEATURES = 10000000, LARGEST_LABEL = 1 << 24, FAST_REACH = 32 }; /* FAST_REACH: bytes short_pair may read */

static const uint64_t LOW_BITS = 0x7F7F7F7F7F7F7F7Fu, QID = 0x3A646971u, DOCID = 0x6469636F64u;

/* Marks the bytes of a word that equal a byte by their high bits. */
SF_INLINE uint64_t mark_equal(uint64_t word, uint8_t byte) {
    uint64_t other = word ^ (byte * EACH_BYTE);
    return ~(((other & LOW_BITS) + LOW_BITS) | other | LOW_BITS);
}

SF_INLINE int64_t count_marked(uint64_t marked) { return (int64_t)(((marked >> 7) * EACH_BYTE) >> 56); }

/* Where the features of a line end, at its comment or its last byte; adds the number of their colons. */
SF_INLINE int64_t features_end(struct text text, int64_t at, int64_t *colons) {
    for (; at <= text.size - 8; at += 8) {
        uint64_t word = word_at(text, at), stop = mark_equal(word, '\n') | mark_equal(word, '#');
        uint64_t found = mark_equal(word, ':');
        if (stop) {
            *colons += count_marked(found & (stop ^ (stop - 1)));
            return at + first_marked(stop);
        }
        *colons += count_marked(found);
    }
    for (; at < text.size && text.bytes[at] != '\n' && text.bytes[at] != '#'; at++) *colons += text.bytes[at] == ':';
    return at;
}

/* The label that a token stands for, or -1. */
SF_INLINE double label_of(struct text text, int64_t at, int64_t end) {
    double number = SF_NAME(parse_number)(text, at, end);
    return number >= 0 && number <= LARGEST_LABEL && number == (double)(int64_t)number ? number : -1.0;
}

/* Start and end of the document id in the comment that begins here: what follows docid, or the first word. */
SF_INLINE int64_t document_of(struct text text, int64_t at, int64_t *end) {
    *end = at;
    if (!is_at(text, at, '#')) return at;
    while (is_at(text, at, '#')) at++;
    int64_t first = at = skip_blanks(text, at);
    while (at < text.size && text.bytes[at] != '\n') {
        if (at + 5 < text.size && small_letters(text, at, 5) == DOCID) {
            int64_t sign = skip_blanks(text, at + 5);
            if (is_at(text, sign, '=') || is_at(text, sign, ':')) {
                first = skip_blanks(text, sign + 1);
                break;
            }
        }
        int64_t behind = token_end(text, at);
        at = skip_blanks(text, behind > at ? behind : at + 1);
    }
    *end = token_end(text, first);
    return first;
}

/* Widen a range of features by the numbers before the first and the last colon of a line, which has one. */
SF_INLINE void widen(struct text text, int64_t at, int64_t end, int64_t *lowest, int64_t *highest) {
    int64_t first = 0, last = 0, power = 1;
    for (; at < end && is_digit(text.bytes[at]) && first < MOST_FEATURES; at++)
        first = first * 10 + (text.bytes[at] - '0');
    for (end--; end > at && text.bytes[end] != ':';) end--;
    for (; end > 0 && is_digit(text.bytes[end - 1]) && power <= MOST_FEATURES; power *= 10)
        last += power * (text.bytes[--end] - '0');
    *lowest = least(*lowest, first);
    if (first > *highest) *highest = first;
    if (last > *highest) *highest = last;
}

/* Fill in the rows of the lines from an offset on, and the blocks of lines of one query.

   found is the number of rows and of blocks, the lowest and the highest feature if each line has its features in order,
   and the offset of the problem that is returned. */
SF_KERNEL(parse_letor) {
    if (a->at < 0 || a->at > a->text.size) return SF_OUT_OF_RANGE;
    const struct rows *rows = &a->rows;
    struct text text = a->text;
    int64_t row = 0, block = 0, lowest = 1, highest = 0, at = a->at, problem = problem_none;
    while (!problem && (at = next_line(text, at)) < text.size) {
        if (SF_UNLIKELY(row == rows->count)) return SF_OUT_OF_RANGE;
        int64_t label_end = token_end(text, at), name = skip_blanks(text, label_end) + 4, name_end = name;
        double label = label_end > at ? label_of(text, at, label_end) : -1.0;
        while (name_end < text.size && text.bytes[name_end] > ' ' && text.bytes[name_end] != '#') name_end++;
        int64_t size = name_end - name, start = skip_blanks(text, name_end), pairs = 0;
        if (label < 0)
            problem = problem_label;
        else if (name >= text.size || size == 0 || size > INT32_MAX || short_word(text, name - 4, 4) != QID)
            problem = problem_query, at = name - 4;
        if (problem) break;
        if (SF_UNLIKELY(!add_to_block(&a->blocks, &block, text, name, size, row))) return SF_OUT_OF_RANGE;
        at = features_end(text, start, &pairs);
        if (pairs > 0) widen(text, start, at, &lowest, &highest);
        int64_t document_end, document = document_of(text, at, &document_end);
        if (pairs > INT32_MAX || document_end - document > INT32_MAX) problem = problem_feature;
        rows->labels[row] = (float)label;
        rows->start[row] = start, rows->stop[row] = at, rows->pairs[row] = (int32_t)pairs;
        rows->document[row] = document, rows->document_size[row] = (int32_t)(document_end - document);
        row++;
    }
    a->found[0] = row, a->found[1] = block, a->found[2] = lowest, a->found[3] = highest, a->found[4] = at;
    return problem;
}

/* Where the token that begins here ends, if it has at most 15 bytes; else here. */
SF_INLINE int64_t near_end(struct text text, int64_t at) {
    uint64_t low = mark_low(word_at(text, at)), next_low = mark_low(word_at(text, at + 8));
    int64_t end = low ? at : at + 8;
    low = low ? low : next_low;
    return low ? end + first_marked(low) : at;
}

/* How many digits a word begins with, at most 7. */
SF_INLINE int64_t leading_digits(uint64_t word) {
    uint64_t digits = word ^ ('0' * EACH_BYTE);
    return first_marked((((digits + 0x76 * EACH_BYTE) | digits) & HIGH_BITS) | (uint64_t)1 << 63);
}

/* The number that the first digits of a word stand for, at most 7: neighbours are joined three times. */
SF_INLINE uint64_t whole_number(uint64_t word, int64_t size) {
    const uint64_t pairs = 0x000000FF000000FFu;
    uint64_t digits = ((word ^ ('0' * EACH_BYTE)) << (56 - 8 * size)) << 8;
    digits = digits * 10 + (digits >> 8);
    uint64_t odd = (digits & pairs) * (100 + ((uint64_t)1000000 << 32));
    uint64_t even = ((digits >> 16) & pairs) * (1 + ((uint64_t)10000 << 32));
    return (odd + even) >> 32;
}

struct pair {
    int64_t end, feature;
    double value;
};

/* Whether a pair is as short as 17:-0.471076, and if so its feature and value, without branches.

   Seven digits before and after the point make a mantissa below 2^53, so that one division rounds as Python does. */
SF_INLINE bool short_pair(struct text text, int64_t at, struct pair *pair) {
    static const uint64_t powers[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    static const double signs[2] = {1.0, -1.0};
    uint64_t word = word_at(text, at);
    int64_t size = leading_digits(word);
    pair->feature = (int64_t)whole_number(word, size);
    at += size;
    bool fits = (size > 0) & (text.bytes[at] == ':');
    int64_t negative = text.bytes[at + 1] == '-';
    at += 1 + negative;
    word = word_at(text, at);
    size = leading_digits(word);
    fits &= size > 0;
    uint64_t whole = whole_number(word, size);
    at += size;
    int64_t point = text.bytes[at] == '.';
    at += point;
    word = word_at(text, at);
    size = leading_digits(word) * point;
    uint64_t mantissa = whole * powers[size] + whole_number(word, size);
    pair->value = (double)(int64_t)mantissa / TENS[size] * signs[negative];
    return fits & (at + size == pair->end);
}

/* Find end, feature and value of any pair; returns its problem. */
static int64_t any_pair(struct text text, int64_t at, int64_t stop, struct pair *pair) {
    int64_t end = least(token_end(text, at), stop), cursor = at, feature = 0;
    for (; cursor < end && is_digit(text.bytes[cursor]) && feature <= MOST_FEATURES; cursor++)
        feature = feature * 10 + (text.bytes[cursor] - '0');
    *pair = (struct pair){end, feature, NAN};
    if (cursor == at || cursor == end || text.bytes[cursor] != ':' || feature > MOST_FEATURES) return problem_feature;
    int64_t size = end - ++cursor;
    if (size == 0) return problem_value;
    uint64_t word = size <= 4 ? small_letters(text, cursor, size) : 0;
    if (word == NULL_ || word == NOT_A || word == NA) return problem_none;
    pair->value = SF_NAME(parse_number)(text, cursor, end);
    if (isnan(pair->value)) return problem_open;
    return isinf((float)pair->value) ? problem_value : problem_none;
}

/* Sort the pairs of a line by feature, in place (Shell sort); returns whether a feature occurs twice. */
static bool sort_pairs(int32_t *indices, float *values, int64_t count) {
    for (int64_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int64_t begin = gap; begin < count; begin++) {
            int32_t index = indices[begin];
            float value = values[begin];
            int64_t slot = begin;
            for (; slot >= gap && indices[slot - gap] > index; slot -= gap)
                indices[slot] = indices[slot - gap], values[slot] = values[slot - gap];
            indices[slot] = index, values[slot] = value;
        }
    for (int64_t slot = 1; slot < count; slot++)
        if (indices[slot] == indices[slot - 1]) return true;
    return false;
}

/* Read the pairs of a line into indices and values, which have room for all; returns the problem.

   Adds to the number of open pairs; count becomes the number of pairs, and where the offset of the problem. */
static __attribute__((noinline)) int64_t read_pairs(const struct read_features *a, int64_t row, int32_t *indices,
                                                    float *values, int64_t *opened, int64_t *count, int64_t *where) {
    struct text text = a->text;
    int64_t at = a->rows.start[row], stop = a->rows.stop[row], room = a->rows.pairs[row], filled = 0, last = -1;
    bool in_order = true;
    while (at < stop) {
        struct pair pair = {at, 0, 0.0};
        bool fits = false;
        if (at <= text.size - FAST_REACH) {
            pair.end = near_end(text, at); /* first, so that parsing the numbers overlaps with the next pair */
            fits = short_pair(text, at, &pair);
        }
        if (!fits) {
            int64_t problem = any_pair(text, at, stop, &pair);
            *where = at;
            if (problem && problem != problem_open) return problem;
            if (problem && filled < room) {
                int64_t *open_pair = a->open_pairs + 2 * (*opened)++;
                open_pair[0] = at, open_pair[1] = pair.end;
            }
        }
        if (SF_UNLIKELY(filled == room)) return SF_OUT_OF_RANGE;
        indices[filled] = (int32_t)(pair.feature - a->first), values[filled] = (float)pair.value;
        filled++;
        in_order &= pair.feature > last;
        last = pair.feature;
        at = pair.end < stop ? pair.end + (text.bytes[pair.end] == ' ') : stop;
        if (at < stop && text.bytes[at] <= ' ') at = skip_blanks(text, at);
    }
    *count = filled, *where = at;
    return in_order || !sort_pairs(indices, values, filled) ? problem_none : problem_twice;
}

/* Fill in the features of the rows from row to end.

   The pairs are those of a sparse matrix; or they have room for one line and no bounds, and are copied to the dense
   matrix. Stops if the open values might not fit; the caller then continues from the row reached.

   found is the row reached, the number of open values, the lowest and highest column, and the offset of the problem that
   is returned. */
SF_KERNEL(read_features) {
    const struct rows *rows = &a->rows;
    int64_t row = a->row, opened = 0, lowest = 0, highest = -1, problem = problem_none, where = 0;
    if (row < 0 || a->end > rows->count || a->first < 0 || a->first > INT32_MAX) return SF_OUT_OF_RANGE;
    for (; row < a->end && rows->pairs[row] <= a->open_room - opened; row++) {
        int64_t target = a->target[row], base = 0, count;
        if (rows->start[row] < 0 || rows->stop[row] > a->text.size) return SF_OUT_OF_RANGE;
        if (a->bounds_size && (target < 0 || target >= a->bounds_size)) return SF_OUT_OF_RANGE;
        if (a->bounds_size) base = a->bounds[target];
        if (!is_within(a->room, base, rows->pairs[row])) return SF_OUT_OF_RANGE;
        problem = read_pairs(a, row, a->indices + base, a->values + base, &opened, &count, &where);
        if (problem == SF_OUT_OF_RANGE) return problem;
        if (problem) break;
        if (count > 0) {
            lowest = least(lowest, a->indices[base]);
            if (a->indices[base + count - 1] > highest) highest = a->indices[base + count - 1];
        }
        if (a->bounds_size || lowest < 0 || highest >= a->columns) continue;
        if (target < 0 || target >= a->matrix_rows) return SF_OUT_OF_RANGE;
        for (int64_t pair = 0; pair < count; pair++)
            a->matrix[target * a->columns + a->indices[pair]] = a->values[pair];
    }
    a->found[0] = row, a->found[1] = opened, a->found[2] = lowest, a->found[3] = highest, a->found[4] = where;
    return problem;
}
