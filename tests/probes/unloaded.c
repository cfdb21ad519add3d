// Loads and unloads a library with a recorder (plugin.c), and calls it on the first thread, on one that ends
// before the library is unloaded, and on one that outlives it, while a timer interrupts the first thread.
// unloaded LIBRARY CYCLES MILLISECONDS: waits in each cycle. Prints how many mappings there are at the end.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
static void (*pass)(unsigned, unsigned);
static unsigned cycle;
static pthread_barrier_t begin, end;
static void *once(void *unused) {
    pass(cycle, 1);
    return unused;
}
static void *forever(void *unused) {
    for (;;) {
        pthread_barrier_wait(&begin);
        pass(cycle, 2);
        pthread_barrier_wait(&end);
    }
    return unused;
}
static void on_alarm(int signal) { (void)signal; }
static int mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    int letter, lines = 0;
    while ((letter = getc(maps)) != EOF)
        lines += letter == '\n';
    fclose(maps);
    return lines;
}
int main(int count, char **arguments) {
    unsigned cycles = count > 2 ? (unsigned)atoi(arguments[2]) : 1;
    pthread_t thread;
    pthread_barrier_init(&begin, 0, 2);
    pthread_barrier_init(&end, 0, 2);
    pthread_create(&thread, 0, forever, 0);
    // The kernel looks at the restartable sequence of a thread that is interrupted.
    signal(SIGALRM, on_alarm);
    struct itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, 0);
    for (cycle = 0; cycle < cycles; cycle++) {
        void *library = dlopen(arguments[1], RTLD_NOW);
        if (!library || !(*(void **)&pass = dlsym(library, "pass"))) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        // A tool arms a library a while after it was loaded.
        struct timespec left = {0, count > 3 ? atoi(arguments[3]) * 1000000L : 0};
        while (nanosleep(&left, &left))
            ;
        pthread_barrier_wait(&begin);
        pthread_t short_one;
        pthread_create(&short_one, 0, once, 0);
        pass(cycle, 0);
        pthread_join(short_one, 0);
        pthread_barrier_wait(&end);
        if (dlclose(library))
            return 2;
    }
    printf("%d\n", mappings());
}
