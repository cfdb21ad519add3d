/* The tables of a Linux kernel for x86-64, as its headers write them (asm/extable.h, asm/alternative.h, asm/jump_label.h). */
#include "simple_marker.h"

#define NOINLINE __attribute__((noinline))
#define ALTERNATIVE(from, to, new, new_end)                                                                               \
    ".pushsection .altinstructions, \"a\"\n"                                                                             \
    ".long " from " - ., " new " - .\n.word 1\n.byte " to " - " from ", " new_end " - " new "\n.popsection\n"

__attribute__((section(".gnu.linkonce.this_module"))) char this_module[64] = "tables";
__attribute__((section(".init.text"))) int initial(void) { return 1; }

NOINLINE int faults(int *p, int x)
{
    __asm__ volatile("1: mov (%1), %0\n2:\n"
                     ".pushsection __ex_table, \"a\"\n.balign 4\n.long 1b - ., 2b - .\n.long 3\n.popsection"
                     : "+r"(x) : "r"(p));
    simple_mark(tables:fixup, "%d", x);
    return x * 3;
}

NOINLINE int faults_not(int *p, int x)
{
    __asm__ volatile("mov (%1), %0" : "+r"(x) : "r"(p));
    simple_mark(tables:plain, "%d", x);
    return x * 5;
}

/* A jump without any remaining code. */
NOINLINE int feature(int x)
{
    __asm__ goto("140: jmp %l[no]\n141:\n" ALTERNATIVE("140b", "141b", "142f", "142f")
                 ".pushsection .altinstr_replacement, \"ax\"\n142:\n.popsection" : : : : no);
    simple_mark(tables:feature, "%d", x);
    return x * 7;
no:
    return x + 1;
}

/* A no-operation that becomes a jump. */
NOINLINE int feature_not(int x)
{
    __asm__ goto("140: .byte 0x0f, 0x1f, 0x44, 0, 0\n141:\n" ALTERNATIVE("140b", "141b", "142f", "143f")
                 ".pushsection .altinstr_replacement, \"ax\"\n142: jmp %l[yes]\n143:\n.popsection" : : : : yes);
    return x + 2;
yes:
    simple_mark(tables:replaced, "%d", x);
    return x * 9;
}

NOINLINE int within(int x)
{
    __asm__ volatile("140: nop");
    simple_mark(tables:within, "%d", x);
    __asm__ volatile("nop\n141:\n" ALTERNATIVE("140b", "141b", "142f", "143f")
                     ".pushsection .altinstr_replacement, \"ax\"\n142: pause\n143:\n.popsection");
    return x * 11;
}

/* A static key. */
NOINLINE int key(int x)
{
    __asm__ goto("1: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
                 ".pushsection __jump_table, \"aw\"\n.balign 8\n.long 1b - ., %l[yes] - .\n.quad 0\n.popsection" : : : : yes);
    return x + 3;
yes:
    simple_mark(tables:key, "%d", x);
    return x * 13;
}

int _start(void)
{
    int x = 1;
    return faults(&x, 1) + faults_not(&x, 2) + feature(3) + feature_not(4) + within(5) + key(6) + initial();
}
