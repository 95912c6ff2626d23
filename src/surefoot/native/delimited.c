/* Delimited text: rows of cells, one row on each line.

   A cell that begins with a quote ends with the next quote; it may hold separators, but neither quotes nor line ends.
   Python reads tables with such cells. */
#include "tokens.h"

enum { FINE, BAD_ROW, DOUBLED_QUOTE };

/* The bytes of the white space (as Python's str.isspace) at an offset; 0 if there is none. */
SF_INLINE int64_t space_at(struct text text, int64_t at, int64_t end) {
    const uint8_t *bytes = text.bytes + at;
    if (bytes[0] <= ' ') return bytes[0] == ' ' || (bytes[0] >= 9 && bytes[0] <= 13) || bytes[0] >= 28;
    if (bytes[0] < 128 || end - at < 2) return 0;
    if (bytes[0] == 0xC2) return bytes[1] == 0x85 || bytes[1] == 0xA0 ? 2 : 0;
    if (end - at < 3 || bytes[0] < 0xE1 || bytes[0] > 0xE3) return 0;
    uint32_t letter = (uint32_t)(bytes[0] & 15) << 12 | (uint32_t)(bytes[1] & 63) << 6 | (bytes[2] & 63);
    bool is_space = letter == 0x1680 || (letter >= 0x2000 && letter <= 0x200A) || letter == 0x2028 ||
                    letter == 0x2029 || letter == 0x202F || letter == 0x205F || letter == 0x3000;
    return is_space ? 3 : 0;
}

SF_INLINE void trim(struct text text, int64_t *start, int64_t *end) {
    for (int64_t size; *start < *end && (size = space_at(text, *start, *end)) > 0;) *start += size;
    while (*start < *end) {
        int64_t size = 1;
        while (size < 3 && *end - size > *start && (text.bytes[*end - size] & 0xC0) == 0x80) size++;
        if (space_at(text, *end - size, *end) != size) return;
        *end -= size;
    }
}

/* Where a cell ends: at the next separator or line end, or behind the text. */
SF_INLINE int64_t cell_end(struct text text, int64_t at, uint8_t separator) {
    if (at < text.size && text.bytes[at] == '"') {
        const uint8_t *quote = memchr(text.bytes + at + 1, '"', (size_t)(text.size - at - 1));
        if (quote) at = quote - text.bytes + 1;
    }
    while (at < text.size && text.bytes[at] != separator && text.bytes[at] != '\n') at++;
    return at;
}

/* The content of a cell, without its quotes and the white space around it. */
SF_INLINE void content_of(struct text text, int64_t *start, int64_t *end) {
    if (*start < *end && text.bytes[*start] == '"') {
        if (text.bytes[*end - 1] == '\r') --*end;
        ++*start, --*end;
    }
    trim(text, start, end);
}

/* The problem with the quotes of a cell, or FINE. */
SF_INLINE int64_t quote_problem(struct text text, int64_t start, int64_t end) {
    if (start == end || text.bytes[start] != '"') return FINE;
    const uint8_t *line_end = memchr(text.bytes + start, '\n', (size_t)(end - start));
    const uint8_t *quote = memchr(text.bytes + start + 1, '"', (size_t)(end - start - 1));
    if (!quote || line_end) return BAD_ROW;
    int64_t behind = quote - text.bytes + 1;
    if (behind < end && text.bytes[behind] == '"') return DOUBLED_QUOTE;
    return behind == end || (behind + 1 == end && text.bytes[behind] == '\r') ? FINE : BAD_ROW;
}

/* Split the lines that are not blank into cells: fill in the start and the length of each cell.

   found is the number of rows, and the offset of the line that stopped it: a malformed line (BAD_ROW), or one with a
   quote that only Python can read (DOUBLED_QUOTE). */
SF_KERNEL(split_rows) {
    struct text text = a->text;
    if (a->at < 0 || a->at > text.size) return SF_OUT_OF_RANGE;
    int64_t row = 0, at = a->at, problem = FINE;
    for (; at < text.size && problem == FINE; at += problem == FINE) {
        int64_t line = at, cells = 0, most = row < a->room ? a->width : 0;
        bool is_filled = false;
        for (;; at++, cells++) {
            int64_t start = at, end = at = cell_end(text, at, (uint8_t)a->separator);
            if (a->is_quoted && (problem = quote_problem(text, start, end)) != FINE) break;
            content_of(text, &start, &end);
            if (end - start > INT32_MAX) return SF_OUT_OF_RANGE;
            is_filled |= start < end;
            if (cells < most) {
                a->start[row * most + cells] = start;
                a->length[row * most + cells] = (int32_t)(end - start);
            }
            if (at == text.size || text.bytes[at] == '\n') break;
        }
        if (problem == FINE && is_filled && cells + 1 != a->width) problem = BAD_ROW;
        if (problem != FINE) at = line;
        if (problem != FINE || !is_filled) continue;
        if (row++ == a->room) return SF_OUT_OF_RANGE;
    }
    a->found[0] = row, a->found[1] = at;
    return problem;
}

/* Whether a cell is empty or one of the words na, n/a, nan, null and none, in any case. */
SF_INLINE bool is_missing(struct text text, int64_t start, int64_t end) {
    if (start == end || end - start > 4) return start == end;
    uint64_t word = small_letters(text, start, end - start);
    return word == NA || word == NOT_A || word == NULL_ || word == NONE_ || (word == N_A && text.bytes[start + 1] == '/');
}

/* Fill in the numbers in cells: NaN for a missing one, minus NaN for one that only Python can parse. */
SF_KERNEL(read_numbers) {
    const struct ranges *cells = &a->cells;
    for (int64_t cell = 0; cell < cells->count; cell++) {
        int64_t start = cells->start[cell], end = start + cells->length[cell];
        if (!is_within(cells->text.size, start, cells->length[cell])) return SF_OUT_OF_RANGE;
        double value = start < end ? SF_NAME(parse_number)(cells->text, start, end) : NAN;
        if (isnan(value)) value = is_missing(cells->text, start, end) ? fabs(value) : -fabs(value);
        a->values[cell] = value;
    }
    return 0;
}

/* Remove the white space around tokens. */
SF_KERNEL(trim_tokens) {
    struct text text = a->text;
    for (int64_t item = 0; item < a->count; item++) {
        if (!is_within(text.size, a->start[item], a->length[item])) return SF_OUT_OF_RANGE;
        int64_t start = a->start[item], end = start + a->length[item];
        trim(text, &start, &end);
        a->start[item] = start;
        a->length[item] = (int32_t)(end - start);
    }
    return 0;
}
