#include "comdat.h"

int other(int x);

int main(int count, char **)
{
    return common(count) + other(count) - 29;
}
