/* A program of the guest of .ci/kernels whose loader maps libraries. */
#include <stdio.h>

void call(int number);

int main(void) {
    for (int i = 0; i < 50; i++) {
        call(i);
        printf("said %d\n", i);
    }
    return 0;
}
