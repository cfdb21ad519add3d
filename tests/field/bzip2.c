/*
 * Compresses and decompresses generated texts at several levels, whole and in pieces: bzip2 RESULTS. It
 * writes a line for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bzlib.h"

enum { SIZE = 60000, BOUND = SIZE + SIZE / 100 + 600 };

static unsigned state = 12345;

static unsigned below(unsigned bound)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % bound;
}

/* Noise, words, or long runs. */
static void fill(char *text, int kind)
{
    static const char *const words[] = { "marker", "probe", "the ", "of ", "value ", "\n", "register ", "0x", "compress", " 1234 " };
    int at = 0;
    while (at < SIZE) {
        if (kind == 0) {
            text[at++] = (char)below(256);
        } else if (kind == 1) {
            for (const char *word = words[below(10)]; *word && at < SIZE; word++)
                text[at++] = *word;
        } else {
            int length = 1 + (int)below(900);
            char byte = "ab\0"[below(3)];
            while (length-- && at < SIZE)
                text[at++] = byte;
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

/* Decompresses pieces of 700 bytes. */
static unsigned by_pieces(char *packed, unsigned size, char *back, int small)
{
    bz_stream stream = { 0 };
    if (BZ2_bzDecompressInit(&stream, 0, small) != BZ_OK)
        return 0;
    stream.next_out = back;
    stream.avail_out = SIZE;
    for (unsigned at = 0; at < size; at += 700) {
        stream.next_in = packed + at;
        stream.avail_in = size - at < 700 ? size - at : 700;
        if (BZ2_bzDecompress(&stream) != BZ_OK)
            break;
    }
    unsigned length = stream.total_out_lo32;
    BZ2_bzDecompressEnd(&stream);
    return length;
}

int main(int count, char **arguments)
{
    static const int levels[] = { 1, 5, 9 };
    FILE *results = count == 2 ? fopen(arguments[1], "w") : 0;
    if (!results)
        return 2;
    char *text = malloc(SIZE), *back = malloc(SIZE), *packed = malloc(BOUND);
    for (int kind = 0; kind < 3; kind++) {
        fill(text, kind);
        for (int i = 0; i < 3; i++) {
            unsigned size = BOUND, whole = SIZE;
            int code = BZ2_bzBuffToBuffCompress(packed, &size, text, SIZE, levels[i], 0, i == 1 ? 5 : 0);
            memset(back, 0, SIZE);
            int from = BZ2_bzBuffToBuffDecompress(back, &whole, packed, size, 0, 0);
            int same = from == BZ_OK && whole == SIZE && memcmp(text, back, SIZE) == 0;
            memset(back, 0, SIZE);
            int again = by_pieces(packed, size, back, i == 2) == SIZE && memcmp(text, back, SIZE) == 0;
            fprintf(results, "%d %d: %d, %u bytes, %08x, %s, %s\n", kind, levels[i], code, size, sum(packed, size), same ? "same" : "DIFFERENT", again ? "same" : "DIFFERENT");
        }
    }
    fclose(results);
    return 0;
}
