// A marker, its texts, its thread and its file, whose names would be markup in a page (tests/rust/html.rs, .ci/pages).
#include "simple_marker.h"
#include <sys/prctl.h>
#line 7 "</script><img src=x onerror=alert(1)>.c"
__attribute__((noinline)) static void say(const char *text) {
    simple_mark_keep(hostile, "</script><!--<b>%s", text);
}
int main(void) {
    prctl(PR_SET_NAME, "<svg onload=x>");
    say("</script><script>alert(1)</script>");
    say("<!--<script>&amp;\xe2\x80\xa8\xff\x01");
    return 0;
}
