// A jump table that the linker fills in. The object file does not have its targets.
#include "simple_marker.h"

int work(int);

int step(int state);
int step(int state)
{
    switch (state) {
    case 0:
        simple_mark(check:marker, "");
        break;
    case 1:
        return work(5);
    case 2:
        return work(7) + 1;
    case 3:
        return work(9) * 3;
    case 4:
        return work(1) - 3;
    case 5:
        return work(17) ^ 3;
    }
    return work(state);
}
