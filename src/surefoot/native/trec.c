/* Runs and qrels: lists of documents by topic.

   The first field of a line is the topic, the third the document, and a number follows, so that the same kernels serve
   both. Fields are kept as offsets and lengths, documents also as hashes. */
#include "tokens.h"

enum { NONE = -1, BLOCK = 224, LONGEST_NUMBER = 20 };

/* Count the line ends from an offset on, and find whether any byte is beyond ASCII. The counts of a block of bytes fit in
   one byte. */
SF_KERNEL_OF(scan, count_lines) {
    int64_t lines = 0, high = 0;
    if (a->at < 0) return SF_OUT_OF_RANGE;
    for (int64_t at = a->at; at < a->text.size; at += BLOCK) {
        uint8_t block_lines = 0, block_high = 0;
        int64_t end = least(a->text.size, at + BLOCK);
        for (int64_t index = at; index < end; index++) {
            block_lines = (uint8_t)(block_lines + (a->text.bytes[index] == '\n'));
            block_high |= a->text.bytes[index];
        }
        lines += block_lines;
        high += block_high >= 128;
    }
    a->found[0] = lines;
    a->found[1] = high > 0;
    return 0;
}

/* Where the fields of a line start and end; the topic starts with the line. */
struct line {
    int64_t topic_end, document, document_end, number, number_end, last, last_end;
};

/* A line with too few fields has an empty last field; a line with too many does not end behind it. */
SF_INLINE struct line split_line(struct text text, int64_t at, bool is_run) {
    struct line line;
    line.topic_end = token_end(text, at);
    line.document = skip_blanks(text, token_end(text, skip_blanks(text, line.topic_end)));
    line.document_end = token_end(text, line.document);
    line.number = skip_blanks(text, line.document_end);
    if (is_run) line.number = skip_blanks(text, token_end(text, line.number));
    line.number_end = token_end(text, line.number);
    line.last = is_run ? skip_blanks(text, line.number_end) : line.number;
    line.last_end = is_run ? token_end(text, line.last) : line.number_end;
    return line;
}

/* Parse the lines; is_run is a constant of the caller. */
SF_INLINE int64_t parse(const struct parse_trec *a, bool is_run) {
    const struct documents *documents = &a->documents;
    struct text text = a->text;
    int64_t count = 0, block = 0, at = a->at, bad = NONE;
    while ((at = next_line(text, at)) < text.size) {
        struct line line = split_line(text, at, is_run);
        int64_t size = line.topic_end - at, length = line.document_end - line.document;
        int64_t end = skip_blanks(text, line.last_end);
        if (SF_UNLIKELY(line.last == line.last_end || (end < text.size && text.bytes[end] != '\n') ||
                        size > INT32_MAX || length > INT32_MAX)) {
            bad = at;
            break;
        }
        if (SF_UNLIKELY(count == documents->count)) return SF_OUT_OF_RANGE;
        if (SF_UNLIKELY(!add_to_block(&a->blocks, &block, text, at, size, count))) return SF_OUT_OF_RANGE;
        documents->start[count] = line.document;
        documents->length[count] = (int32_t)length;
        documents->codes[count] = hash_of(text, line.document, length, a->key);
        documents->numbers[count] = SF_NAME(parse_number)(text, line.number, line.number_end);
        count++;
        at = end;
    }
    a->found[0] = count, a->found[1] = block, a->found[2] = bad;
    return 0;
}

/* Fill in the documents and the blocks of lines of one topic, from an offset on.

   found is the number of documents, the number of blocks, and the offset of the first malformed line or NONE. */
SF_KERNEL(parse_trec) {
    if (a->at < 0 || a->at > a->text.size) return SF_OUT_OF_RANGE;
    return a->is_run ? parse(a, true) : parse(a, false);
}

/* Find the start and end of the first tag of a run, and the offset of the first line with another tag, or NONE. */
SF_KERNEL_OF(scan, other_tag) {
    if (a->at < 0 || a->at > a->text.size) return SF_OUT_OF_RANGE;
    struct text text = a->text;
    int64_t tag = 0, tag_end = 0, at = a->at, other = NONE;
    while ((at = next_line(text, at)) < text.size) {
        struct line line = split_line(text, at, true);
        int64_t size = line.last_end - line.last;
        if (tag == tag_end) tag = line.last, tag_end = line.last_end;
        if (size == 0 || size != tag_end - tag || !is_same(text, line.last, text, tag, size)) {
            other = at;
            break;
        }
        at = line.last_end;
    }
    a->found[0] = tag, a->found[1] = tag_end, a->found[2] = other;
    return 0;
}

/* Whether a document ranks before another: higher number, then later in the order of bytes, as in trec_eval. */
SF_INLINE bool goes_before(const void *items, int32_t one, int32_t two) {
    const struct documents *documents = &((const struct rank_topics *)items)->documents;
    const uint8_t *bytes = ((const struct rank_topics *)items)->text.bytes;
    const int32_t *length = documents->length;
    if (documents->numbers[one] != documents->numbers[two]) return documents->numbers[one] > documents->numbers[two];
    int difference = memcmp(bytes + documents->start[one], bytes + documents->start[two],
                            (size_t)least(length[one], length[two]));
    return difference ? difference > 0 : length[one] >= length[two];
}

SF_INLINE void copy_document(const struct documents *from, int64_t item, const struct documents *to, int64_t index) {
    to->start[index] = from->start[item], to->length[index] = from->length[item];
    to->codes[index] = from->codes[item], to->numbers[index] = from->numbers[item];
}

/* Sort the documents of each topic into ranking order, in place.

   order and spare are overwritten; they have room for the largest topic that is not in order. */
SF_KERNEL(rank_topics) {
    const struct documents *documents = &a->documents, *spare = &a->spare;
    if (documents->count > INT32_MAX) return SF_OUT_OF_RANGE;
    for (int64_t item = 0; item < documents->count; item++)
        if (!is_within(a->text.size, documents->start[item], documents->length[item])) return SF_OUT_OF_RANGE;
    for (int64_t topic = 0; topic < a->topics; topic++) {
        int64_t first = a->bounds[topic], end = a->bounds[topic + 1];
        if (!are_bounds(documents->count, first, end)) return SF_OUT_OF_RANGE;
        int32_t item = (int32_t)first + 1;
        while (item < end && goes_before(a, item - 1, item)) item++;
        if (item >= end) continue;
        int64_t size = end - first;
        if (size > spare->count) return SF_OUT_OF_RANGE;
        for (int64_t index = 0; index < size; index++) a->order[index] = (int32_t)(first + index);
        sort(a->order, size, goes_before, a);
        for (int64_t index = 0; index < size; index++) copy_document(documents, a->order[index], spare, index);
        for (int64_t index = 0; index < size; index++) copy_document(spare, index, documents, first + index);
    }
    return 0;
}

SF_INLINE uint8_t *put(uint8_t *out, const uint8_t *bytes, int64_t size) {
    memcpy(out, bytes, (size_t)size);
    return out + size;
}

/* Write a whole number in decimal digits. */
SF_INLINE uint8_t *put_number(uint8_t *out, int64_t number) {
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    uint8_t digits[LONGEST_NUMBER], *first = digits + LONGEST_NUMBER;
    do *--first = (uint8_t)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) *out++ = '-';
    return put(out, first, digits + LONGEST_NUMBER - first);
}

/* Write the lines "head document rank score tag" of each topic's documents; returns the number of bytes.

   A head is the topic, the separator, Q0 and the separator. */
SF_KERNEL(write_run) {
    const struct ranges *documents = &a->documents;
    uint8_t *out = a->out;
    for (int64_t topic = 0; topic < a->topics; topic++) {
        int64_t head = a->head_bounds[topic], head_end = a->head_bounds[topic + 1];
        if (head < 0 || head_end < head || head_end > a->head_bytes) return SF_OUT_OF_RANGE;
        if (a->bounds[topic] < 0 || a->bounds[topic + 1] > documents->count) return SF_OUT_OF_RANGE;
        for (int64_t item = a->bounds[topic]; item < a->bounds[topic + 1]; item++) {
            int64_t most = head_end - head + documents->length[item] + a->tag_bytes + 2 * LONGEST_NUMBER + 4;
            if (!is_within(documents->text.size, documents->start[item], documents->length[item])) return SF_OUT_OF_RANGE;
            if (most > a->room - (out - a->out)) return SF_OUT_OF_RANGE;
            out = put(out, a->heads + head, head_end - head);
            out = put(out, documents->text.bytes + documents->start[item], documents->length[item]);
            *out++ = (uint8_t)a->separator;
            out = put_number(out, item - a->bounds[topic] + 1);
            *out++ = (uint8_t)a->separator;
            out = put_number(out, a->scores[item]);
            *out++ = (uint8_t)a->separator;
            out = put(out, a->tag, a->tag_bytes);
            *out++ = '\n';
        }
    }
    return out - a->out;
}
