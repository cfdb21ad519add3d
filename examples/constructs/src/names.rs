//! Every form of a name.

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    simple_mark!(construct_one_identifier, "one identifier"); //~ live 1 time
    witness(8200);
    simple_mark!(construct:name:three:four, "four parts"); //~ live 1 time
    witness(8201);
    simple_mark!(construct:fn:type:struct:match:self:Self:crate, "keywords"); //~ live 1 time
    witness(8202);
    simple_mark!(construct:r#raw:r#async, "raw identifiers"); //~ live 1 time
    witness(8203);
    simple_mark!(construct:größe, "an identifier that is not ASCII"); //~ live 1 time
    witness(8204);
    simple_mark!("construct:name:a string", "a string"); //~ live 1 time
    witness(8205);
    simple_mark!("construct:name:\"quotes\" and 'single'", "quotes"); //~ live 1 time
    witness(8206);
    simple_mark!("construct:name:back\\slash", "a backslash"); //~ live 1 time
    witness(8207);
    simple_mark!("construct:name:{braces} {}", "braces"); //~ live 1 time
    witness(8208);
    simple_mark!("construct:name:100%d", "a percent sign"); //~ live 1 time
    witness(8209);
    simple_mark!("construct:name:naïve € 🦀", "not ASCII"); //~ live 1 time
    witness(8210);
    simple_mark!(r#"construct:name:raw "string" \n"#, "a raw string"); //~ live 1 time
    witness(8211);
    simple_mark!("construct:name:tab\tand\nline", "control characters"); //~ live 1 time
    witness(8212);
    simple_mark!("construct:name:$dollar;semicolon#hash//slashes/*comment*/@at,comma", "what assemblers read"); //~ live 1 time
    witness(8213);
    simple_mark!["construct:name:brackets", "in brackets"]; //~ live 1 time
    witness(8214);
    simple_mark! { construct:name:curly, "in braces" } //~ live 1 time
    witness(8215);
}
