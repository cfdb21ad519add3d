/*
 * Does what the letters of its input say, and prints a line for each:
 *
 *      .  passes a probe that has three copies, and prints the process, its switch, how often its
 *         arguments were evaluated, and the switch of the library
 *      f  forks: the child goes on, and the parent waits for it
 *      e  executes itself
 *      l  opens the library (the first argument) and passes its probe at each `.`; u closes it
 *      x  exits
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "simple_marker.h"

/* The switches of this program, of which it has one. */
extern const volatile unsigned __start___simple_probe[] __attribute__((visibility("hidden")));

static int evaluated;

static inline __attribute__((always_inline)) void pass(int number)
{
    simple_probe(switched:pass, "%d", (evaluated++, number));
}

__attribute__((noinline)) void first(int number) { pass(number); }
__attribute__((noinline)) void second(int number) { pass(number + 1); }
__attribute__((noinline)) void third(int number) { pass(number + 2); }

int main(int count, char **arguments)
{
    void *library = 0;
    char letter;
    for (int number = 0; read(0, &letter, 1) == 1; number += 3) {
        unsigned (*call)(int) = 0;
        switch (letter) {
        case 'f':
            if (fork())
                wait(0);
            break;
        case 'e':
            printf("%d\n", getpid());
            fflush(stdout);
            execv(arguments[0], arguments);
            return 1;
        case 'l':
            library = dlopen(arguments[1], RTLD_NOW);
            break;
        case 'u':
            dlclose(library);
            library = 0;
            break;
        case 'x':
            return 0;
        case '.':
            first(number);
            second(number);
            third(number);
            break;
        default:
            continue;
        }
        if (library)
            call = (unsigned (*)(int))dlsym(library, "call");
        unsigned of_library = call ? call(number) : 0;
        printf("%d %u %d %u\n", getpid(), *__start___simple_probe, evaluated, of_library);
        fflush(stdout);
    }
    return 0;
}
