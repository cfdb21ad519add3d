/* A thread that waits in known functions, inside and outside of intervals, and what it measures itself.
   `waits ROUNDS` prints a line for each function: its name, and how long the thread was neither on a CPU nor queued for one
   there, in ns. `waits ROUNDS hand` has intervals that another thread ends. The system calls are made in the functions
   themselves: a C library without frame pointers would hide them. */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "simple_marker.h"

static inline __attribute__((always_inline)) long call_kernel(long number, long a, long b, long c, long d) {
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return result;
}

static long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int schedstat;

static long queued(void) {
    char text[128] = "";
    long cpu, queued = 0;
    if (pread(schedstat, text, sizeof text - 1, 0) > 0) sscanf(text, "%ld %ld", &cpu, &queued);
    return queued;
}

/* How long the thread was blocked until now, but for a constant. */
static long blocked(void) {
    long waited, time;
    do {
        waited = queued();
        time = now(CLOCK_MONOTONIC) - now(CLOCK_THREAD_CPUTIME_ID) - waited;
    } while (queued() != waited);
    return time;
}

static volatile int lock;
static int ask[2], answer[2];
volatile int sink;

__attribute__((noinline)) static void lock_wait(void) {
    lock = 1;
    if (write(ask[1], "l", 1) != 1) exit(1);
    while (lock) call_kernel(SYS_futex, (long)&lock, FUTEX_WAIT_PRIVATE, 1, 0);
    sink++;
}

__attribute__((noinline)) static void pipe_wait(void) {
    char byte;
    if (write(ask[1], "p", 1) != 1) exit(1);
    if (call_kernel(SYS_read, answer[0], (long)&byte, 1, 0) != 1) exit(1);
    sink++;
}

static inline __attribute__((always_inline)) void sleep_for(long ns) {
    struct timespec time = {0, ns};
    call_kernel(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&time, 0);
}

__attribute__((noinline)) static void sleep_wait(void) {
    sleep_for(2000000);
    sink++;
}

__attribute__((noinline)) static void burn(void) {
    for (long end = now(CLOCK_MONOTONIC) + 5000000; now(CLOCK_MONOTONIC) < end;) {
        for (int i = 0; i < 10000; i++) sink += i;
    }
}

__attribute__((noinline)) static void outside_wait(void) {
    sleep_for(3000000);
    sink++;
}

__attribute__((noinline)) static void outside_burn(void) {
    for (long end = now(CLOCK_MONOTONIC) + 3000000; now(CLOCK_MONOTONIC) < end;) {
        for (int i = 0; i < 10000; i++) sink += i;
    }
}

/* Answers after a while, in no interval. */
static void *helper(void *unused) {
    char kind;
    while (read(ask[0], &kind, 1) == 1) {
        outside_wait();
        if (kind == 'l') {
            lock = 0;
            call_kernel(SYS_futex, (long)&lock, FUTEX_WAKE_PRIVATE, 1, 0);
        } else if (write(answer[1], "p", 1) != 1) {
            exit(1);
        }
    }
    return unused;
}

__attribute__((noinline)) static void begin(int id) {
    simple_mark_keep(waits:begin, "%d", id);
    sink = id;
}
__attribute__((noinline)) static void end(int id) {
    simple_mark_keep(waits:end, "%d", id);
    sink = id + 1;
}

static long sums[3];
static volatile int handed, is_over;

/* Ends the intervals of the other thread. */
static void *ender(void *unused) {
    for (int id = 0; !is_over;) {
        if (handed > id) end(++id);
        outside_wait();
    }
    return unused;
}

__attribute__((noinline)) static void hand(int rounds) {
    pthread_t thread;
    pthread_create(&thread, 0, ender, 0);
    for (int id = 1; id <= rounds; id++) {
        begin(id);
        sleep_wait();
        handed = id;
        for (int i = 0; i < 4; i++) outside_wait();
    }
    is_over = 1;
    pthread_join(thread, 0);
}

int main(int count, char **arguments) {
    int rounds = count > 1 ? atoi(arguments[1]) : 10;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
    schedstat = open(path, O_RDONLY);
    if (pipe(ask) || pipe(answer) || schedstat < 0) return 1;
    if (count > 2) {
        hand(rounds);
        return 0;
    }
    void (*const waits[])(void) = {lock_wait, pipe_wait, sleep_wait};
    pthread_t thread;
    pthread_create(&thread, 0, helper, 0);
    for (int id = 0; id < rounds; id++) {
        begin(id);
        for (int i = 0; i < 3; i++) {
            long before = blocked();
            waits[i]();
            sums[i] += blocked() - before;
        }
        burn();
        end(id);
        outside_wait();
        outside_burn();
    }
    printf("lock_wait %ld\npipe_wait %ld\nsleep_wait %ld\n", sums[0], sums[1], sums[2]);
    return 0;
}
