// A recorder that remembers the descriptor and the words of the last record. It changes no register
// and leaves garbage below the stack pointer, where a red zone must not be.
#ifndef RECORDER_H
#define RECORDER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
extern uint64_t recorded[16];
extern int records;
#ifdef __cplusplus
}
#endif

#if defined RECORDER && (defined __x86_64__ || defined __aarch64__)
#if defined __clang__
#define FOR_ASSEMBLY __attribute__((used))
#else
#define FOR_ASSEMBLY __attribute__((used, externally_visible))
#endif
FOR_ASSEMBLY uint64_t recorded[16];
FOR_ASSEMBLY int records;
#if defined __x86_64__
__asm__(".pushsection .text.recorder,\"ax\",@progbits\n"
        "\t.globl simple_marker_record\n"
        "\t.type simple_marker_record, @function\n"
        "simple_marker_record:\n"
        "\tpushq %rax\n\tpushq %rcx\n\tpushq %rdx\n"
        "\tleaq recorded(%rip), %rdx\n"
        "\tmovl $13, %ecx\n"
        "1:\tmovq 24(%rsp, %rcx, 8), %rax\n"
        "\tmovq %rax, -8(%rdx, %rcx, 8)\n"
        "\tdecl %ecx\n"
        "\tjnz 1b\n"
        "\tincl records(%rip)\n"
        "\tpopq %rdx\n\tpopq %rcx\n\tpopq %rax\n"
        "\tret\n"
        "\t.size simple_marker_record, . - simple_marker_record\n"
        "\t.popsection\n");
#else
/* It changes x16, x17, x30 and the flags, which it may. */
__asm__(".pushsection .text.recorder,\"ax\",%progbits\n"
        "\t.globl simple_marker_record\n"
        "\t.type simple_marker_record, %function\n"
        "\t.balign 4\n"
        "simple_marker_record:\n"
        "\tstp x0, x1, [sp, #-32]!\n"
        "\tadrp x0, recorded\n"
        "\tadd x0, x0, :lo12:recorded\n"
        "\tadd x1, sp, #32\n"
        "\tmov x16, #13\n"
        "1:\tldr x17, [x1], #8\n"
        "\tstr x17, [x0], #8\n"
        "\tsubs x16, x16, #1\n"
        "\tb.ne 1b\n"
        "\tadrp x0, records\n"
        "\tadd x0, x0, :lo12:records\n"
        "\tldr w17, [x0]\n"
        "\tadd w17, w17, #1\n"
        "\tstr w17, [x0]\n"
        "\tldp x0, x1, [sp], #32\n"
        "\tmov x16, x30\n"
        "\tmov x30, #-1\n"
        "\tret x16\n"
        "\t.size simple_marker_record, . - simple_marker_record\n"
        "\t.popsection\n");
#endif
#endif

#endif
