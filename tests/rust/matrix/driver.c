/* Loads a library for C and prints what its function gives, as the program does. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int count, char **arguments)
{
	void *library = dlopen(arguments[count - 1], RTLD_NOW);
	uint64_t (*run)(uint32_t) = library ? (uint64_t (*)(uint32_t))dlsym(library, "plugin_run") : NULL;

	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	uint64_t both = run(1);
	printf("%u %u\n", (unsigned)(both >> 32), (unsigned)both);
	return 0;
}
