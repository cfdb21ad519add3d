// A parameter that is not used behind a call: known as what its register had held when the function was entered.
#include "simple_marker.h"

int work(int);
int finish(int);

int submit(int tag);
int submit(int tag)
{
    int status = work(tag);
#ifdef MENDED
    simple_mark_keep(check:marker, "tag %d", tag);
#else
    simple_mark(check:marker, "tag %d", tag);
#endif
    return finish(status);
}
