/* Calls of a function that are left in all ways: by a return, a tail call, an exception and longjmp, at all
 * depths of a recursion, in several threads. Prints how many were left in which way. The first argument is
 * how many rounds each thread makes. It waits for a byte on its standard input. */
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

#ifdef __clang__
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY __attribute__((noipa))
#endif

enum way { RETURN, THROW, JUMP, TAIL_CALL, WAYS };

static thread_local jmp_buf back;
static std::atomic<long> returned, ended_in_tail_call, left;

extern "C" {
ONE_COPY int finish(int value) {
    ended_in_tail_call++;
    return value + 1;
}

ONE_COPY int submit(int way, int depth) {
    if (depth > 0) {
        int value = submit(way, depth - 1);
        returned++;
        return value + 1;
    }
    switch (way) {
    case THROW:
        throw 1;
    case JUMP:
        longjmp(back, 1);
    case TAIL_CALL:
        return finish(depth);
    default:
        returned++;
        return 5;
    }
}
}

static int rounds;

static void *work(void *) {
    for (int round = 0; round < rounds; round++) {
        int way = round % WAYS, depth = (round / WAYS + way) % 4;
        if (way == THROW || way == JUMP)
            left += depth + 1;
        try {
            if (way != JUMP || setjmp(back) == 0)
                submit(way, depth);
        } catch (int) {
        }
    }
    return nullptr;
}

int main(int count, char **arguments) {
    rounds = count > 1 ? atoi(arguments[1]) : 1;
    char byte;
    if (read(0, &byte, 1) != 1)
        return 1;
    pthread_t threads[4];
    for (auto &thread : threads)
        pthread_create(&thread, nullptr, work, nullptr);
    for (auto &thread : threads)
        pthread_join(thread, nullptr);
    printf("%ld %ld %ld\n", returned.load(), ended_in_tail_call.load(), left.load());
    return 0;
}
