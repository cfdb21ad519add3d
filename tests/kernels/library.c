/* A library that the guest of .ci/kernels watches: what it passes is printed by the program. */
#include <simple_marker.h>

void call(int number);

void call(int number) {
    simple_mark_keep_anchor(library:call, "%d", number);
}
