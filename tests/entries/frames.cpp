// Marks parameters that are gone from their registers in frames of all sorts, and prints them: recursion, tail
// calls, longjmp, exceptions, contexts that go on in another thread, fork. With an argument it waits in a
// frame for a line on its standard input first.
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "simple_marker.h"

#define OUT_OF_LINE __attribute__((noinline, noclone))

/// Overwrites the registers that parameters are passed in.
OUT_OF_LINE static void work()
{
    __asm__ volatile("xor %%edi, %%edi; xor %%esi, %%esi; xor %%edx, %%edx" ::: "rdi", "rsi", "rdx", "rcx", "r8", "r9",
                     "r10", "r11", "memory");
}

/// Prints what a marker has, after it.
OUT_OF_LINE static void say(const char *marker, long value, const char *text = "-")
{
    printf("= %d %s %ld %s\n", gettid(), marker, value, text);
}

OUT_OF_LINE static void recursive(long value, const char *text, int depth)
{
    if (depth > 0) {
        recursive(value * 3 + depth, text + 1, depth - 1);
        say("frames:recursive", value * 3 + depth, text + 1);
    } else {
        work();
    }
    __asm__ volatile("nop");
    simple_mark(frames:recursive, "%ld %s", value, text);
    __asm__ volatile("nop");
}

OUT_OF_LINE static long odd(long value, int depth);

OUT_OF_LINE static long even(long value, int depth)
{
    work();
    simple_mark(frames:even, "%ld", value);
    __asm__ volatile("nop");
    return odd(depth * 11, depth);
}

OUT_OF_LINE static long odd(long value, int depth)
{
    int left = depth - 1;
    work();
    simple_mark(frames:odd, "%ld", value);
    __asm__ volatile("nop");
    return left > 0 ? even(left * 7, left) : 0;
}

OUT_OF_LINE static void jumping(long value, jmp_buf *back, int depth)
{
    work();
    simple_mark(frames:jumping, "%ld", value);
    __asm__ volatile("nop");
    if (depth == 0)
        longjmp(*back, 1);
    jumping(depth * 5, back, depth - 1);
    __asm__ volatile("nop");
}

OUT_OF_LINE static void throwing(long value, int depth)
{
    work();
    simple_mark(frames:throwing, "%ld", value);
    __asm__ volatile("nop");
    if (depth == 0)
        throw depth;
    throwing(depth * 13, depth - 1);
    __asm__ volatile("nop");
}

struct Switch {
    ucontext_t inside, outside;
    char stack[1 << 16];
};

OUT_OF_LINE static void suspended(long value, Switch *at)
{
    swapcontext(&at->inside, &at->outside);
    simple_mark(frames:suspended, "%ld", value);
    __asm__ volatile("nop");
    work();
}

static void inside(unsigned high, unsigned low, int value)
{
    suspended(value, (Switch *)((unsigned long)high << 32 | low));
}

/// Enters a frame on another stack.
static Switch *started(int value)
{
    Switch *at = (Switch *)calloc(1, sizeof *at);
    getcontext(&at->inside);
    at->inside.uc_stack.ss_sp = at->stack;
    at->inside.uc_stack.ss_size = sizeof at->stack;
    at->inside.uc_link = &at->outside;
    makecontext(&at->inside, (void (*)())inside, 3, (unsigned)((unsigned long)at >> 32), (unsigned)(unsigned long)at, value);
    swapcontext(&at->outside, &at->inside);
    return at;
}

/// Leaves it.
static void go_on(Switch *at, int value)
{
    swapcontext(&at->outside, &at->inside);
    say("frames:suspended", value);
    free(at);
}

OUT_OF_LINE static void rounds(int first)
{
    jmp_buf back;
    for (int round = first; round < first + 20; round++) {
        recursive(round, "recursion", 6);
        say("frames:recursive", round, "recursion");
        even(round, 3);
        long tails[] = {round, 33, 14, 22, 7, 11};
        for (int i = 0; i < 6; i++)
            say(i % 2 ? "frames:odd" : "frames:even", tails[i]);
        if (!setjmp(back))
            jumping(round, &back, 3);
        for (int depth = 4; depth > 0; depth--)
            say("frames:jumping", depth == 4 ? round : depth * 5);
        try {
            throwing(round, 3);
        } catch (int) {
        }
        for (int depth = 4; depth > 0; depth--)
            say("frames:throwing", depth == 4 ? round : depth * 13);
    }
}

static void *thread(void *first)
{
    rounds((int)(long)first);
    return 0;
}

static void *other(void *at)
{
    go_on((Switch *)at, 41);
    return 0;
}

/// A child goes on in the frame of its parent.
OUT_OF_LINE static void forking(long value)
{
    pid_t child = fork();
    simple_mark(frames:forking, "%ld", value);
    __asm__ volatile("nop");
    if (child == 0) {
        recursive(5, "child", 1);
        say("frames:recursive", 5, "child");
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, 0, 0);
}

OUT_OF_LINE static void waiting(long value, char *line)
{
    if (!fgets(line, 64, stdin))
        exit(1);
    simple_mark(frames:waiting, "%ld", value);
    __asm__ volatile("nop");
    work();
}

int main(int count, char **arguments)
{
    setvbuf(stdout, 0, _IOLBF, 0);
    char line[64];
    for (int i = 0; i < (count > 1 ? atoi(arguments[1]) : 0); i++) {
        waiting(100 + i, line);
        say("frames:waiting", 100 + i);
    }
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, thread, (void *)(i * 1000));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    // Two frames on other stacks at once; one of them goes on in another thread, and one on a stack that was used before.
    Switch *one = started(40), *two = started(41);
    go_on(one, 40);
    pthread_create(threads, 0, other, two);
    pthread_join(threads[0], 0);
    go_on(started(42), 42);
    fflush(stdout);
    forking(9);
    say("frames:forking", 9);
    return 0;
}
