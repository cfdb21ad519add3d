/* Compiled without debug information: a function folded with one of shared_address.c has only a symbol. */
int undescribed(int x);

int undescribed(int x)
{
    return x * 9 + 7;
}
