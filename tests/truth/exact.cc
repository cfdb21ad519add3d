#include "exact.c"
