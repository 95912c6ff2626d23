/* Numbers in texts, and tokens by their hashes. */
#include "tokens.h"

enum { BAD_EXPONENT = 1 << 30 };

/* mantissa × 10^exponent, rounded as in Python; NaN if double arithmetic is not enough.

   A mantissa below 2^53 and a power of ten up to 22 are exact, so that one division or product rounds right (Clinger,
   PLDI 1990). Longer mantissas, of up to 18 digits, are divided in twice the precision; NaN if the result is close to
   a rounding border. */
static double exact_number(int64_t mantissa, int64_t exponent) {
    if (exponent < -22 || exponent > 22) return NAN;
    double head = (double)mantissa;
    if (mantissa <= (int64_t)1 << 53) return exponent < 0 ? head / TENS[-exponent] : head * TENS[exponent];
    if (exponent > 0) return NAN;
    double divisor = TENS[-exponent], rest = (double)(mantissa - (int64_t)head), quotient = head / divisor;
    /* Dekker's product: quotient × divisor = product + error, exactly. */
    const double split = 134217729.0;
    double high_q = quotient * split - (quotient * split - quotient), low_q = quotient - high_q;
    double high_d = divisor * split - (divisor * split - divisor), low_d = divisor - high_d;
    double product = quotient * divisor;
    double error = ((high_q * high_d - product) + high_q * low_d + low_q * high_d) + low_q * low_d;
    double correction = ((head - product) - error + rest) / divisor, doubt = quotient * 0x1p-95;
    double value = quotient + (correction - doubt);
    return value == quotient + (correction + doubt) ? value : NAN;
}

/* The power of ten that the rest of a token stands for, such as e-5. */
static int64_t parse_exponent(struct text text, int64_t at, int64_t end) {
    if (text.bytes[at] != 'E' && text.bytes[at] != 'e') return BAD_EXPONENT;
    at++;
    bool negative = at < end && text.bytes[at] == '-';
    if (negative || (at < end && text.bytes[at] == '+')) at++;
    if (at == end || end - at > 4) return BAD_EXPONENT;
    int64_t power = 0;
    for (; at < end; at++) {
        if (!is_digit(text.bytes[at])) return BAD_EXPONENT;
        power = power * 10 + (text.bytes[at] - '0');
    }
    return negative ? -power : power;
}

double SF_NAME(parse_number)(struct text text, int64_t at, int64_t end) {
    bool negative = text.bytes[at] == '-';
    if (negative || text.bytes[at] == '+') at++;
    uint64_t mantissa = 0;
    int64_t digits = 0, exponent = 0, seen = 0, fraction = 0;
    for (; at < end; at++) {
        uint8_t byte = text.bytes[at];
        if (is_digit(byte)) {
            mantissa = mantissa * 10 + (uint64_t)(byte - '0');
            seen++;
            digits += mantissa != 0;
            exponent -= fraction;
        } else if (byte == '.' && !fraction)
            fraction = 1;
        else
            break;
    }
    if (seen == 0 || digits > 18) return NAN; /* longer ones could overflow */
    if (at < end) {
        int64_t power = parse_exponent(text, at, end);
        if (power == BAD_EXPONENT) return NAN;
        exponent += power;
    }
    double value = exact_number((int64_t)mantissa, exponent);
    return negative ? -value : value;
}

/* Fill in the hashes of tokens. */
SF_KERNEL(hash_tokens) {
    struct text text = a->tokens.text;
    for (int64_t item = 0; item < a->tokens.count; item++) {
        int64_t start = a->tokens.start[item], length = a->tokens.length[item];
        if (!is_within(text.size, start, length)) return SF_OUT_OF_RANGE;
        a->codes[item] = a->key.factor ? hash_of(text, start, length, a->key) : fingerprint_of(text, start, length);
    }
    return 0;
}

/* Number the tokens of each group by first appearance, and fill in the first token of each number; returns the count of
   numbers.

   The tokens of a group are those between two bounds. tables[group] has the first slot and the size of its hash table,
   which is filled. */
SF_KERNEL(number_tokens) {
    const struct tokens *tokens = &a->tokens;
    int32_t count = 0;
    if (tokens->count > INT32_MAX) return SF_OUT_OF_RANGE;
    for (int64_t group = 0; group < a->groups; group++) {
        const int64_t *table = a->tables + 2 * group, begin = a->bounds[group];
        if (!is_table(a->room, table[0], table[1])) return SF_OUT_OF_RANGE;
        int32_t *slots = a->slots + table[0];
        memset(slots, 0xFF, (size_t)table[1] * sizeof *slots);
        for (int64_t item = begin; item < a->bounds[group + 1]; item++) {
            if (!is_token(tokens, item)) return SF_OUT_OF_RANGE;
            if (item > begin && tokens->start[item] == tokens->start[item - 1] &&
                tokens->length[item] == tokens->length[item - 1]) {
                a->number[item] = a->number[item - 1];
                continue;
            }
            int64_t slot = find(slots, table[1], tokens, item, tokens);
            if (slot < 0 || count == tokens->count) return SF_OUT_OF_RANGE;
            if (slots[slot] == EMPTY) {
                slots[slot] = (int32_t)item;
                a->first[count] = item;
                a->number[item] = count++;
            } else
                a->number[item] = a->number[slots[slot]];
        }
    }
    return count;
}

/* Copy tokens one after another, with a newline between them. */
SF_KERNEL(gather_tokens) {
    int64_t at = 0;
    struct text text = a->tokens.text;
    for (int64_t item = 0; item < a->tokens.count; item++) {
        int64_t start = a->tokens.start[item], length = a->tokens.length[item];
        if (!is_within(text.size, start, length) || !is_within(a->room, at, length)) return SF_OUT_OF_RANGE;
        memcpy(a->out + at, text.bytes + start, (size_t)length);
        at += length;
        if (at < a->room) a->out[at++] = '\n';
    }
    return 0;
}
