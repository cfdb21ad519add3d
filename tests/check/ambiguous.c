// Compiled twice under the same name, so two line tables may be the marker's.
#include "old.h"

int work(int);

int FUNCTION(int status);
int FUNCTION(int status)
{
    status = work(status);
    old_mark(check:marker, "status %d", "status");
    return work(status + 1);
}
