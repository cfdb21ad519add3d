/*
 * places.c - the functions of places.rs in C. `restrict` stands for the exclusive reference.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* MARK(format, root, place, ..): two or three places (or one twice), and what contains them. */
#if defined PLACE_NONE
#define MARK(format, root, a, ...)
#elif defined PLACE_ASM
#define MARK(format, root, a, ...) __asm__ volatile("" : :)
#elif defined PLACE_MARK
#include <simple_marker.h>
#define MARK(format, root, ...) simple_mark(places:mark, format, __VA_ARGS__)
#elif defined PLACE_KEEP
#include <simple_marker.h>
#define MARK(format, root, ...) simple_mark_keep(places:mark, format, __VA_ARGS__)
#elif defined PLACE_ROOT
#include <simple_marker.h>
#define MARK(format, root, ...) simple_mark_keep(places:mark, "%p", (void *)&(root))
#else
#define COUNT(a, b, c, count, ...) count
#define JOIN_EXPANDED(a, b) a##b
#define JOIN(a, b) JOIN_EXPANDED(a, b)
#define EACH_1(m, a) m(a)
#define EACH_2(m, a, b) m(a), m(b)
#define EACH_3(m, a, b, c) m(a), m(b), m(c)
#define EACH(m, ...) JOIN(EACH_, COUNT(__VA_ARGS__, 3, 2, 1, ~))(m, __VA_ARGS__)
#if defined PLACE_MEMORY
#define OPERAND(place) "m"(place)
#define MARK(format, root, ...) __asm__ volatile("" : : EACH(OPERAND, __VA_ARGS__) : "memory")
#elif defined PLACE_MEMORY_ALONE
#define OPERAND(place) "m"(place)
#define MARK(format, root, ...) __asm__ volatile("" : : EACH(OPERAND, __VA_ARGS__))
#elif defined PLACE_ANY
#define OPERAND(place) "nrm"(place)
#define MARK(format, root, ...) __asm__ volatile("" : : EACH(OPERAND, __VA_ARGS__) : "memory")
#elif defined PLACE_VALUE
/* As simple_mark_keep, but without a barrier. */
#define OPERAND(place) "nr"(place)
#define MARK(format, root, ...) __asm__ volatile("" : : EACH(OPERAND, __VA_ARGS__))
#else
#error "which mark?"
#endif
#endif

typedef uint8_t u8;
typedef uint32_t u32;
typedef unsigned long u64;

#if defined __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

struct random {
    u64 a, b, calls;
};

static inline u64 next(struct random *restrict random)
{
    u64 x = random->a, y = random->b;

    random->a = y;
    x ^= x << 23;
    random->b = x ^ y ^ (x >> 17) ^ (y >> 26);
    random->calls++;
    MARK("%lu %lu", *random, random->calls, random->b);
    return random->b + y;
}

NOINLINE void ref_random(struct random *restrict random, u64 *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = next(random);
}

struct ring {
    u32 head, tail, count, lost;
    u64 slots[64];
};

static inline void push(struct ring *restrict ring, u64 value)
{
    if (ring->count == 64) {
        ring->lost++;
        MARK("%u %u", *ring, ring->lost, ring->count);
        return;
    }
    ring->slots[ring->tail & 63] = value;
    ring->tail++;
    ring->count++;
    MARK("%u %u", *ring, ring->tail, ring->count);
}

static inline u64 pop(struct ring *restrict ring)
{
    if (ring->count == 0)
        return 0;
    u64 value = ring->slots[ring->head & 63];
    ring->head++;
    ring->count--;
    MARK("%u %u", *ring, ring->head, ring->count);
    return value;
}

NOINLINE u64 ref_ring(struct ring *restrict ring, const u64 *restrict values, size_t count)
{
    u64 sum = 0;

    for (size_t i = 0; i < count; i++) {
        u64 value = values[i];
        push(ring, value);
        push(ring, value ^ 1);
        if (value & 3) {
            sum ^= pop(ring);
            sum ^= pop(ring);
        }
    }
    return sum;
}

struct stats {
    u64 reads, bytes, max, last;
};

static inline void record(struct stats *restrict stats, u64 value)
{
    stats->reads++;
    stats->bytes += value;
    if (value > stats->max)
        stats->max = value;
    MARK("%lu %lu %lu", *stats, stats->reads, stats->bytes, stats->max);
    stats->last = value;
}

NOINLINE void ref_stats(struct stats *restrict stats, const u64 *restrict values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        record(stats, values[i]);
}

NOINLINE void ref_three(struct stats *restrict stats, u64 value)
{
    record(stats, value);
    record(stats, value >> 3);
    record(stats, ~value);
}

struct bits {
    u64 pending;
    u32 count, at;
    u8 out[4096];
};

static inline void put(struct bits *restrict bits, u32 code, u32 length)
{
    bits->pending |= (u64)code << bits->count;
    bits->count += length;
    MARK("%lu %u", *bits, bits->pending, bits->count);
    while (bits->count >= 8) {
        bits->out[bits->at & 4095] = (u8)bits->pending;
        bits->at++;
        bits->pending >>= 8;
        bits->count -= 8;
    }
}

NOINLINE void ref_bits(struct bits *restrict bits, const u8 *restrict text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] < 'a')
            put(bits, text[i], 9);
        else
            put(bits, text[i] & 31, 5);
    }
}

struct lexer {
    size_t at;
    u32 line, column, depth;
    const u8 *text;
    size_t length;
};

static inline void bump(struct lexer *restrict lexer)
{
    lexer->at++;
    lexer->column++;
}

static inline int is_digit(u8 byte)
{
    return byte >= '0' && byte <= '9';
}

static inline int is_word(u8 byte)
{
    return (byte >= 'a' && byte <= 'z') || byte == '_' || is_digit(byte);
}

NOINLINE u32 ref_token(struct lexer *restrict lexer)
{
    while (lexer->at < lexer->length) {
        u8 byte = lexer->text[lexer->at];
        bump(lexer);
        if (byte == ' ') {
            continue;
        } else if (byte == '\n') {
            lexer->line++;
            lexer->column = 0;
            MARK("%u %zu", *lexer, lexer->line, lexer->at);
        } else if (byte == '(') {
            lexer->depth++;
            MARK("%u %u", *lexer, lexer->depth, lexer->column);
            return 1;
        } else if (byte == ')') {
            lexer->depth--;
            MARK("%u %u", *lexer, lexer->depth, lexer->column);
            return 2;
        } else if (byte >= 'a' && byte <= 'z') {
            while (lexer->at < lexer->length && is_word(lexer->text[lexer->at]))
                bump(lexer);
            MARK("%zu %u", *lexer, lexer->at, lexer->column);
            return 3;
        } else if (is_digit(byte)) {
            while (lexer->at < lexer->length && is_digit(lexer->text[lexer->at]))
                bump(lexer);
            MARK("%zu %u", *lexer, lexer->at, lexer->column);
            return 4;
        } else {
            return 5;
        }
    }
    return 0;
}

struct body {
    double x, y, vx, vy;
    u64 time, hits;
};

NOINLINE double own_body(struct body body, u64 steps)
{
    for (u64 i = 0; i < steps; i++) {
        body.x += body.vx * 0.5;
        body.y += body.vy * 0.5;
        body.time += 3;
        if (body.x > 10.0) {
            body.vx = -body.vx;
            body.hits++;
        }
        MARK("%lu %lu", body, body.time, body.hits);
        body.vy -= 0.01;
    }
    return body.x + body.y + (double)body.time + (double)body.hits;
}

struct machine {
    u64 pc, sum, x, flag;
};

NOINLINE u64 own_machine(struct machine machine, const u8 *restrict code, size_t length)
{
    while (machine.pc < length) {
        u8 byte = code[machine.pc++];
        switch (byte & 7) {
        case 0: machine.sum += machine.x; break;
        case 1: machine.x = (machine.x * 3) ^ 5; break;
        case 2: machine.sum ^= machine.x >> 3; break;
        case 3: machine.flag = machine.sum == 0; break;
        case 4: machine.sum = machine.sum << 7 | machine.sum >> 57; break;
        case 5: machine.x = machine.sum; break;
        case 6: machine.pc += machine.flag; break;
        default: machine.sum -= byte;
        }
        MARK("%lu %lu", machine, machine.pc, machine.sum);
    }
    return machine.sum ^ machine.x ^ machine.pc;
}

NOINLINE u64 opaque(u64 value)
{
    __asm__ volatile("" : "+r"(value) : : "memory");
    return value;
}

NOINLINE u64 own_calls(struct machine machine, u64 times)
{
    for (u64 i = 0; i < times; i++) {
        machine.pc++;
        machine.sum = (machine.sum * 31) ^ i;
        machine.x += opaque(i);
        machine.flag ^= opaque(machine.x);
        MARK("%lu", machine, machine.sum);
    }
    return machine.sum ^ machine.x ^ machine.pc ^ machine.flag;
}

NOINLINE void own_copy(struct stats *restrict stats, const u64 *restrict values, size_t count)
{
    struct stats copy = *stats;

    for (size_t i = 0; i < count; i++) {
        copy.reads++;
        copy.bytes += values[i];
        if (values[i] > copy.max)
            copy.max = values[i];
        MARK("%lu %lu", copy, copy.reads, copy.bytes);
    }
    *stats = copy;
}

NOINLINE u32 own_array(const u8 *restrict text, size_t length)
{
    u32 counts[8] = {0}, sum = 0;

    for (size_t i = 0; i < length; i++) {
        counts[text[i] & 7]++;
        MARK("%u", counts, counts[1]);
    }
    for (size_t i = 0; i < 8; i++)
        sum = (sum * 31) ^ counts[i];
    return sum;
}

NOINLINE u64 own_pair(const u64 *restrict values, size_t count)
{
    struct {
        u64 sum, max;
    } pair = {0, 0};

    for (size_t i = 0; i < count; i++) {
        pair.sum = (pair.sum * 31) ^ values[i];
        if (values[i] > pair.max)
            pair.max = values[i];
        MARK("%lu %lu", pair, pair.sum, pair.max);
    }
    return pair.sum ^ pair.max;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#define CALLS 4
#define ROUNDS 500

#define RUN(name, ...)                                           \
    do {                                                         \
        double best = 1e18;                                      \
        for (u64 i = 0; i < times; i++)                          \
            __VA_ARGS__;                                         \
        for (int round = 0; !times && round < ROUNDS; round++) { \
            double start = now();                                \
            for (int i = 0; i < CALLS; i++)                      \
                __VA_ARGS__;                                     \
            double took = (now() - start) / CALLS;               \
            best = took < best ? took : best;                    \
        }                                                        \
        if (!times)                                              \
            printf("%s %.1f\n", #name, best);                    \
    } while (0)

int main(int count, char **arguments)
{
    static const char pattern[] = "sum (first_1 + 23, product (alpha beta 4096) * 7)\n";
    static u64 values[1000], out[1000];
    static u8 text[1000];
    static struct ring ring;
    static struct bits bits;
    u64 times = count > 1 ? strtoull(arguments[1], NULL, 10) : 0, state = 7;
    volatile u64 sum = 0;
    volatile double total = 0;
    struct random random = {1, 2, 0};
    struct stats stats = {0, 0, 0, 0};
    struct body body = {0, 0, 1, 1, 0, 0};
    struct machine machine = {0, 1, 2, 0};

    for (size_t i = 0; i < 1000; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        values[i] = state >> 20;
        text[i] = (u8)pattern[i % (sizeof(pattern) - 1)];
    }
    RUN(ref_random, ref_random(&random, out, 1000));
    RUN(ref_ring, sum ^= ref_ring(&ring, values, 1000));
    RUN(ref_stats, ref_stats(&stats, values, 1000));
    RUN(ref_three, for (size_t j = 0; j < 1000; j++) ref_three(&stats, values[j]));
    RUN(ref_bits, ref_bits(&bits, text, 1000));
    RUN(ref_token, {
        struct lexer lexer = {0, 1, 0, 0, text, 1000};
        while (ref_token(&lexer))
            ;
    });
    RUN(own_body, total += own_body(body, 1000));
    RUN(own_machine, sum ^= own_machine(machine, text, 1000));
    RUN(own_calls, sum ^= own_calls(machine, 1000));
    RUN(own_copy, own_copy(&stats, values, 1000));
    RUN(own_array, sum ^= own_array(text, 1000));
    RUN(own_pair, sum ^= own_pair(values, 1000));
    (void)sum, (void)total;
    return 0;
}
