/* The assignment is merged with the next use. With `mark; assign` in ORDER it is behind the marker. */
#include <simple_marker.h>
#include <stdio.h>

#define ORDER(mark, assign) assign; mark

__attribute__((noinline)) int late(int used, unsigned short a)
{
    used = used * 31 + a;
    ORDER(simple_mark(pair:late, "%hu", a), a = a + a);
    return used * 31 + a;
}

int main(int count, char **words)
{
    (void)words;
    printf("%d\n", late(count, count + 4));
    return 0;
}
