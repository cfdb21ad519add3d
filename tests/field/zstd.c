/*
 * Compresses and decompresses generated texts at several levels, with and without a dictionary and in
 * pieces: zstd RESULTS. It writes a line for each.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zdict.h"
#include "zstd.h"

enum { SIZE = 24 << 10, SAMPLES = 120, SAMPLE = 256 };

static unsigned state = 12345;

static unsigned below(unsigned bound)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % bound;
}

/* Words, numbers and repetitions, or noise. */
static void fill(char *text, size_t size, int kind)
{
    static const char *const words[] = { "marker", "probe", "the ", "of ", "value ", "\n", "register ", "0x", "compress", " 1234 " };
    size_t at = 0;
    while (at < size) {
        if (kind == 0 || (kind == 1 && below(9) == 0)) {
            text[at++] = (char)below(kind ? 64 : 256);
        } else if (kind == 2) {
            text[at++] = "ab"[below(40) == 0];
        } else if (at > 300 && below(4) == 0) {
            size_t from = at - 1 - below(299), length = 4 + below(60);
            while (length-- && at < size)
                text[at++] = text[from++];
        } else {
            const char *word = words[below(10)];
            while (*word && at < size)
                text[at++] = *word++;
        }
    }
}

static unsigned sum(const char *bytes, size_t size)
{
    unsigned value = 1;
    for (size_t i = 0; i < size; i++)
        value = value * 31 + (unsigned char)bytes[i];
    return value;
}

static void check(FILE *results, const char *what, int level, const char *packed, size_t size, const char *text, const char *back, size_t back_size)
{
    int same = !ZSTD_isError(back_size) && back_size == SIZE && memcmp(text, back, SIZE) == 0;
    fprintf(results, "%s %d: %zu bytes, %08x, %s\n", what, level, size, sum(packed, size), same ? "same" : "DIFFERENT");
}

int main(int count, char **arguments)
{
    static const int levels[] = { -5, 1, 2, 3, 4, 5, 7, 9, 12, 15, 17, 19, 22 };
    FILE *results = count == 2 ? fopen(arguments[1], "w") : 0;
    if (!results)
        return 2;
    size_t bound = ZSTD_compressBound(SIZE);
    char *text = malloc(SIZE), *back = malloc(SIZE), *packed = malloc(bound);
    ZSTD_CCtx *to = ZSTD_createCCtx();
    ZSTD_DCtx *from = ZSTD_createDCtx();
    for (int kind = 0; kind < 4; kind++) {
        fill(text, SIZE, kind);
        for (unsigned i = kind; i < sizeof levels / sizeof *levels; i += kind == 3 ? 1 : 4) {
            ZSTD_CCtx_reset(to, ZSTD_reset_session_and_parameters);
            ZSTD_CCtx_setParameter(to, ZSTD_c_compressionLevel, levels[i]);
            ZSTD_CCtx_setParameter(to, ZSTD_c_checksumFlag, i & 1);
            ZSTD_CCtx_setParameter(to, ZSTD_c_enableLongDistanceMatching, levels[i] == 12);
            size_t size = ZSTD_compress2(to, packed, bound, text, SIZE);
            size_t back_size = ZSTD_decompressDCtx(from, back, SIZE, packed, size);
            check(results, "whole", levels[i], packed, size, text, back, back_size);
        }
    }
    char *samples = malloc(SAMPLES * SAMPLE), *dictionary = malloc(8192);
    size_t sizes[SAMPLES];
    fill(samples, SAMPLES * SAMPLE, 3);
    for (int i = 0; i < SAMPLES; i++)
        sizes[i] = SAMPLE;
    size_t dictionary_size = ZDICT_trainFromBuffer(dictionary, 4096, samples, sizes, SAMPLES);
    fprintf(results, "dictionary: %zu %s\n", dictionary_size, ZDICT_isError(dictionary_size) ? ZDICT_getErrorName(dictionary_size) : "");
    if (!ZDICT_isError(dictionary_size)) {
        size_t size = ZSTD_compress_usingDict(to, packed, bound, text, SIZE, dictionary, dictionary_size, 6);
        size_t back_size = ZSTD_decompress_usingDict(from, back, SIZE, packed, size, dictionary, dictionary_size);
        check(results, "dictionary", 6, packed, size, text, back, back_size);
    }
    ZSTD_CCtx_reset(to, ZSTD_reset_session_and_parameters);
    ZSTD_inBuffer in = { text, 0, 0 };
    ZSTD_outBuffer out = { packed, bound, 0 };
    while (in.pos < SIZE) {
        in.size = in.size + 700 < SIZE ? in.size + 700 : SIZE;
        ZSTD_compressStream2(to, &out, &in, in.size == SIZE ? ZSTD_e_end : below(5) ? ZSTD_e_continue : ZSTD_e_flush);
    }
    ZSTD_inBuffer piece = { packed, 0, 0 };
    ZSTD_outBuffer whole = { back, SIZE, 0 };
    while (piece.pos < out.pos) {
        piece.size = piece.size + 333 < out.pos ? piece.size + 333 : out.pos;
        if (ZSTD_isError(ZSTD_decompressStream(from, &whole, &piece)))
            break;
    }
    check(results, "pieces", 3, packed, out.pos, text, back, whole.pos);
    ZSTD_freeCCtx(to);
    ZSTD_freeDCtx(from);
    fclose(results);
    return 0;
}
