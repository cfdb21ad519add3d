#include "comdat.h"

int other(int x);

int other(int x)
{
    return common(x) + 1;
}
