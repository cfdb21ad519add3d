// The escapes that gas reads as C does and LLVM's assembler refuses.
// only: gcc
// runs
#include "simple_marker.h"

int main(void) {
    // expect: name=escapes:gas format="\v?'" args="" sites=1
    simple_mark(escapes:gas, "\v\?\'");
    // expect: name=escapes:escaped format="\\a \\e" args="" sites=1
    simple_mark(escapes:escaped, "\\a \\e");
    // expect: name=escapes:bell format="\007\033" args="" sites=1
    simple_mark(escapes:bell, "\007\x1b");
    return 0;
}
