/* Replay calls of kernels that tools/replay.py recorded, and compare the bits of what they fill in and return. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define aligned_alloc(alignment, size) _aligned_malloc(size, alignment)
#define free _aligned_free
#endif

#define K(name) int64_t sf_##name##_base(const void *);
#include "replay.inc"
#undef K
#define K(name) {#name, sf_##name##_base, 0, 0},
static struct { const char *name; int64_t (*call)(const void *); int64_t calls, wrong; } kernels[] = {
#include "replay.inc"
};

static int64_t number(FILE *file) {
    int64_t found = 0;
    if (fread(&found, 8, 1, file) != 1) exit(2);
    return found;
}

static void *bytes(FILE *file, int64_t size) {
    void *found = aligned_alloc(64, ((size_t)size / 64 + 1) * 64);
    if (size && fread(found, (size_t)size, 1, file) != 1) exit(2);
    return found;
}

int main(int count, char **words) {
    FILE *file = count > 1 ? fopen(words[1], "rb") : NULL;
    if (!file) return 2;
    for (int64_t calls = number(file); calls; calls--) {
        int64_t kernel = number(file), returned = number(file), size = number(file), arrays = number(file), same = 1;
        int64_t *arguments = bytes(file, 8 * size);
        void *data[64], *expected[64];
        int64_t sizes[64];
        for (int64_t index = 0; index < arrays; index++) {
            int64_t word = number(file);
            sizes[index] = number(file);
            data[index] = bytes(file, sizes[index]);
            expected[index] = bytes(file, sizes[index]);
            arguments[word] = (int64_t)(intptr_t)data[index];
        }
        same = kernels[kernel].call(arguments) == returned;
        for (int64_t index = 0; index < arrays; index++) {
            same &= !memcmp(data[index], expected[index], (size_t)sizes[index]);
            free(data[index]), free(expected[index]);
        }
        free(arguments);
        kernels[kernel].calls++, kernels[kernel].wrong += !same;
    }
    int64_t wrong = 0;
    for (size_t index = 0; index < sizeof kernels / sizeof *kernels; index++) {
        printf("%-24s %6lld calls %6lld differ\n", kernels[index].name, (long long)kernels[index].calls,
               (long long)kernels[index].wrong);
        wrong += kernels[index].wrong;
    }
    return wrong > 0;
}
