/* Compiled without debug information: what is folded with a function of shared_address.c is known by its symbol only. */
int undescribed(int x);

int undescribed(int x)
{
    return x * 9 + 7;
}
