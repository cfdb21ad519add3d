// Compiled twice, by the same name in two folders: nothing says which of the two line tables is the marker's.
#include "old.h"

int work(int);

int FUNCTION(int status);
int FUNCTION(int status)
{
    status = work(status);
    old_mark(check:marker, "status %d", "status");
    return work(status + 1);
}
