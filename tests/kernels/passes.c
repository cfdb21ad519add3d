/* What the guest of .ci/kernels watches. Each mode prints what it passes, to the file SAID if there is one: a line
   `said ..` has the text that the marker should have. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <simple_marker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096 };

static __thread int own = 5;
static const char *const names[] = {"first", "second", "third"};

__attribute__((noinline)) static void pass(int number, const char *name) {
    long half = -number / 2;
    __asm__ volatile("nop");
    simple_mark_keep(kernels:pass, "%d is %s, half %ld", number, name, half);
    __asm__ volatile("nop");
    simple_mark_keep(kernels:passed, "%d", number);
    __asm__ volatile("nop");
}

static void marks(int count) {
    for (int i = 0; i < count; i++) {
        pass(i, names[i % 3]);
        printf("said %d is %s, half %d\n", i, names[i % 3], -i / 2);
    }
}

/* The second instruction is one that new kernels rewrite. */
__attribute__((noinline)) static void fast(int count) {
    for (int i = 0; i < count; i++) {
        __asm__ volatile("" : "+r"(i));
        simple_mark_keep_anchor_fast(kernels:fast, "%d %d", i, count - i);
        printf("said %d %d\n", i, count - i);
    }
}

/* Whether the kernel has made a call of that instruction: lea -128(%rsp), %rsp; call. */
static int is_call(void) {
    static const unsigned char call[] = { 0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8 };
    return memmem((const void *)fast, 256, call, sizeof call) != NULL;
}

static void locals(int count) {
    /* On AArch64 the kernel knows where they are once it has switched the thread. */
    usleep(1000);
    for (int i = 0; i < count; i++) {
        own += 3;
        __asm__ volatile("" : : : "memory");
        simple_mark_anchor(kernels:local, "%d", own);
        __asm__ volatile("" : : : "memory");
        printf("said %d\n", own);
    }
}

struct owner { const char *name; int id; };
struct request { int tag; struct owner *owner; struct request *next; short codes[3]; };

/* A value with what its pointers lead to: an owner, a text, and itself. */
__attribute__((noinline)) static void request(struct request *request) {
    simple_mark_anchor(kernels:request, "%p{**}", request);
    __asm__ volatile("" : : "r"(request) : "memory");
}

static void requests(int count) {
    for (int i = 0; i < count; i++) {
        struct owner owner = {names[i % 3], -i};
        struct request value = {i, &owner, i % 2 ? &value : 0, {1, 2, (short)i}};
        request(&value);
        printf("said {tag = %d, owner = 0x%lx {name = 0x%lx \"%s\", id = %d}, next = ", i, (long)&owner, (long)owner.name, owner.name, -i);
        if (value.next)
            printf("0x%lx {tag = %d, owner = 0x%lx, next = 0x%lx, codes = {1, 2, %d}}", (long)&value, i, (long)&owner, (long)&value, i);
        else
            printf("0x0");
        printf(", codes = {1, 2, %d}}\n", i);
    }
}

/* No page of the file was touched before a marker points to its text, which ends in the next page. */
static void pages(int count, const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < count; i++) {
        char text[24] = {0};
        sprintf(text, "the text %d", i);
        if (pwrite(file, text, sizeof text, (long)i * PAGE + PAGE - 6) < 0)
            exit(1);
    }
    if (ftruncate(file, (long)(count + 1) * PAGE))
        exit(1);
    const char *page = mmap(0, (long)(count + 1) * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
    for (int i = 0; i < count; i++) {
        const char *text = page + (long)i * PAGE + PAGE - 6;
        __asm__ volatile("" : "+r"(text));
        simple_mark_keep(kernels:page, "%s", text);
        __asm__ volatile("" : : "r"(text));
        printf("said the text %d\n", i);
    }
}

static int passes;

static int evaluated(int number) {
    printf("said %d %s\n", number, names[number % 3]);
    return number;
}

static void probes(int count) {
    for (passes = 0; passes < count; passes++)
        simple_probe(kernels:probe, "%d %s", evaluated(passes), names[passes % 3]);
}

__attribute__((noinline)) static void inner(int number) {
    /* Without a call gcc makes a frame only for what is in memory. */
    volatile int kept = number;
    __asm__ volatile("nop");
    simple_mark_keep(kernels:deep, "%d", number);
    __asm__ volatile("nop");
    (void)kept;
}
__attribute__((noinline)) static void middle(int number) {
    inner(number + 1);
    __asm__ volatile("nop");
}
__attribute__((noinline)) static void outer(int number) {
    middle(number + 1);
    __asm__ volatile("nop");
}

/* Prints the numbers of its children. */
static void children(int count) {
    for (int i = 0; i < count; i++) {
        int child = fork();
        if (child == 0)
            _exit(0);
        printf("said %d\n", child);
        fflush(stdout);
        waitpid(child, 0, 0);
    }
}

/* Uses the CPU in a child, and prints its number and its CPU time in us. */
static void work(int ms) {
    int child = fork();
    struct rusage used;
    if (child == 0) {
        do
            getrusage(RUSAGE_SELF, &used);
        while (used.ru_utime.tv_sec * 1000 + used.ru_utime.tv_usec / 1000 + used.ru_stime.tv_sec * 1000 +
                   used.ru_stime.tv_usec / 1000 < ms);
        _exit(0);
    }
    wait4(child, 0, 0, &used);
    printf("said %d %ld\n", child,
           used.ru_utime.tv_sec * 1000000L + used.ru_utime.tv_usec + used.ru_stime.tv_sec * 1000000L + used.ru_stime.tv_usec);
}

extern const unsigned char __executable_start[], etext[];

static unsigned long code(void) {
    unsigned long sum = 0;
    for (const unsigned char *at = __executable_start; at < etext; at++)
        sum = sum * 31 + *at;
    return sum;
}

/* Passes a marker every few ms until the file is removed. Prints how often, and whether the code had probes at
   some time, and has them now. */
static void lasts(const char *path) {
    unsigned long before = code();
    int had = 0, count = 0;
    for (; access(path, F_OK) == 0; count++) {
        pass(count, "lasting");
        had |= code() != before;
        usleep(3000);
    }
    printf("said %d passes, probes %s, now %s\n", count, had ? "seen" : "never seen", code() == before ? "gone" : "there");
}

int main(int count, char **words) {
    int number = count > 2 ? atoi(words[2]) : 10;
    const char *mode = count > 1 ? words[1] : "", *path = count > 3 ? words[3] : "";
    const char *said = getenv("SAID");
    if (said && !freopen(said, "w", stdout))
        return 2;
    if (!strcmp(mode, "marks"))
        marks(number);
    else if (!strcmp(mode, "fast"))
        fast(number), puts(is_call() ? "a call" : "no call");
    else if (!strcmp(mode, "locals"))
        locals(number);
    else if (!strcmp(mode, "requests"))
        requests(number);
    else if (!strcmp(mode, "pages"))
        pages(number, path);
    else if (!strcmp(mode, "probes"))
        probes(number);
    else if (!strcmp(mode, "stack"))
        outer(number);
    else if (!strcmp(mode, "children"))
        children(number);
    else if (!strcmp(mode, "work"))
        work(number);
    else if (!strcmp(mode, "lasts"))
        lasts(words[2]);
    else
        return 2;
    return 0;
}
