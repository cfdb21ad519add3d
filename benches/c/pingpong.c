/* Two processes on one CPU pass a byte through pipes: two switches a round.
   pingpong ROUNDS [ROUNDS_A_SECOND]: prints the CPU time and the time of a switch in ns. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static double used(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

int main(int count, char **arguments)
{
    long rounds = count > 1 ? atol(arguments[1]) : 100000;
    double rate = count > 2 ? atof(arguments[2]) : 0;
    int there[2], back[2];
    char byte = 0;
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(0, &cpu);
    sched_setaffinity(0, sizeof cpu, &cpu);
    if (pipe(there) || pipe(back))
        return 1;
    if (fork() == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
            ;
        _exit(0);
    }
    double from = now();
    for (long i = 0; i < rounds; i++) {
        /* In bursts, of which there are 500 in a second. */
        if (rate > 0 && i % (long)(rate / 500) == 0) {
            double left = from + i / rate * 1e9 - now();
            if (left > 0) {
                struct timespec time = { 0, (long)left };
                nanosleep(&time, 0);
            }
        }
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            return 1;
    }
    double to = now();
    close(there[1]);
    wait(0);
    printf("%.0f %.0f\n", (used(RUSAGE_SELF) + used(RUSAGE_CHILDREN)) / rounds / 2, (to - from) / rounds / 2);
    return 0;
}
