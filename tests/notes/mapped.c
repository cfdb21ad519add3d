/* mapped FILE BIAS START SIZE: maps what a loader would load of an ELF file of 64 bits, without running it, and SIZE bytes at
   START, each made of its own address. Then a debugger may read both. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map(uint64_t start, uint64_t end)
{
    start &= -4096;
    void *at = mmap((void *) start, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at == MAP_FAILED)
        exit(2);
    return at;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 1;
    uint64_t bias = strtoull(argv[2], 0, 0), start = strtoull(argv[3], 0, 0), size = strtoull(argv[4], 0, 0);
    int file = open(argv[1], O_RDONLY);
    Elf64_Ehdr header;
    if (pread(file, &header, sizeof header, 0) != sizeof header)
        return 1;
    for (int i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;
        if (pread(file, &part, sizeof part, header.e_phoff + (uint64_t) i * header.e_phentsize) != sizeof part)
            return 1;
        if (part.p_type != PT_LOAD)
            continue;
        uint64_t at = part.p_vaddr + bias;
        map(at, at + part.p_memsz);
        for (uint64_t done = 0; done < part.p_filesz;) {
            ssize_t count = pread(file, (char *) at + done, part.p_filesz - done, part.p_offset + done);
            if (count <= 0)
                return 1;
            done += count;
        }
    }
    unsigned char *bytes = map(start, start + size);
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = ((start + i) * 0x9e3779b97f4a7c15u) >> 56;
    raise(SIGTRAP);
    return 0;
}
