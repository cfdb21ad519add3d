//! Records of the kernel's own formats.

use std::borrow::Cow;

use super::*;
use crate::names::{NoNames, TypeSize};
use crate::symbols::Symbol;

/// The names that the formats here use.
struct Known;

impl Names for Known {
    fn enumerator(&self, name: &str) -> Option<i64> {
        match name {
            "TCP_ESTABLISHED" => Some(1),
            "TCP_CLOSE" => Some(7),
            "NEGATIVE" => Some(-1),
            _ => None,
        }
    }

    fn type_of(&self, name: &str) -> Option<TypeSize> {
        match name {
            "struct page" => Some(TypeSize { size: 64, integer: None }),
            "xfs_ino_t" => Some(TypeSize { size: 8, integer: Integer::new(8, false) }),
            _ => None,
        }
    }

    fn variable(&self, name: &str) -> Option<u64> {
        match name {
            "vmemmap_base" => Some(0xffff_ea00_0000_0000),
            HZ => Some(250),
            _ => None,
        }
    }

    fn symbol(&self, address: u64) -> Option<Symbol<'_>> {
        let (name, module) = match address {
            0x1000..0x1100 => ("a_function", None),
            0x2000..0x2100 => ("b_function", Some(Cow::Borrowed("a_module"))),
            _ => return None,
        };
        Some(Symbol { name: name.into(), offset: address & 0xff, size: 0x100, module })
    }

    fn text_at(&self, address: u64) -> Option<Cow<'_, str>> {
        (address == 0x5000).then_some("rcu_preempt".into())
    }
}

/// Fields as `("int pid", size, is_signed)`, one behind the other from offset 8 on.
fn format(fields: &[(&str, u32, bool)], print: &str) -> Format {
    let mut text =
        "name: event\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n".to_owned();
    let mut offset = 8;
    for (field, size, signed) in fields {
        text.push_str(&format!("\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(*signed)));
        offset += size;
    }
    text.push_str(&format!("\nprint fmt: {print}\n"));
    Format::of("group", &text).expect("a format")
}

fn record(parts: &[&[u8]]) -> Vec<u8> {
    [&[7u8, 0, 0, 0, 0, 0, 0, 0][..], &parts.concat()].concat()
}

fn printed(fields: &[(&str, u32, bool)], print: &str, parts: &[&[u8]]) -> String {
    let printer = Printer::new(&format(fields, print), &Known).expect("a printer");
    let mut out = String::new();
    printer.write(&record(parts), &Known, &mut out);
    out
}

fn error(fields: &[(&str, u32, bool)], print: &str) -> PrintError {
    Printer::new(&format(fields, print), &Known).expect_err("an error")
}

#[test]
fn a_switch_is_printed() {
    let fields = [
        ("char prev_comm[16]", 16, false),
        ("pid_t prev_pid", 4, true),
        ("int prev_prio", 4, true),
        ("long prev_state", 8, true),
        ("char next_comm[16]", 16, false),
    ];
    let print = r#""prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }) : "R", REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) ? "+" : "", REC->next_comm"#;
    let with = |state: i64| {
        let comm = |name: &str| format!("{name:\0<16}").into_bytes();
        let (pid, prio) = (17i32.to_ne_bytes(), 120i32.to_ne_bytes());
        printed(&fields, print, &[&comm("cat"), &pid, &prio, &state.to_ne_bytes(), &comm("swapper/0")])
    };
    assert_eq!(with(0), "prev_comm=cat prev_pid=17 prev_prio=120 prev_state=R ==> next_comm=swapper/0");
    assert_eq!(with(0x100), "prev_comm=cat prev_pid=17 prev_prio=120 prev_state=R+ ==> next_comm=swapper/0");
    assert_eq!(with(3), "prev_comm=cat prev_pid=17 prev_prio=120 prev_state=S|D ==> next_comm=swapper/0");
    assert_eq!(with(0x82), "prev_comm=cat prev_pid=17 prev_prio=120 prev_state=D|0x80 ==> next_comm=swapper/0");
    let format = format(&fields, print);
    let printer = Printer::new(&format, &Known).expect("a printer");
    assert_eq!(
        printer.description(&format),
        "prev_comm=$prev_comm prev_pid=$prev_pid prev_prio=$prev_prio prev_state=$prev_state$prev_state ==> next_comm=$next_comm"
    );
    let pairs = vec![(1, "S".to_owned()), (2, "D".to_owned()), (4, "T".to_owned())];
    let choices = Choices { field: "prev_state".to_owned(), mask: 0xff, delimiter: Some("|".to_owned()), pairs };
    assert_eq!(printer.choices(&format), [choices]);
    assert_eq!(printer.needs(), Needs::default());
}

#[test]
fn flags_and_symbols_are_named() {
    let fields = [("u32 flags", 4, false), ("int state", 4, true)];
    let print = r#""%-8s|%s", __print_flags(REC->flags, "", { 0, "none" }, {(1UL << 31), "high"}), __print_symbolic(REC->state, { TCP_ESTABLISHED, "EST" "AB" }, { NEGATIVE, "neg" }, { 3, "" })"#;
    let with = |flags: u32, state: i32| printed(&fields, print, &[&flags.to_ne_bytes(), &state.to_ne_bytes()]);
    assert_eq!(with(0, 1), "        |ESTAB");
    // A mask of 0 is contained in all flags but 0.
    assert_eq!(with(0x8000_0000, -1), "nonehigh|neg");
    assert_eq!(with(2, 3), "none0x2 |0x3");
    assert_eq!(with(0, -2), "        |0xfffffffffffffffe");
    let printer = Printer::new(&format(&fields, print), &Known).expect("a printer");
    let enumerators = vec![("NEGATIVE".to_owned(), -1), ("TCP_ESTABLISHED".to_owned(), 1)];
    assert_eq!(printer.needs(), Needs { enumerators, ..Needs::default() });
    assert!(matches!(
        Printer::new(&format(&fields, print), &NoNames),
        Err(PrintError::UnknownName { name, .. }) if name == "TCP_ESTABLISHED"
    ));
}

#[test]
fn dynamic_fields_are_read() {
    let fields = [
        ("__data_loc char[] name", 4, false),
        ("__rel_loc u8[] bytes", 4, false),
        ("__data_loc u64[] words", 4, false),
        ("__data_loc unsigned long[] cpus", 4, false),
    ];
    let print = r#""%.*s %s %s %d %s %s %c %llx", 3, __get_str(name), __print_hex(__get_rel_dynamic_array(bytes), __get_rel_dynamic_array_len(bytes)), __print_hex_str(__get_rel_dynamic_array(bytes), 2), __get_dynamic_array_len(words), __print_array(__get_dynamic_array(words), __get_dynamic_array_len(words) / sizeof(u64), sizeof(u64)), __get_cpumask(cpus), __get_str(name)[1], ((u64 *)__get_dynamic_array(words))[1]"#;
    let at = |offset: u32, length: u32| (length << 16 | offset).to_ne_bytes();
    let words = [7u64.to_ne_bytes(), 0xabcu64.to_ne_bytes()].concat();
    let head = [at(24, 5), at(13, 3), at(32, 16), at(48, 8)].concat();
    let data = [&b"sda1\0"[..], &[0xa, 0xb, 0xc], &words, &5u64.to_ne_bytes()].concat();
    let text = printed(&fields, print, &[&head, &data]);
    assert_eq!(text, "sda 0a 0b 0c 0a0b 16 {0x7,0xabc} 00000000,00000005 d abc");
    // The data of the last fields are missing.
    let text = printed(&fields, print, &[&head, &data[..5]]);
    assert_eq!(text, "sda (too short) (too short) (too short) (too short) (too short) d (too short)");
}

#[test]
fn pointers_are_printed() {
    let fields = [
        ("void * address", 8, false),
        ("const char * text", 8, false),
        ("u8 uuid[16]", 16, false),
        ("__u8 saddr[28]", 28, false),
        ("unsigned long mask[2]", 16, false),
    ];
    let print = r#""%p %pS %ps %s %pU %pUL %pM %pI4 %pISpc %*pbl %3phC", REC->address, REC->address, (void *)REC->address, REC->text, REC->uuid, REC->uuid, REC->uuid, REC->uuid, REC->saddr, (1 << 7), REC->mask, REC->uuid"#;
    let uuid: Vec<u8> = (0x10..0x20).collect();
    let with = |address: u64, text: u64, socket: &[u8]| {
        let mask = [0b1011_0001u64.to_ne_bytes(), [0xff; 8]].concat();
        printed(&fields, print, &[&address.to_ne_bytes(), &text.to_ne_bytes(), &uuid, socket, &mask])
    };
    let family = |family: u16, port: u16| [family.to_ne_bytes(), port.to_be_bytes()].concat();
    let ip4 = [&family(2, 80)[..], &[127, 0, 0, 1], &[0; 20]].concat();
    let rest =
        "10111213-1415-1617-1819-1a1b1c1d1e1f 13121110-1514-1716-1819-1A1B1C1D1E1F 10:11:12:13:14:15 16.17.18.19";
    let expected = format!(
        "0000000000001002 a_function+0x2/0x100 a_function rcu_preempt {rest} 127.0.0.1:80 0,4-5,7,64-127 10:11:12"
    );
    assert_eq!(with(0x1002, 0x5000, &ip4), expected);
    let ip6 = |words: [u16; 8]| {
        let words = words.map(u16::to_be_bytes).concat();
        [&family(10, 443)[..], &[0; 4], &words, &[0; 4]].concat()
    };
    let shown = |socket: &[u8]| with(0x2001, 0, socket);
    let with_socket = |socket: &str| {
        format!(
            "0000000000002001 b_function+0x1/0x100 [a_module] b_function [a_module] (null) {rest} {socket} 0,4-5,7,64-127 10:11:12"
        )
    };
    assert_eq!(shown(&ip6([0, 0, 0, 0, 0, 0, 0, 1])), with_socket("[::1]:443"));
    assert_eq!(shown(&ip6([0x2001, 0xdb8, 0, 1, 0, 0, 0, 1])), with_socket("[2001:db8:0:1::1]:443"));
    assert_eq!(shown(&ip6([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1])), with_socket("[::ffff:127.0.0.1]:443"));
    assert_eq!(shown(&ip6([1, 0, 2, 0, 3, 0, 4, 0])), with_socket("[1:0:2:0:3:0:4:0]:443"));
    assert_eq!(shown(&[0; 28]), with_socket("(einval)"));
    let text = with(0x9000, 0x9000, &ip4);
    assert!(text.starts_with("0000000000009000 0x9000 0x9000 0x9000 "), "{text}");
    let format = format(&fields, print);
    let needs = Printer::new(&format, &Known).expect("a printer").needs();
    assert!(needs.symbols && needs.texts);
}

#[test]
fn expressions_follow_the_rules_of_c() {
    let fields = [("unsigned long a", 8, false), ("int b", 4, true), ("u8 c", 1, false), ("bool d", 1, false)];
    let of = |expression: &str, a: u64, b: i32, c: u8| {
        let print = format!("\"%lld\", (s64)({expression})");
        printed(&fields, &print, &[&a.to_ne_bytes(), &b.to_ne_bytes(), &[c, 1]])
    };
    assert_eq!(of("REC->b / 2 - 1", 0, -7, 0), "-4");
    assert_eq!(of("REC->b >> 1", 0, -7, 0), "-4");
    assert_eq!(of("(unsigned int)REC->b >> 28", 0, -1, 0), "15");
    assert_eq!(of("REC->b < 1U", 0, -1, 0), "0");
    assert_eq!(of("REC->a < REC->b", 5, -1, 0), "1");
    assert_eq!(of("~REC->c", 0, 0, 0xf0), "-241");
    assert_eq!(of("(u8)~REC->c", 0, 0, 0xf0), "15");
    assert_eq!(of("REC->a ? REC->b : 7U", 1, -1, 0), "4294967295");
    assert_eq!(of("REC->a != -1UL ? REC->a : 0", u64::MAX, 0, 0), "0");
    assert_eq!(of("2 + 3 * 4 % 5 << 1 & 0xe | 1 ^ 8", 0, 0, 0), "9");
    assert_eq!(of("!!REC->c + (bool)REC->c + REC->d", 0, 0, 4), "3");
    assert_eq!(of("({ int x = (REC->b); int y = (3); ((x) < (y) ? (x) : (y)); })", 0, 9, 0), "3");
    assert_eq!(of("((u64)(REC)->c << 32) | (REC)->c", 0, 0, 1), "4294967297");
    assert_eq!(of("(unsigned long)(((struct page *)vmemmap_base) + (REC->c)) == 0xffffea0000000080", 0, 0, 2), "1");
    assert_eq!(of("jiffies_to_msecs(REC->a)", 3, 0, 0), "12");
    assert_eq!(of("__print_ns_to_secs(REC->a) + __print_ns_without_secs(REC->a)", 2_000_000_005, 0, 0), "7");
    assert_eq!(of("sizeof(struct page) + sizeof(int) + sizeof(REC->c) + sizeof(void *)", 0, 0, 0), "77");
    assert_eq!(of("((xfs_ino_t)REC->b) + ((loff_t)1)", 0, 4, 0), "5");
    assert_eq!(of("REC->b && 1 || 0", 0, 4, 0), "1");
    assert_eq!(of("__builtin_expect(!!(REC->a >= (unsigned long)-4095), 0) ? 1 : 2", u64::MAX, 0, 0), "1");
    assert_eq!(of("REC->a / REC->b", 1, 0, 0), "?");
    assert_eq!(of("jiffies - REC->a", 1, 0, 0), "?");
}

#[test]
fn what_cannot_be_printed_is_told() {
    let fields = [("unsigned long a", 8, false), ("char name[8]", 8, false), ("void * p", 8, false)];
    assert_eq!(error(&fields, ""), PrintError::Missing);
    assert_eq!(error(&fields, "REC->a"), PrintError::Expected { offset: 0, wanted: "a string" });
    assert_eq!(error(&fields, "\"%d\""), PrintError::TooFew { offset: 4, text: "%d".into() });
    assert_eq!(error(&fields, "\"%d\", REC->b"), PrintError::UnknownField { offset: 9, name: "b".into() });
    assert_eq!(error(&fields, "\"%d\", f(1)"), PrintError::UnknownFunction { offset: 6, name: "f".into() });
    assert_eq!(error(&fields, "\"%d\", X"), PrintError::UnknownName { offset: 6, name: "X".into() });
    assert_eq!(error(&fields, "\"%d\", (struct a)1"), PrintError::UnknownType { offset: 7, name: "struct a".into() });
    assert_eq!(error(&fields, "\"%pV\", REC->p"), PrintError::Conversion { offset: 0, text: "%pV".into() });
    assert_eq!(error(&fields, "\"%pI4\", REC->p"), PrintError::NotInRecord { offset: 8 });
    assert_eq!(error(&fields, "\"%d\", *(int *)REC->p"), PrintError::NotInRecord { offset: 6 });
    assert_eq!(error(&fields, "\"%p\", REC->name"), PrintError::Address { offset: 6 });
    assert_eq!(error(&fields, "\"%s\", REC->a"), PrintError::Operand { offset: 6 });
    assert_eq!(error(&fields, "\"%s\", __get_str(name)"), PrintError::UnknownField { offset: 16, name: "name".into() });
    assert_eq!(error(&fields, "\"%s\", __print_symbolic(1, {REC->a, \"x\"})"), PrintError::NotConstant { offset: 27 });
    assert_eq!(error(&fields, "\"%d\", 1 2"), PrintError::Expected { offset: 8, wanted: "`,`" });
    let deep = format!("\"%d\", {}1{}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(matches!(error(&fields, &deep), PrintError::TooLarge { .. }));
    let long = format!("\"%d\", {}1", "REC->a + ".repeat(5_000));
    assert!(matches!(error(&fields, &long), PrintError::TooLarge { .. }));
    let mut blocks = "\"%d\", ({ int x0 = REC->a; ".to_owned();
    for number in 1..60 {
        blocks.push_str(&format!("int x{number} = x{0} + x{0}; ", number - 1));
    }
    assert!(matches!(error(&fields, &format!("{blocks} x59; }})")), PrintError::TooLarge { .. }));
}

#[test]
fn system_calls_have_their_own_form() {
    let text = |name: &str, fields: &str| format!("name: {name}\nID: 9\nformat:\n{fields}\nprint fmt: \"x\"\n");
    let enter = "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:umode_t mode;\toffset:24;\tsize:8;\tsigned:0;\n";
    let printer = |name: &str, fields: &str| {
        let format = Format::of("syscalls", &text(name, fields)).expect("a format");
        let printer = Printer::new(&format, &NoNames).expect("a printer");
        (printer.description(&format), printer)
    };
    let written = |printer: &Printer, parts: &[&[u8]]| {
        let mut out = String::new();
        printer.write(&record(parts), &NoNames, &mut out);
        out
    };
    let (description, open) = printer("sys_enter_openat", enter);
    assert_eq!(description, "sys_openat(dfd: $dfd, mode: $mode)");
    let words = [&0u64.to_ne_bytes()[..], &0xffff_ff9cu64.to_ne_bytes(), &9u64.to_ne_bytes()].concat();
    assert_eq!(written(&open, &[&words]), "sys_openat(dfd: 0xffffff9c, mode: 9)");
    assert_eq!(written(&open, &[&words[..20]]), "sys_openat(dfd: 0xffffff9c, mode: (too short))");
    // Since Linux 6.19 the text at an address follows the fields.
    let text = "\tfield:__data_loc char[] __dfd_val;\toffset:32;\tsize:4;\tsigned:0;\n";
    let (description, open) = printer("sys_enter_openat", &format!("{enter}{text}"));
    assert_eq!(description, "sys_openat(dfd: $dfd, mode: $mode)");
    let place = (36u32 | 5 << 16).to_ne_bytes();
    assert_eq!(written(&open, &[&words, &place, b"/etc\0"]), "sys_openat(dfd: 0xffffff9c \"/etc\", mode: 9)");
    assert_eq!(written(&open, &[&words]), "sys_openat(dfd: 0xffffff9c, mode: 9)");
    let (_, getpid) = printer("sys_enter_getpid", &enter[..enter.find("\tfield:int dfd").expect("a field")]);
    assert_eq!(written(&getpid, &[&words]), "sys_getpid()");
    let (description, exit) = printer("sys_exit_openat", "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
    assert_eq!(description, "sys_openat -> $ret");
    let words = [0u64.to_ne_bytes(), (-2i64).to_ne_bytes()].concat();
    assert_eq!(written(&exit, &[&words]), "sys_openat -> 0xfffffffffffffffe");
}

#[test]
fn broken_formats_do_no_harm() {
    let fields =
        [("__data_loc char[] name", 4, false), ("u8 bytes[6]", 6, false), ("void * p", 8, false), ("int n", 4, true)];
    let print = r#""%-*.*s %pM %ps %#06x %*ph|%c%%", REC->n, 3, __get_str(name), REC->bytes, REC->p, (u16)REC->n << 2, REC->n & 7, REC->bytes, __print_flags(REC->n, "|", { 1, "a" }, { ~2UL, "b" }) ? REC->bytes[REC->n] : 'x', ({ long y = -5; y / REC->n; })"#;
    let good = format(&fields, print);
    let mut random = tools::Choices::new(1);
    let mut written = 0;
    for _ in 0..2_000 {
        let mut text = good.print.clone().into_bytes();
        for _ in 0..=random.below(3) {
            let (from, to) = (random.below(text.len()), random.below(text.len()));
            match random.below(3) {
                0 => text[from] = text[to],
                1 => text[from] = *random.one(b" \"'%*.-(){}[],<>&|+~!?:x90"),
                _ => drop(text.drain(from..(from + random.below(4)).min(text.len()))),
            }
        }
        let format = Format { print: String::from_utf8(text).expect("ASCII"), ..good.clone() };
        let Ok(printer) = Printer::new(&format, &Known) else { continue };
        let record: Vec<u8> = (0..random.below(48)).map(|_| random.below(256) as u8).collect();
        let mut out = String::new();
        printer.write(&record, &Known, &mut out);
        assert!(out.len() < MOST * 2, "{}", out.len());
        written += 1;
    }
    assert!(written > 100, "{written}");
}
