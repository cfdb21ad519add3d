//! Formats that an assembler, a macro or a reader could misread.

use std::hint::black_box;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    simple_mark!(construct:format:empty, ""); //~ live 1 time
    witness(8300);
    simple_mark!(construct:format:quotes, "a \"quoted\" 'word'"); //~ live 1 time
    witness(8301);
    simple_mark!(construct:format:braces, "{{}} {{0}} {{name:?}} }{"); //~ live 1 time
    witness(8302);
    simple_mark!(construct:format:percent, "%% and %%%%"); //~ live 1 time
    witness(8303);
    simple_mark!(construct:format:newline, "first\nsecond\r\n"); //~ live 1 time
    witness(8304);
    simple_mark!(construct:format:tab, "a\tb"); //~ live 1 time
    witness(8305);
    simple_mark!(construct:format:backslash, "a\\b\\n\\0"); //~ live 1 time
    witness(8306);
    simple_mark!(construct:format:escapes, "\x07\x1b[1m\x7f\u{1F980}"); //~ live 1 time
    witness(8307);
    simple_mark!(construct:format:digits, "\x011\x0177"); //~ live 1 time
    witness(8308);
    simple_mark!(construct:format:not_ascii, "größer als 5 €, 🦀"); //~ live 1 time
    witness(8309);
    simple_mark!(construct:format:raw, r"a\b\n"); //~ live 1 time
    witness(8310);
    simple_mark!(construct:format:raw_hashes, r#"a "b" \n"#); //~ live 1 time
    witness(8311);
    simple_mark!(construct:format:assembler, "$0 ${{1}} # ; // /* */ @ , %%eax"); //~ live 1 time
    witness(8312);
    simple_mark!(construct:format:continued, "one \
        line"); //~ live 1 time
    witness(8313);
    // The same with operands, so the template is not raw.
    let value = black_box(23);
    simple_mark!(construct:format:kept, "{{}} {{0}} \"q\" \\ \n \t € $0 %% %d", keep value); //~ live 1 time; keeps 23
    witness(8314);
}
