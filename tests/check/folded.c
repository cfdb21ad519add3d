// Two functions with the same code, which a linker merges (--icf=all).
#include "simple_marker.h"

int get_depth(int *queue);
int get_depth(int *queue)
{
    simple_mark(check:marker, "");
    return queue[3] * 5 + queue[1];
}

int get_size(int *list);
int get_size(int *list)
{
    simple_mark(check:other, "");
    return list[3] * 5 + list[1];
}

int main(int argc, char **argv)
{
    int values[4] = { argc, argc + 1, (int)(long)argv, 3 };
    __asm__ volatile("" : : "r"(values) : "memory");
    return get_depth(values) + get_size(values);
}
