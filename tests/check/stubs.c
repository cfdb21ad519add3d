// The functions that these programs call, in a separate file that their compiler does not see.
int work(int a) { __asm__ volatile("" ::: "memory"); return a + 1; }
int finish(int a) { __asm__ volatile("" ::: "memory"); return a - 1; }
long begin(void) { __asm__ volatile("" ::: "memory"); return 1; }
long extent(void) { __asm__ volatile("" ::: "memory"); return 2; }
void die(int code) { for (;;) __asm__ volatile("" : : "r"(code) : "memory"); }
void fill(int *slots) { __asm__ volatile("" : : "r"(slots) : "memory"); }
__attribute__((weak)) int main(void) { return 0; }
