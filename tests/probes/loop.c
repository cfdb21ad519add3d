// What tests/rust/killed.rs records: a hot loop that ends with its standard input.
#include <simple_marker.h>
#include <stdio.h>
#include <pthread.h>
static void *pass(void *none) {
    char text[24];
    for (unsigned long number = 0;; number++) {
        snprintf(text, sizeof text, "%lu", number);
        simple_probe(loop:pass, "%lu is %s", number, (const char *)text);
    }
    return none;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, pass, 0);
    while (getchar() != EOF) {
    }
}
