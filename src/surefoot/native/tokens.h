/* Tokens of a text: their ends, hashes and numbers, and hash tables of them.

   A token ends before a byte of at most 32; bytes beyond ASCII belong to tokens. Eight bytes are processed together
   where possible; the platform is little-endian.

   The hash of tables has a key, which differs from process to process, so that nobody can choose ids that collide.
   Fingerprints have none: models of unjudged documents draw in their order. */
#ifndef SUREFOOT_TOKENS_H
#define SUREFOOT_TOKENS_H

#include "surefoot.h"

enum { EMPTY = -1 };

static const uint64_t NA = 0x616Eu, NOT_A = 0x6E616Eu, N_A = 0x612F6Eu, NULL_ = 0x6C6C756Eu, NONE_ = 0x656E6F6Eu;
static const uint64_t MIX = 0x9E3779B97F4A7C15u, EACH_BYTE = 0x0101010101010101u, HIGH_BITS = 0x8080808080808080u;

/* The powers of ten that double represents exactly. */
static const double TENS[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The number that a token stands for, which is not empty; NaN if it has to be parsed by Python. */
double SF_NAME(parse_number)(struct text text, int64_t at, int64_t end);

SF_INLINE uint64_t word_at(struct text text, int64_t at) {
    uint64_t word;
    memcpy(&word, text.bytes + at, sizeof word);
    return word;
}

SF_INLINE bool is_at(struct text text, int64_t at, uint8_t byte) { return at < text.size && text.bytes[at] == byte; }

/* Whether a range is within this many elements. */
SF_INLINE bool is_within(int64_t elements, int64_t start, int64_t size) {
    return start >= 0 && size >= 0 && start <= elements - size;
}

/* The index of the first byte of a word with its high bit set; there must be one. */
SF_INLINE int64_t first_marked(uint64_t word) { return __builtin_ctzll(word) >> 3; }

/* Marks the first byte of at most 32 by its high bit; bytes behind it may be marked wrongly. */
SF_INLINE uint64_t mark_low(uint64_t word) { return (word - 33 * EACH_BYTE) & ~word & HIGH_BITS; }

SF_INLINE bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* A space, a tab, a return or a feed, but not a line end. */
SF_INLINE bool is_blank(uint8_t byte) { return byte == ' ' || (byte >= 9 && byte <= 13 && byte != '\n'); }

SF_INLINE int64_t skip_blanks(struct text text, int64_t at) {
    while (at < text.size && is_blank(text.bytes[at])) at++;
    return at;
}

/* Where the next line begins that is neither blank nor a comment, or the end. */
SF_INLINE int64_t next_line(struct text text, int64_t at) {
    for (;; at += at < text.size) {
        at = skip_blanks(text, at);
        if (at == text.size || (text.bytes[at] != '\n' && text.bytes[at] != '#')) return at;
        while (at < text.size && text.bytes[at] != '\n') at++;
    }
}

/* Where the token that begins here ends; here, if none begins here. */
SF_INLINE int64_t token_end(struct text text, int64_t at) {
    for (; at <= text.size - 8; at += 8) {
        uint64_t low = mark_low(word_at(text, at));
        if (low) return at + first_marked(low);
    }
    while (at < text.size && text.bytes[at] > ' ') at++;
    return at;
}

/* Up to eight bytes as one number. */
SF_INLINE uint64_t short_word(struct text text, int64_t at, int64_t size) {
    if (at <= text.size - 8) return size > 0 ? word_at(text, at) & (UINT64_MAX >> (64 - 8 * size)) : 0;
    uint64_t word = 0;
    for (int64_t index = 0; index < size; index++) word |= (uint64_t)text.bytes[at + index] << (8 * index);
    return word;
}

/* Both halves of a product. */
SF_INLINE uint64_t fold(uint64_t one, int64_t other) {
    unsigned __int128 product = (unsigned __int128)one * (uint64_t)other;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A hash of a range of bytes for tables. */
SF_INLINE uint64_t hash_of(struct text text, int64_t at, int64_t size, struct key key) {
    uint64_t code = (uint64_t)key.start ^ (uint64_t)size;
    for (; size > 8; at += 8, size -= 8) code = fold(code ^ word_at(text, at), key.factor);
    return fold(code ^ short_word(text, at, size), key.factor);
}

/* A hash of a range of bytes that is the same in every process. */
SF_INLINE uint64_t fingerprint_of(struct text text, int64_t at, int64_t size) {
    uint64_t code = (uint64_t)size * MIX;
    for (; size > 8; at += 8, size -= 8) {
        code = (code ^ word_at(text, at)) * MIX;
        code ^= code >> 32;
    }
    code = (code ^ short_word(text, at, size)) * MIX;
    return code ^ (code >> 32);
}

/* Up to eight letters in lower case. */
SF_INLINE uint64_t small_letters(struct text text, int64_t at, int64_t size) {
    return short_word(text, at, size) | (0x2020202020202020u >> (64 - 8 * size));
}

SF_INLINE bool is_same(struct text text, int64_t at, struct text other, int64_t other_at, int64_t size) {
    for (; size > 8; at += 8, other_at += 8, size -= 8)
        if (word_at(text, at) != word_at(other, other_at)) return false;
    return short_word(text, at, size) == short_word(other, other_at, size);
}

/* Add a line to the last block, or begin one if that has another name; false if there is no room. */
SF_INLINE bool add_to_block(const struct blocks *blocks, int64_t *count, struct text text, int64_t name, int64_t size,
                            int64_t line) {
    int64_t last = *count - 1;
    if (last >= 0 && blocks->length[last] == size && is_same(text, name, text, blocks->start[last], size)) return true;
    if (*count == blocks->room) return false;
    blocks->start[*count] = name, blocks->length[*count] = (int32_t)size, blocks->line[*count] = line;
    ++*count;
    return true;
}

/* Whether there is such a token, within the text. */
SF_INLINE bool is_token(const struct tokens *tokens, int64_t item) {
    return item >= 0 && item < tokens->count && is_within(tokens->text.size, tokens->start[item], tokens->length[item]);
}

/* Whether a range of slots can be a hash table: a power of two of them. */
SF_INLINE bool is_table(int64_t slots, int64_t first, int64_t size) {
    return is_within(slots, first, size) && size > 1 && (size & (size - 1)) == 0;
}

/* The slot of an open-addressing hash table whose key equals a token, or the empty slot where it belongs; -1 if there is
   neither.

   The slots hold indices of keys; anything else is an empty slot. The caller checks the table by is_table, the token by
   is_token. */
SF_INLINE int64_t find(const int32_t *table, int64_t size, const struct tokens *tokens, int64_t item,
                       const struct tokens *keys) {
    uint64_t code = tokens->codes[item];
    int32_t length = tokens->length[item];
    int64_t slot = (int64_t)(code & (uint64_t)(size - 1));
    for (int64_t step = 0; step < size; step++, slot = (slot + 1) & (size - 1)) {
        int64_t key = table[slot];
        if (key < 0 || key >= keys->count) return slot;
        if (keys->codes[key] == code && keys->length[key] == length && is_token(keys, key) &&
            is_same(tokens->text, tokens->start[item], keys->text, keys->start[key], length))
            return slot;
    }
    return -1;
}

#endif
