/*
 * points.c - the four functions of points/src/functions.rs in C
 *
 * Compiled once for each way to write a point: -DPOINT_MARK -DCONTENDER=gcc_mark makes
 * gcc_mark_line() and so on.
 */
#include <stddef.h>
#include <stdint.h>

#include "point.h"

#define JOIN_EXPANDED(a, b) a##_##b
#define JOIN(a, b) JOIN_EXPANDED(a, b)
#define FUNCTION(name) JOIN(CONTENDER, name)

struct state {
    uint32_t last;
    uint32_t count;
};

uint32_t FUNCTION(line)(struct state *state, uint32_t value);
uint32_t FUNCTION(tokenise)(const uint8_t *text, size_t length);
void FUNCTION(scale)(uint32_t *values, size_t length, uint32_t factor);
uint32_t FUNCTION(three)(struct state *state, uint32_t value);

/* Straight line. */
uint32_t FUNCTION(line)(struct state *state, uint32_t value)
{
    uint32_t mixed = value * 0x9e3779b9U ^ state->last;
    uint32_t count = state->count + 1;

    POINT(line, mixed, count);
    state->last = mixed;
    state->count = count;
    return (mixed << 5 | mixed >> 27) ^ count;
}

static int is_word(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || byte == '_';
}

static int is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* Branches and small loops: five points. */
uint32_t FUNCTION(tokenise)(const uint8_t *text, size_t length)
{
    uint32_t tokens = 0, depth = 0, sum = 0;

    for (size_t at = 0; at < length;) {
        size_t start = at;
        uint8_t byte = text[at++];

        if (byte == ' ' || byte == '\n')
            continue;
        if (is_word(byte)) {
            while (at < length && (is_word(text[at]) || is_digit(text[at])))
                at++;
            uint32_t size = (uint32_t)(at - start);
            POINT(word, tokens, size);
            sum += size;
        } else if (is_digit(byte)) {
            uint32_t value = byte - '0';
            while (at < length && is_digit(text[at]))
                value = value * 10 + (text[at++] - '0');
            POINT(number, tokens, value);
            sum += value;
        } else if (byte == '(') {
            depth++;
            POINT(open, tokens, depth);
        } else if (byte == ')') {
            depth--;
            POINT(close, tokens, depth);
        } else {
            POINT(other, tokens, depth);
            sum ^= byte;
        }
        tokens++;
    }
    return sum ^ tokens ^ depth;
}

/* A loop that is vectorised if nothing prevents it. */
void FUNCTION(scale)(uint32_t *values, size_t length, uint32_t factor)
{
    for (size_t index = 0; index < length; index++) {
        uint32_t scaled = values[index] * factor + 7;
        POINT(element, scaled, factor);
        values[index] = scaled;
    }
}

/* A tiny function that is inlined if nothing prevents it. */
static inline uint32_t FUNCTION(advance)(struct state *state, uint32_t by)
{
    uint32_t position = state->last + by;

    POINT(advance, position, by);
    state->last = position;
    return position & 0xfff;
}

/* The three places that it is called from. */
uint32_t FUNCTION(three)(struct state *state, uint32_t value)
{
    uint32_t sum = FUNCTION(advance)(state, value);

    sum ^= FUNCTION(advance)(state, value >> 3);
    return sum ^ FUNCTION(advance)(state, ~value);
}
