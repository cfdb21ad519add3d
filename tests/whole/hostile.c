/* Values whose pointers and lengths are wrong, each at a marker: `hostile EXPECTED [HITS [ELEMENTS]]`. It writes what
   must be shown for each value to the file EXPECTED if at most ELEMENTS (16) are, passes the markers in turn until there
   were HITS hits (once each), and prints what a pass took. It fails if a signal came, or if its memory is another one
   afterwards.

   `hostile slow HITS` passes a value of 168 pointers, each to another page behind the end of a file, and prints what a
   pass took. `hostile stuck THREADS` has so many threads at a marker whose value is on a page that never comes, and says so. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <simple_marker.h>

#define PAGE 4096ul
#define HUGE (2ul << 20)
#define MOST 256 /* elements that are shown at most */

struct sequence { long *data; size_t length; };
struct text { char *data; size_t length; };
struct range { long *start, *end; };
struct ring { long *data; size_t head, length, capacity; };
struct table { uint8_t *control; size_t mask, length; long *entry; };
struct leaf { uint16_t count; long keys[11]; };
struct inner { struct leaf leaf; struct leaf *edges[12]; };
struct b_tree { struct leaf *root; size_t height, length; long *key; struct inner *inner; };
struct node { struct node *next; long value; };
struct list { struct node *first; size_t length; };
struct branch { struct branch *left, *right; long value; };
struct tree { struct branch *root; size_t length; };
struct pair { long a, b; };
struct owner { struct pair *to; };
struct small { size_t capacity; long inside[2]; long *data; size_t length; };
struct chain { struct chain *next; char *name; };
struct scalars { char *name; long *number; };

struct any {
    union {
        struct sequence sequence; struct text text; struct range range; struct ring ring; struct table table;
        struct b_tree b_tree; struct list list; struct tree tree; struct owner owner; struct small small;
        struct chain chain; struct scalars scalars;
    };
};

#define MARK(type, format)                                                      \
    __attribute__((noinline)) static void pass_##type(struct any *any)          \
    {                                                                           \
        struct type *value = &any->type;                                        \
        simple_mark_anchor(hostile:type, format, value);                        \
        __asm__ volatile("" : : "r"(value) : "memory");                         \
    }
MARK(sequence, "%p{}")
MARK(text, "%p{}")
MARK(range, "%p{}")
MARK(ring, "%p{}")
MARK(table, "%p{}")
MARK(b_tree, "%p{}")
MARK(list, "%p{}")
MARK(tree, "%p{}")
MARK(owner, "%p{}")
MARK(small, "%p{}")
MARK(chain, "%p{****}")

__attribute__((noinline)) static void pass_scalars(struct any *any)
{
    struct scalars *value = &any->scalars;
    simple_mark_anchor(hostile:scalars, "%s %ld", value->name, *value->number);
    __asm__ volatile("" : : "r"(value) : "memory");
}

struct value { const char *type; void (*pass)(struct any *); struct any *any; char *expected; long worst, sum, times; };
static struct value values[512];
static int count;

#define VALUE(type_, expected_, ...)                                            \
    do {                                                                        \
        struct any *any = calloc(1, sizeof *any);                               \
        any->type_ = (struct type_){ __VA_ARGS__ };                             \
        values[count++] = (struct value){ #type_, pass_##type_, any, expected_, 0, 0, 0 }; \
    } while (0)

static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    va_end(arguments);
    return text;
}

static char *mapped(size_t size, int protection)
{
    char *memory = mmap(0, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

/* No memory of this address can be read. */
static void unreadable(void *address)
{
    unsigned long at = (unsigned long)address;
    VALUE(sequence, text_of("<unreadable: 2 at %#lx>", at), address, 2);
    VALUE(text, "<unreadable>", address, 5);
    VALUE(scalars, "<unreadable> <unreadable>", address, address);
    VALUE(range, text_of("{<unreadable: 8 at %#lx>, <unreadable: 8 at %#lx>}", at, at + 8), address, (long *)(at + 16));
    VALUE(ring, text_of("{<unreadable: 8 at %#lx>, <unreadable: 8 at %#lx>}", at + 8, at), address, 1, 2, 2);
    VALUE(table, text_of("<unreadable: 4 at %#lx>", at), address, 3, 1, 0);
    VALUE(b_tree, text_of("<unreadable: 2 at %#lx>", at), address, 0, 1, 0, 0);
    VALUE(list, text_of("{<unreadable: 8 at %#lx>, ..}", at + 8), address, 2);
    VALUE(tree, text_of("<unreadable: 8 at %#lx>", at), address, 1);
    VALUE(owner, text_of("%#lx", at), address);
    VALUE(small, text_of("<unreadable: 3 at %#lx>", at), 9, { 1, 2 }, address, 3);
    VALUE(chain, text_of("{next = %#lx, name = %#lx}", at, at), address, address);
}

static void *thread(void *found)
{
    pthread_attr_t attributes;
    void *low;
    size_t size, guard;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_getguardsize(&attributes, &guard);
    *(char **)found = (char *)low - (guard ? PAGE : 0);
    pause();
    return 0;
}

static volatile sig_atomic_t signals;
static void on_signal(int number) { (void)number; signals++; _exit(9); }

static unsigned long sum_of(void)
{
    unsigned long sum = 0;
    for (int i = 0; i < count; i++)
        for (size_t at = 0; at < sizeof(struct any) / 8; at++)
            sum = sum * 31 + ((unsigned long *)values[i].any)[at];
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    while (fgets(line, sizeof line, maps))
        if (!strstr(line, "[heap]"))
            for (char *at = line; *at; at++)
                sum = sum * 31 + *at;
    fclose(maps);
    return sum;
}

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

struct pointers { struct pair *to[168]; };
static struct pointers pointers;

__attribute__((noinline)) static void pass_pointers(struct pointers *value)
{
    simple_mark_anchor(hostile:pointers, "%p{**}", value);
    __asm__ volatile("" : : "r"(value) : "memory");
}

static int compare(const void *left, const void *right)
{
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

static int slow(long hits)
{
    char name[] = "/tmp/hostile-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    char *pages = mmap(0, 168 * PAGE, PROT_READ, MAP_SHARED, file, 0);
    for (int i = 0; i < 168; i++)
        pointers.to[i] = (struct pair *)(pages + i * PAGE);
    long *times = calloc(hits, sizeof *times);
    for (long hit = 0; hit < hits; hit++) {
        long start = now();
        pass_pointers(&pointers);
        times[hit] = now() - start;
    }
    qsort(times, hits, sizeof *times, compare);
    printf("%ld hits: half took at most %ld ns, 99 of 100 at most %ld ns, all at most %ld ns\n", hits, times[hits / 2],
        times[hits - 1 - hits / 100], times[hits - 1]);
    return 0;
}

static struct any stuck_value;

static void *pass_stuck(void *unused)
{
    (void)unused;
    pass_owner(&stuck_value);
    return 0;
}

static int stuck(long threads)
{
    int handler = syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = { .api = UFFD_API };
    char *page = mapped(PAGE, PROT_READ | PROT_WRITE);
    struct uffdio_register range = { { (unsigned long)page, PAGE }, UFFDIO_REGISTER_MODE_MISSING, 0 };
    if (handler < 0 || ioctl(handler, UFFDIO_API, &api) || ioctl(handler, UFFDIO_REGISTER, &range))
        return 4;
    stuck_value.owner.to = (struct pair *)page;
    pthread_t other;
    for (long i = 0; i < threads; i++)
        pthread_create(&other, 0, pass_stuck, 0);
    /* Each of them, or as many as can wait, makes a fault. */
    struct uffd_msg fault;
    if (read(handler, &fault, sizeof fault) != sizeof fault)
        return 4;
    usleep(20000);
    puts("stuck");
    fflush(stdout);
    pause();
    return 0;
}

int main(int arguments, char **words)
{
    if (arguments < 2)
        return 2;
    long hits = arguments > 2 ? atol(words[2]) : 0, elements = arguments > 3 ? atol(words[3]) : 16;
    if (strcmp(words[1], "slow") == 0)
        return slow(hits);
    if (strcmp(words[1], "stuck") == 0)
        return stuck(hits);
    for (int number = 1; number < 32; number++)
        signal(number, on_signal);

    /* Addresses that cannot be read. */
    char *gone = mapped(PAGE, PROT_READ);
    munmap(gone, PAGE);
    unreadable(gone);
    unreadable(mapped(PAGE, PROT_NONE));
    char name[] = "/tmp/hostile-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    if (ftruncate(file, 2 * PAGE))
        return 3;
    char *cut = mmap(0, 2 * PAGE, PROT_READ, MAP_SHARED, file, 0);
    if (ftruncate(file, PAGE))
        return 3;
    unreadable(cut + PAGE);
    char *guarded = 0;
    pthread_t other;
    pthread_create(&other, 0, thread, &guarded);
    while (!*(char *volatile *)&guarded)
        usleep(1000);
    unreadable(guarded);
    unreadable((void *)8);
    unreadable((void *)0xffffffff81000000);
    unreadable((void *)0xffff888000000000);
    unreadable((void *)0xffffffffff600000);
    unreadable((void *)0x8000000000000000);
    unreadable((void *)0x0000800000000000);
    unreadable((void *)0x00ffffffffff0000);
    /* A structure that goes on behind the end of its mapping, of a file or of nothing. */
    char *before = mapped(2 * PAGE, PROT_READ | PROT_WRITE);
    mprotect(before + PAGE, PAGE, PROT_NONE);
    long *last = (long *)(before + PAGE - 8);
    *last = 77;
    unsigned long at = (unsigned long)last;
    VALUE(sequence, text_of("<unreadable: 2 at %#lx>", at), last, 2);
    VALUE(sequence, "{77}", last, 1);
    VALUE(owner, text_of("%#lx", at), (struct pair *)last);
    VALUE(text, "<unreadable>", (char *)last, 9);
    VALUE(text, "\"M\\0\\0\"", (char *)last, 3);
    VALUE(scalars, "M 77", (char *)last, last);
    VALUE(list, text_of("{<unreadable: 8 at %#lx>}", at + 8), (struct node *)last, 1);
    VALUE(chain, text_of("{next = %#lx, name = %#lx \"\"}", at, (unsigned long)cut + PAGE - 1), (struct chain *)last,
        cut + PAGE - 1);
    static long single = 1;
    char *endless = mapped(2 * PAGE, PROT_READ | PROT_WRITE);
    mprotect(endless + PAGE, PAGE, PROT_NONE);
    memset(endless, 'x', PAGE);
    VALUE(chain, text_of("{next = 0x0, name = %#lx}", (unsigned long)endless + PAGE - 3), 0, endless + PAGE - 3);
    VALUE(scalars, "<unreadable> 1", endless + PAGE - 3, &single);
    at = (unsigned long)(cut + PAGE - 8);
    VALUE(sequence, text_of("<unreadable: 2 at %#lx>", at), (long *)(cut + PAGE - 8), 2);
    VALUE(sequence, "{0}", (long *)(cut + PAGE - 8), 1);

    /* Memory that can be read: of a device, of large pages, that no one has touched. */
    int zero = open("/dev/zero", O_RDONLY);
    long *zeros = mmap(0, PAGE, PROT_READ, MAP_PRIVATE, zero, 0);
    VALUE(sequence, "{0, 0, 0}", zeros, 3);
    VALUE(list, "{0}", (struct node *)zeros, 1);
    VALUE(list, "<inconsistent>", (struct node *)zeros, 2);
    char *huge = mmap(0, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    int is_huge = huge != MAP_FAILED;
    if (!is_huge) {
        char *room = mapped(2 * HUGE, PROT_READ | PROT_WRITE);
        huge = (char *)(((unsigned long)room + HUGE - 1) & -HUGE);
        madvise(huge, HUGE, MADV_HUGEPAGE);
    }
    long *of_huge = (long *)(huge + HUGE / 2);
    of_huge[1] = 5;
    VALUE(sequence, "{0, 5}", of_huge, 2);
    VALUE(sequence, "{0, 0}", (long *)mapped(PAGE, PROT_READ), 2);

    /* Lengths and capacities. */
    static long numbers[MOST];
    char *many = "{";
    for (long i = 0; i < MOST; i++) {
        numbers[i] = i;
        many = i < elements ? text_of("%s%ld, ", many, i) : many;
    }
    many = text_of("%s..}", many);
    VALUE(sequence, "<inconsistent>", numbers, 1ul << 63);
    VALUE(sequence, "<inconsistent>", numbers, 1ul << 60);
    VALUE(sequence, "<inconsistent>", numbers, -1ul);
    VALUE(sequence, many, numbers, (1ul << 60) - 1);
    VALUE(sequence, "{}", numbers, 0);
    VALUE(sequence, "{..}", 0, 3);
    static char letters[300];
    memset(letters, 'a', sizeof letters);
    VALUE(text, text_of("\"%.256s\"..", letters), letters, 1ul << 63);
    VALUE(range, "<inconsistent>", numbers + 2, numbers);
    VALUE(range, "<inconsistent>", numbers, (long *)((char *)numbers + 9));
    VALUE(range, many, numbers, (long *)((unsigned long)numbers + (1ul << 62)));
    VALUE(range, "{}", 0, 0);
    VALUE(ring, "<inconsistent>", numbers, 0, 5, 4);
    VALUE(ring, "<inconsistent>", numbers, 9, 2, 4);
    VALUE(ring, "{3, 0, 1}", numbers, 3, 3, 4);
    VALUE(ring, "{0, 1}", numbers, 4, 2, 4);
    VALUE(ring, many, numbers, 0, 1ul << 62, -1ul);
    VALUE(ring, "<inconsistent>", numbers, 1ul << 63, 1ul << 63, 1ul << 62);
    static struct { long room[4 * MOST], entries[4]; uint8_t control[4 * MOST]; } table = { { 0 }, { 40, 30, 20, 10 } };
    memset(table.control, 0xff, sizeof table.control);
    table.control[1] = table.control[3] = 5;
    VALUE(table, "{[20] = 20, [40] = 40}", table.control, 3, 2, 0);
    VALUE(table, "<inconsistent>", table.control, 3, 4, 0);
    VALUE(table, "<inconsistent>", table.control, 3, 3, 0);
    VALUE(table, "{[20] = 20, [40] = 40, ..}", table.control, 1ul << 63, 16, 0);
    VALUE(table, "{..}", table.control, -1ul, 2, 0);

    /* Circles, and ends that come too early. */
    static struct node nodes[3] = { { nodes + 1, 1 }, { nodes + 2, 2 }, { 0, 3 } };
    static struct node self = { &self, 4 }, two[2] = { { two + 1, 1 }, { two, 2 } };
    VALUE(list, "{1, 2, 3}", nodes, 3);
    VALUE(list, "<inconsistent>", nodes, 4);
    VALUE(list, "<inconsistent>", nodes, 1ul << 63);
    VALUE(list, "<inconsistent>", &self, 2);
    VALUE(list, "<inconsistent>", two, 1ul << 63);
    VALUE(list, "{4}", &self, 1);
    static struct branch leaf = { 0, 0, 2 }, knot = { &knot, &knot, 1 }, twice = { &leaf, &leaf, 1 };
    VALUE(tree, "<inconsistent>", &knot, 1);
    VALUE(tree, "<inconsistent>", &twice, 3);
    VALUE(tree, "<inconsistent>", &leaf, 2);
    VALUE(tree, "{2}", &leaf, 1);
    static struct inner inner = { { 1, { 5 } }, { &inner.leaf, &inner.leaf } };
    static struct leaf full = { 12, { 1 } }, one = { 1, { 9 } };
    VALUE(b_tree, "{[9] = 9}", &one, 0, 1, 0, 0);
    VALUE(b_tree, "<inconsistent>", &one, 0, 2, 0, 0);
    VALUE(b_tree, "<inconsistent>", &full, 0, 12, 0, 0);
    VALUE(b_tree, "<inconsistent>", &inner.leaf, 1ul << 63, 3, 0, 0);
    VALUE(b_tree, "<inconsistent>", &inner.leaf, 1, 1ul << 63, 0, 0);
    static struct chain circle = { &circle, "circle" };
    char *word = text_of("%#lx", (unsigned long)circle.name), *link = text_of("%#lx", (unsigned long)&circle);
    VALUE(chain, text_of("{next = %s {next = %s {next = %s {next = %s, name = %s \"circle\"}, name = %s \"circle\"}, name = %s "
        "\"circle\"}, name = %s \"circle\"}", link, link, link, link, word, word, word, word), &circle, circle.name);
    static struct owner of_itself;
    of_itself.to = (struct pair *)&of_itself;
    VALUE(owner, text_of("{a = %ld, b = 0}", (long)&of_itself), (struct pair *)&of_itself);
    VALUE(small, "{1, 2}", 2, { 1, 2 }, numbers, -1ul);
    VALUE(small, "<inconsistent>", 3, { 1, 2 }, numbers, -1ul);

    FILE *expected = fopen(words[1], "w");
    for (int i = 0; i < count; i++)
        fprintf(expected, "hostile:%s: %s\n", values[i].type, values[i].expected);
    fclose(expected);
    unsigned long sum = sum_of();
    for (long hit = 0; hit < (hits ? hits : count); hit++) {
        struct value *value = &values[hit % count];
        long start = now();
        value->pass(value->any);
        long took = now() - start;
        value->sum += took;
        value->times++;
        value->worst = took > value->worst ? took : value->worst;
    }
    int is_same = sum == sum_of();
    struct value *slowest = values, *worst = values;
    for (int i = 0; i < count; i++) {
        if (values[i].sum * slowest->times > slowest->sum * values[i].times)
            slowest = &values[i];
        if (values[i].worst > worst->worst)
            worst = &values[i];
    }
    printf("%d values, %s pages, %ld hits, %s: on average at most %ld ns (%s %.40s), at most %ld ns (%s %.40s)\n", count,
        is_huge ? "hugetlb" : "transparent", hits, is_same ? "unchanged" : "CHANGED", slowest->sum / (slowest->times ? slowest->times : 1),
        slowest->type, slowest->expected, worst->worst, worst->type, worst->expected);
    return is_same ? 0 : 1;
}
