// Names, formats and arguments reach the sections byte for byte.
//
// How the sources in this folder say what they expect (the values are escaped as in C):
//   // expect: name=N format="F" args="A" sites=S [line=L] [file="F"] [flags=B] [operands=REGEX]
//              one marker, with a declaration for each of its sites. S is a number, N+ for at least N, or N- for at most N.
//   // dead:   a name whose sites all have the address 0 after --gc-sections.
//   // absent: a name without declaration and site when optimised.
//   // options: ...   for compiling and linking, in every configuration
//   // only: W          the configurations that the file is for: gcc, clang, C (not compiled as C++ too), link (not where nothing is linked),
//                      x86_64 -c (that target, compiled only), with FILE (a further source of FILE, never on its own)
//   // values: N V...  what the program has at hand for each argument of a kept marker N when it gets there: a number, "text", or * for
//                      anything. A second one for the same N is the second time. No values, no debugger.
//   // same-code: D     the same instructions as with D defined; see zero.c
//   // sources: ...   other files to link
//   // runs             the program is run and exits with 0.
//   // error: REGEX     in fail/: what an error line of the compiler or assembler says (LC_ALL=C), with -Werror=format, and under gcc
//                      -Werror=format-signedness.
// runs
#include "simple_marker.h"

#include <inttypes.h>
#include <stddef.h>

#define FORMAT "from a macro %d"
#define VALUE number

int main(void) {
    int number = 1;
    uint32_t wide = 2;
    size_t size = 3;
    const char *text = "text";
    int p[16] = {0};

    // expect: name=basic format="no arguments" args="" sites=1 flags=0
    simple_mark(basic, "no arguments");
    // expect: name=basic:empty format="" args="" sites=1
    simple_mark(basic:empty, "");
    // expect: name=a:b:c:d_1 format="%d" args="number" sites=1
    simple_mark(a:b:c:d_1, "%d", number);
    // expect: name=linux:unix format="predefined macros are names here" args="" sites=1
    simple_mark(linux:unix, "predefined macros are names here");
    // expect: name=basic:2008 format="%s" args="text" sites=1
    trace_simple(basic:2008, "%s", text);
    // expect: name=basic:macro format="from a macro %d" args="VALUE" sites=1
    simple_mark(basic:macro, FORMAT, VALUE);
    // expect: name=basic:parts format="a %d b %u c" args="number, wide" sites=1
    simple_mark(basic:parts, "a %d" " b %" PRIu32 " c", number, wide);
    // expect: name=basic:size format="%zu %p %c %5.2f" args="size, (void *)text, text[0], 1.5 * number" sites=1
    simple_mark(basic:size, "%zu %p %c %5.2f", size, (void *)text, text[0], 1.5 * number);
    // expect: name=basic:star format="%*d %.*s" args="number, number, number, text" sites=1
    simple_mark(basic:star, "%*d %.*s", number, number, number, text);
    // expect: name=basic:quotes format="a \"quoted\" \\ back\\slash" args="" sites=1
    simple_mark(basic:quotes, "a \"quoted\" \\ back\\slash");
    // expect: name=basic:control format="\b\f\n\r\t\177\001|" args="" sites=1
    simple_mark(basic:control, "\b\f\n\r\t\177\001|");
    // expect: name=basic:hex format="\x1b[1m\xff" args="" sites=1
    simple_mark(basic:hex, "\x1b[1m\xff");
    // expect: name=basic:percent format="100%% %d%%" args="number" sites=1
    simple_mark(basic:percent, "100%% %d%%", number);
    // expect: name=basic:percent_alone format="100%%" args="" sites=1
    simple_mark(basic:percent_alone, "100%%");
    // expect: name=basic:braces format="{att|intel} %d" args="number" sites=1
    simple_mark(basic:braces, "{att|intel} %d", number);
    // expect: name=basic:braces_alone format="{att|intel}" args="" sites=1
    simple_mark(basic:braces_alone, "{att|intel}");
    // expect: name=basic:comment format="/* no */ // no # no ; no @ no $0 ${x} %%0" args="" sites=1
    simple_mark(basic:comment, "/* no */ // no # no ; no @ no $0 ${x} %%0");
    // expect: name=basic:utf8 format="\303\251\342\202\254 %d" args="number" sites=1
    simple_mark(basic:utf8, "é€ %d", number);
    // expect: name=basic:argument_text format="%d %s %c" args="p[number] == ',', \"a, \\\"b\\\"\\n\", '\\''" sites=1
    simple_mark(basic:argument_text, "%d %s %c", p[number] == ',', "a, \"b\"\n", '\'');
    // expect: name=basic:sixteen format="%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d" args="p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]" sites=1
    simple_mark(basic:sixteen, "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15]);
    // expect: name=basic:thirty_two format="%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d" args="p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31" sites=1
    simple_mark(basic:thirty_two, "%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    // expect: name=basic:anchor format="%d" args="number" sites=1 flags=1
    simple_mark_anchor(basic:anchor, "%d", number);
    // expect: name=basic:anchor_alone format="an instruction" args="" sites=1 flags=1
    simple_mark_anchor(basic:anchor_alone, "an instruction");
    // expect: name=basic:kept_nothing format="nothing" args="" sites=1 flags=0
    simple_mark_keep(basic:kept_nothing, "nothing");
    // expect: name=basic:kept_nothing_anchor format="nothing" args="" sites=1 flags=1
    simple_mark_keep_anchor(basic:kept_nothing_anchor, "nothing");

#line 7 "odd \"na\\me\" 100% {é|x}.c"
    simple_mark(basic:file, "line and file"); simple_mark(basic:file_args, "%d", number);
    simple_mark_keep(basic:file_kept, "%d", number);
    return 0;
}
// expect: name=basic:file format="line and file" args="" sites=1 line=7 file="odd \"na\\me\" 100% {\303\251|x}.c"
// expect: name=basic:file_args format="%d" args="number" sites=1 line=7 file="odd \"na\\me\" 100% {\303\251|x}.c"
// expect: name=basic:file_kept format="%d" args="number" sites=1 line=8 file="odd \"na\\me\" 100% {\303\251|x}.c"
