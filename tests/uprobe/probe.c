/*
 * Runs one of the functions of probe.S a number of times: `probe INDEX TIMES` prints a number made of all that the instruction
 * left behind, and `stepped` if the kernel has executed an instruction out of line for a uprobe, else `inline`. Without arguments: the
 * instructions, each with its offset in the file, its address, its bytes and its text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

struct test {
	void (*run)(void);
	const unsigned char *at;
	const char *text;
};

extern struct test __start_tests[], __stop_tests[];
extern uint64_t left[64], memory[64];
extern const unsigned char __executable_start[];

/* The kernel maps this page into a process when it first executes an instruction out of line there. */
static int has_stepped(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;

	if (!maps)
		abort();
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "[uprobes]") != NULL;
	fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	uint64_t hash = 0;

	if (argc < 3) {
		for (struct test *test = __start_tests; test < __stop_tests; test++) {
			printf("%td %#lx ", test->at - __executable_start, (unsigned long)test->at);
			for (int i = 0; i < 16; i++)
				printf("%02x", test->at[i]);
			printf(" %s\n", test->text);
		}
		return 0;
	}
	/* Addresses of the stack are among what is left behind. */
	if (personality(0xffffffff) != ADDR_NO_RANDOMIZE) {
		personality(ADDR_NO_RANDOMIZE);
		execv("/proc/self/exe", argv);
	}
	for (int i = atoi(argv[2]); i > 0; i--) {
		memset(left, 0, 64 * sizeof(*left));
		for (int j = 0; j < 64; j++)
			memory[j] = 0x0101010101010101u * (j + 1);
		__start_tests[atoi(argv[1])].run();
		left[1] -= left[2];
		left[2] = 0;
		for (int j = 0; j < 64; j++)
			hash = (hash ^ (left[j] + memory[j] * 3)) * 0x9e3779b97f4a7c15u + 1;
	}
	printf("%016lx %s\n", hash, has_stepped() ? "stepped" : "inline");
	return 0;
}
