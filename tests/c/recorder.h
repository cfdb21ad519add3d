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

#if defined RECORDER && defined __x86_64__
#if defined __clang__
#define FOR_ASSEMBLY __attribute__((used))
#else
#define FOR_ASSEMBLY __attribute__((used, externally_visible))
#endif
FOR_ASSEMBLY uint64_t recorded[16];
FOR_ASSEMBLY int records;
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
#endif

#endif
