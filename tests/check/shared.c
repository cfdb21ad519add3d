// The marker is last on its path. The instruction at its address is on another path too.
#include "simple_marker.h"

int work(int);

int submit(int request, int *last);
int submit(int request, int *last)
{
    if (request > 10) {
        request = work(request);
#ifdef FIXED
        simple_mark_anchor(check:marker, "%d", request);
#else
        simple_mark(check:marker, "%d", request);
#endif
    }
    *last = request;
    return 3;
}

int main(int argc, char **argv)
{
    (void)argv;
    int last;
    return submit(argc, &last) + last;
}
