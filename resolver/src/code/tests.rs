//! Tests of whole functions, assembled by hand: each with the assembly beside its bytes.

use tools::Choices;

use super::*;
use crate::address::Vaddr;
use crate::arch::{InstructionSet, aarch64, riscv64, x86};
use crate::uprobe_rules::{ALL_KERNELS, LinuxVersion};

const LINUX_6_18: LinuxVersion = LinuxVersion::new(6, 18);

struct Data(u64, Vec<u8>);

impl Memory for Data {
    fn read(&self, at: Vaddr, size: usize) -> Option<&[u8]> {
        let offset = usize::try_from(at.0.checked_sub(self.0)?).ok()?;
        self.1.get(offset..)?.get(..size)
    }
}

fn function(bytes: &[u8]) -> Function<'_> {
    Function::in_one_piece(Vaddr(0x1000), bytes)
}

fn cfg(bytes: &[u8]) -> Cfg {
    Cfg::of(&function(bytes), &NoMemory, &x86::X86_64)
}

fn edge(from: u64, kind: EdgeKind) -> Edge {
    Edge { from: Vaddr(from), kind }
}

/// `if (r > 10) { r = g(p); MARK; } p[0] = r;` as gcc has it: the marker stands at 0x100a, where
/// the other path comes in.
#[rustfmt::skip]
const SHARED: &[u8] = &[
    0x83, 0xfe, 0x0a,             // 1000 cmp $10,%esi
    0x7e, 0x05,                   // 1003 jle 100a
    0xe8, 0x00, 0x10, 0x00, 0x00, // 1005 call 200a
    0x89, 0x07,                   // 100a mov %eax,(%rdi)
    0xc3,                         // 100c ret
];

#[test]
fn a_join_behind_a_marker_is_shared() {
    let assessment = cfg(SHARED).exactness(Vaddr(0x100a), false);
    assert_eq!(assessment.outcome, Outcome::Shared);
    assert_eq!(assessment.predecessors, [edge(0x1005, EdgeKind::CallReturn), edge(0x1003, EdgeKind::Conditional)]);
}

#[test]
fn a_straight_line_an_entry_and_a_block_of_one_way_are_exact() {
    let graph = cfg(SHARED);
    assert_eq!(graph.exactness(Vaddr(0x1005), false).outcome, Outcome::Exact(ExactReason::FallThrough));
    assert_eq!(graph.exactness(Vaddr(0x1000), false).outcome, Outcome::Exact(ExactReason::Entry));
    assert_eq!(graph.exactness(Vaddr(0x100d), false).outcome, Outcome::Outside);
    assert_eq!(graph.exactness(Vaddr(0x1006), false).outcome, Outcome::Unproven(UnprovenReason::InsideInstruction));
    // test %edi,%edi; je 1005; ret; 1005: nop, which is no anchor by itself; ret
    let graph = cfg(&[0x85, 0xff, 0x74, 0x01, 0xc3, 0x90, 0xc3]);
    assert_eq!(graph.exactness(Vaddr(0x1005), false).outcome, Outcome::Exact(ExactReason::OnePredecessor));
    assert_eq!(graph.exactness(Vaddr(0x1005), true).outcome, Outcome::Exact(ExactReason::Anchored));
}

#[test]
fn an_entry_that_a_loop_comes_back_to_is_shared() {
    // 1000: dec %edi; jne 1000; ret
    let assessment = cfg(&[0xff, 0xcf, 0x75, 0xfc, 0xc3]).exactness(Vaddr(0x1000), false);
    assert_eq!(assessment.outcome, Outcome::Shared);
    assert_eq!(assessment.predecessors, [edge(0x1000, EdgeKind::Entry), edge(0x1002, EdgeKind::Conditional)]);
}

#[test]
fn padding_behind_a_jump_leads_nowhere() {
    // test; je 1008; jmp 1008; xchg %ax,%ax; 1008: ret. The padding at 1006 is dead, and no way
    // into 1008.
    let code = [0x85, 0xff, 0x74, 0x04, 0xeb, 0x02, 0x66, 0x90, 0xc3];
    let assessment = cfg(&code).exactness(Vaddr(0x1008), false);
    assert_eq!(assessment.predecessors, [edge(0x1002, EdgeKind::Conditional), edge(0x1004, EdgeKind::Jump)]);
    assert_eq!(cfg(&code).exactness(Vaddr(0x1006), false).outcome, Outcome::Unproven(UnprovenReason::NoPredecessor));
    // The same padding before a loop is fallen through: a marker that stands before it is exact.
    let code = [0x85, 0xff, 0x66, 0x90, 0xff, 0xcf, 0x75, 0xfc, 0xc3];
    assert_eq!(cfg(&code).exactness(Vaddr(0x1002), false).outcome, Outcome::Exact(ExactReason::FallThrough));
    assert_eq!(cfg(&code).exactness(Vaddr(0x1004), false).outcome, Outcome::Shared);
}

/// `switch` of four cases, position-independent. The table is at 0x2000.
#[rustfmt::skip]
const TABLE: &[u8] = &[
    0x83, 0xff, 0x03,                         // 1000 cmp $3,%edi
    0x77, 0x1b,                               // 1003 ja 1020
    0x89, 0xff,                               // 1005 mov %edi,%edi
    0x48, 0x8d, 0x15, 0xf2, 0x0f, 0x00, 0x00, // 1007 lea 2000(%rip),%rdx
    0x48, 0x63, 0x04, 0xba,                   // 100e movslq (%rdx,%rdi,4),%rax
    0x48, 0x01, 0xd0,                         // 1012 add %rdx,%rax
    0xff, 0xe0,                               // 1015 jmp *%rax
    0x31, 0xc0,                               // 1017 xor %eax,%eax
    0xc3,                                     // 1019 ret
    0xb0, 0x01,                               // 101a mov $1,%al
    0x90,                                     // 101c nop
    0xc3,                                     // 101d ret
    0x66, 0x90,                               // 101e nop
    0xc3,                                     // 1020 ret
];

fn table(targets: &[u32]) -> Data {
    Data(0x2000, targets.iter().flat_map(|target| target.wrapping_sub(0x2000).to_le_bytes()).collect())
}

#[test]
fn a_jump_table_gives_a_way_for_each_entry() {
    // The fifth entry is behind what the check lets through.
    let cfg = Cfg::of(&function(TABLE), &table(&[0x1017, 0x101a, 0x101a, 0x1020, 0x1019]), &x86::X86_64);
    assert_eq!(cfg.indirect(), [(Vaddr(0x1015), Indirect::JumpTable { entries: 4 })]);
    assert_eq!(cfg.exactness(Vaddr(0x1017), false).outcome, Outcome::Exact(ExactReason::OnePredecessor));
    assert_eq!(cfg.exactness(Vaddr(0x1019), false).outcome, Outcome::Exact(ExactReason::FallThrough));
    let assessment = cfg.exactness(Vaddr(0x101a), false);
    assert_eq!(assessment.outcome, Outcome::Shared);
    assert_eq!(
        assessment.predecessors,
        [edge(0x1015, EdgeKind::JumpTable { entry: 1 }), edge(0x1015, EdgeKind::JumpTable { entry: 2 })]
    );
}

#[test]
fn a_table_in_a_loop_is_understood_once_the_one_before_it_is() {
    // cmp $1,%edi; ja 1032; lea 2000(%rip),%rdx; mov %edi,%eax; movslq (%rdx,%rax,4),%rax; add
    // %rdx,%rax; 1015: jmp *%rax; lea 2008(%rip),%r11; 101e: cmp $1,%esi; ja 1032; mov %esi,%eax;
    // movslq (%r11,%rax,4),%rax; add %r11,%rax; 102c: jmp *%rax; dec %esi; jmp 101e; 1032: ret.
    // What only the second leads to is not entered from the first, which has no %r11.
    let code = [
        0x83, 0xff, 0x01, 0x77, 0x2d, 0x48, 0x8d, 0x15, 0xf4, 0x0f, 0, 0, 0x89, 0xf8, 0x48, 0x63, 0x04, 0x82, 0x48,
        0x01, 0xd0, 0xff, 0xe0, 0x4c, 0x8d, 0x1d, 0xea, 0x0f, 0, 0, 0x83, 0xfe, 0x01, 0x77, 0x0f, 0x89, 0xf0, 0x49,
        0x63, 0x04, 0x83, 0x4c, 0x01, 0xd8, 0xff, 0xe0, 0xff, 0xce, 0xeb, 0xec, 0xc3,
    ];
    // The entries of the second count from its own start.
    let memory = table(&[0x1017, 0x1032, 0x102e - 8, 0x1032 - 8]);
    let cfg = Cfg::of(&function(&code), &memory, &x86::X86_64);
    let found = Indirect::JumpTable { entries: 2 };
    assert_eq!(cfg.indirect(), [(Vaddr(0x1015), found), (Vaddr(0x102c), found)]);
    assert_eq!(cfg.exactness(Vaddr(0x102e), false).outcome, Outcome::Exact(ExactReason::OnePredecessor));
}

#[test]
fn a_table_that_cannot_be_read_leaves_all_unproven() {
    for memory in [&NoMemory as &dyn Memory, &table(&[0x1017, 0x101a]), &table(&[0x1017, 0x1018, 0x101a, 0x1020])] {
        let cfg = Cfg::of(&function(TABLE), memory, &x86::X86_64);
        assert_eq!(cfg.indirect(), [(Vaddr(0x1015), Indirect::Unknown)]);
        let unproven = Outcome::Unproven(UnprovenReason::IndirectJump(Vaddr(0x1015)));
        assert_eq!(cfg.exactness(Vaddr(0x1005), false).outcome, unproven);
        // A site with two predecessors is shared in any case. An anchored site is exact.
        assert_eq!(cfg.exactness(Vaddr(0x101c), true).outcome, Outcome::Exact(ExactReason::Anchored));
    }
}

#[test]
fn the_address_of_a_table_may_be_kept_over_a_call_where_none_returns_a_value() {
    // lea 2000(%rip),%r11; mov %edi,%ebx; call; cmp $3,%ebx; ja 101f; mov %ebx,%ebx; movslq
    // (%r11,%rbx,4),%rax; add %r11,%rax; 101c: jmp *%rax; ret; 101f: ret. As gcc has it with
    // -fipa-ra.
    let mut code = vec![
        0x4c, 0x8d, 0x1d, 0xf9, 0x0f, 0, 0, 0x89, 0xfb, 0xe8, 0, 0x10, 0, 0, 0x83, 0xfb, 0x03, 0x77, 0x0c, 0x89, 0xdb,
        0x49, 0x63, 0x04, 0x9b, 0x4c, 0x01, 0xd8, 0xff, 0xe0, 0xc3, 0xc3,
    ];
    let memory = table(&[0x101e, 0x101e, 0x101f, 0x101f]);
    let found = |code: &[u8]| Cfg::of(&function(code), &memory, &x86::X86_64).indirect().to_vec();
    assert_eq!(found(&code), [(Vaddr(0x101c), Indirect::JumpTable { entries: 4 })]);
    // The same in %r8.
    (code[2], code[24], code[27]) = (0x05, 0x98, 0xc0);
    assert_eq!(found(&code), [(Vaddr(0x101c), Indirect::Unknown)]);
}

#[test]
fn what_only_a_table_leads_to_may_be_a_landing_pad_where_these_are_not_known() {
    // 1000: call; lea 2000(%rip),%r12; 100c: cmp $3,%ebx; ja 101d; mov %ebx,%ebx; movslq
    // (%r12,%rbx,4),%rax; add %r12,%rax; 101a: jmp *%rax; ret; 101d: ret; 101e: jmp 100c
    let code = [
        0xe8, 0, 0x10, 0, 0, 0x4c, 0x8d, 0x25, 0xf4, 0x0f, 0, 0, 0x83, 0xfb, 0x03, 0x77, 0x0c, 0x89, 0xdb, 0x49, 0x63,
        0x04, 0x9c, 0x4c, 0x01, 0xe0, 0xff, 0xe0, 0xc3, 0xc3, 0xeb, 0xec,
    ];
    let memory = table(&[0x101e, 0x101e, 0x101d, 0x101d]);
    let mut function = function(&code);
    let found = |function: &Function<'_>| Cfg::of(function, &memory, &x86::X86_64).indirect().to_vec();
    assert_eq!(found(&function), [(Vaddr(0x101a), Indirect::JumpTable { entries: 4 })]);
    function.landing_pads_known = false;
    assert_eq!(found(&function), [(Vaddr(0x101a), Indirect::Unknown)]);
}

#[test]
fn a_landing_mark_at_the_entry_proves_what_has_none() {
    // endbr64; push %rax; jmp *(%rdi); 1007: nop; ret
    let code = [0xf3, 0x0f, 0x1e, 0xfa, 0x50, 0xff, 0x27, 0x90, 0xc3];
    let graph = cfg(&code);
    assert_eq!(graph.indirect(), [(Vaddr(0x1005), Indirect::Marked)]);
    assert_eq!(graph.exactness(Vaddr(0x1004), false).outcome, Outcome::Exact(ExactReason::FallThrough));
    // `notrack` may lead anywhere.
    let code = [0xf3, 0x0f, 0x1e, 0xfa, 0x50, 0x3e, 0xff, 0x27, 0xc3];
    assert_eq!(cfg(&code).indirect(), [(Vaddr(0x1005), Indirect::Unknown)]);
}

#[test]
fn a_jump_at_the_depth_of_the_entry_is_a_tail_call() {
    // push %rbx; mov %rdi,%rbx; pop %rbx; jmp *8(%rdi)
    assert_eq!(cfg(&[0x53, 0x48, 0x89, 0xfb, 0x5b, 0xff, 0x67, 0x08]).indirect(), [(Vaddr(0x1005), Indirect::Leaves)]);
    // push %rbx; jmp *%rax
    assert_eq!(cfg(&[0x53, 0xff, 0xe0]).indirect(), [(Vaddr(0x1001), Indirect::Unknown)]);
    // jmp *%rax; and code that nothing else leads to
    assert_eq!(cfg(&[0xff, 0xe0, 0x31, 0xc0, 0xc3]).indirect(), [(Vaddr(0x1000), Indirect::Unknown)]);
}

#[test]
fn ways_that_the_instructions_do_not_show_count() {
    let mut function = function(SHARED);
    function.hidden_edges.push((Vaddr(0x1005), edge(0x1005, EdgeKind::LandingPad)));
    let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
    assert_eq!(cfg.exactness(Vaddr(0x1005), false).outcome, Outcome::Shared);
}

#[test]
fn a_branch_over_a_lock_prefix_is_decoded_from_there_too() {
    // 1000: je 1003; 1002: lock incl (%rdi); 1005: ret
    let cfg = cfg(&[0x74, 0x01, 0xf0, 0xff, 0x07, 0xc3]);
    assert_eq!(cfg.exactness(Vaddr(0x1003), false).outcome, Outcome::Exact(ExactReason::OnePredecessor));
    let assessment = cfg.exactness(Vaddr(0x1005), false);
    assert_eq!(assessment.predecessors, [edge(0x1002, EdgeKind::FallThrough), edge(0x1003, EdgeKind::FallThrough)]);
}

#[test]
fn parts_of_a_function_jump_into_each_other() {
    // 1000: test; je 2000; 1008: ret    2000: nop; jmp 1008
    let hot = [0x85, 0xff, 0x0f, 0x84, 0xf8, 0x0f, 0x00, 0x00, 0xc3];
    let cold = [0x90, 0xe9, 0x02, 0xf0, 0xff, 0xff];
    let mut function = function(&hot);
    function.ranges.push(CodeRange { start: Vaddr(0x2000), bytes: &cold });
    let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
    assert_eq!(cfg.exactness(Vaddr(0x2000), false).outcome, Outcome::Exact(ExactReason::OnePredecessor));
    assert_eq!(cfg.exactness(Vaddr(0x1008), false).outcome, Outcome::Shared);
}

#[test]
fn what_is_no_instruction_leaves_all_unproven() {
    // nop; push %es, which 64-bit code has not; ret
    let assessment = cfg(&[0x90, 0x06, 0xc3]).exactness(Vaddr(0x1000), false);
    assert_eq!(assessment.outcome, Outcome::Unproven(UnprovenReason::Undecoded(Vaddr(0x1001))));
}

#[test]
fn the_cheapest_equivalent_is_before_the_first_store() {
    // mov %rdi,%rax; xor %edx,%edx; push %rbx; ret: the push is emulated, the two before it are
    // stepped.
    let code = [0x48, 0x89, 0xf8, 0x31, 0xd2, 0x53, 0xc3];
    let (function, graph) = (function(&code), cfg(&code));
    let all = graph.equivalents(&function, Vaddr(0x1000), &|_| false, &[&LINUX_6_18]);
    assert_eq!(all.iter().map(|it| it.at.0).collect::<Vec<_>>(), [0x1000, 0x1003, 0x1005]);
    let best = |keep: &dyn Fn(&Equivalent) -> bool| Equivalent::cheapest(&all, keep).map(|it| it.at.0);
    assert_eq!(best(&|_| true), Some(0x1005));
    // DWARF's 0 is rax, 1 rdx, 5 rdi.
    assert_eq!(best(&|it| !it.overwritten.contains(5)), Some(0x1005));
    assert_eq!(best(&|it| !it.overwritten.contains(1)), Some(0x1000));
    assert_eq!(best(&|it| !it.overwritten.contains(0)), Some(0x1000));
    // A probe goes to the site of another marker, and not past it.
    let with_site = |at| {
        let all = graph.equivalents(&function, Vaddr(0x1000), &|site| site.0 == at, &[&LINUX_6_18]);
        Equivalent::cheapest(&all, &|_| true).map(|it| it.at.0)
    };
    assert_eq!((with_site(0x1003), with_site(0x1005)), (Some(0x1000), Some(0x1005)));
}

#[test]
fn a_probe_goes_back_where_the_kernel_takes_none() {
    // push %rbx; mov %rdi,%rax; xor %edx,%edx; cs nopw 0(%rax,%rax,1); dec %edx; jne to the dec; ret.
    let padding = [0x2e, 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    let code = [&[0x53, 0x48, 0x89, 0xf8, 0x31, 0xd2][..], &padding, &[0xff, 0xca, 0x75, 0xfc, 0x5b, 0xc3]].concat();
    let (function, graph) = (function(&code), cfg(&code));
    let site = Vaddr(0x1006);
    let all = graph.equivalents(&function, site, &|_| false, &[&LINUX_6_18]);
    // Behind the padding the loop begins, and the push stores.
    assert_eq!(all.iter().map(|it| it.at.0).collect::<Vec<_>>(), [0x1006, 0x1004, 0x1001]);
    let best = |keep: &dyn Fn(&Equivalent) -> bool, other| {
        let all = graph.equivalents(&function, site, &|at| at.0 == other, &[&LINUX_6_18]);
        Equivalent::cheapest(&all, keep).map(|it| it.at.0)
    };
    assert_eq!(best(&|_| true, 0), Some(0x1004));
    // DWARF's 0 is rax, 1 rdx.
    assert_eq!(best(&|it| !it.overwritten.contains(0), 0), Some(0x1004));
    assert_eq!(best(&|it| !it.overwritten.contains(1), 0), None);
    assert_eq!(best(&|it| !it.overwritten.contains(3), 0x1004), Some(0x1004));
    // Padding that is jumped over is not before what follows it, and a branch is no way back.
    let code = [&[0x75, 0x0a][..], &padding, &padding, &[0xc3]].concat();
    let (function, graph) = (self::function(&code), cfg(&code));
    let all = graph.equivalents(&function, Vaddr(0x100c), &|_| false, &[&LINUX_6_18]);
    assert_eq!(all.iter().map(|it| it.at.0).collect::<Vec<_>>(), [0x100c, 0x1016]);
    assert_eq!(graph.equivalents(&function, Vaddr(0x1002), &|_| false, &[&LINUX_6_18]).len(), 1);
}

#[test]
fn probes_do_what_the_kernel_was_seen_to_do() {
    use ProbeCost::{Called, Emulated, Stepped};
    let effect = |bytes: &[u8]| x86::X86_64.uprobe(0x1000, bytes, &LINUX_6_18, &|| false);
    for (bytes, cost) in [
        (&[0x90][..], Emulated),
        (&[0x66, 0x90], Emulated),
        (&[0xf3, 0x90], Emulated),
        (&[0x0f, 0x1f, 0x44, 0x00, 0x00], Called),
        (&[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], Emulated),
        (&[0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], Stepped),
        (&[0x55], Emulated),
        (&[0x41, 0x54], Emulated),
        (&[0xff, 0xf0], Stepped),
        (&[0xe8, 0, 0, 0, 0], Emulated),
        (&[0x0f, 0x84, 0, 0, 0, 0], Emulated),
        (&[0xc3], Stepped),
        (&[0xf3, 0x0f, 0x1e, 0xfa], Stepped),
        // vaddps %ymm1,%ymm2,%ymm0
        (&[0xc5, 0xec, 0x58, 0xc1], Stepped),
    ] {
        assert_eq!(effect(bytes), Effect::Fires(cost), "{bytes:02x?}");
    }
    assert_eq!(effect(&[0xf3, 0xaa]), Effect::FiresEachIteration);
    for bytes in [
        &[0xf0, 0xff, 0x07][..],
        &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
        &[0x3e, 0xff, 0xe0],
        &[0xcc],
        // vpxor %ymm1,%ymm2,%ymm0
        &[0xc5, 0xed, 0xef, 0xc1],
    ] {
        assert!(matches!(effect(bytes), Effect::Refused(_)), "{bytes:02x?}");
    }
    // vmovdqu %ymm1,(%rdi); vpcmpeqb; vcmpps; xchg %rax,%r8; pushf
    for bytes in
        [&[0xc5, 0xfe, 0x7f, 0x0f][..], &[0xc5, 0xed, 0x74, 0xc1], &[0xc5, 0xec, 0xc2, 0xc1, 0], &[0x49, 0x90], &[0x9c]]
    {
        assert!(matches!(effect(bytes), Effect::Breaks(_)), "{bytes:02x?}");
    }
    let text = |bytes| x86::X86_64.text(0x1000, bytes);
    assert_eq!(text(&[0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0]), Some("mov 0xff9(%rip),%rax".to_owned()));
    assert_eq!(text(&[0x74, 0x02]), Some("je 0x1004".to_owned()));
    assert_eq!(text(&[0x06]), None);
}

#[test]
fn kernels_treat_no_operations_in_ways_of_their_own() {
    use ProbeCost::{Called, Emulated, Stepped};
    let five = [0x0f, 0x1f, 0x44, 0, 0];
    let ten = [0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
    let on = |(major, minor), bytes: &[u8], is_used| {
        x86::X86_64.uprobe(0x1000, bytes, &LinuxVersion::new(major, minor), &|| is_used)
    };
    let refused = Effect::Refused(RefusedReason::SegmentPrefix);
    for (version, safe, unsafe_, long) in [
        ((6, 12), Effect::Fires(Stepped), Effect::Fires(Stepped), refused),
        ((6, 18), Effect::Fires(Called), Effect::Breaks(BreaksReason::RedZone), refused),
        ((7, 2), Effect::Fires(Emulated), Effect::Fires(Emulated), Effect::Fires(Called)),
    ] {
        assert_eq!(on(version, &five, false), safe, "{version:?}");
        assert_eq!(on(version, &five, true), unsafe_, "{version:?}");
        assert_eq!(on(version, &ten, true), long, "{version:?}");
    }
    // 32-bit programs have no red zone, and their code is not rewritten.
    let in_32_bits = x86::I386.uprobe(0x1000, &five, &LINUX_6_18, &|| true);
    assert_eq!(in_32_bits, Effect::Fires(Emulated));
    let worst = |bytes: &[u8], is_used| x86::X86_64.worst_uprobe((0x1000, bytes), ALL_KERNELS, &|| is_used);
    assert_eq!(worst(&[0x90], true), Effect::Fires(Emulated));
    assert_eq!(worst(&five, false), Effect::Fires(Stepped));
    assert_eq!(worst(&five, true), Effect::Breaks(BreaksReason::RedZone));
    assert_eq!(worst(&ten, false), refused);
    assert_eq!(x86::X86_64.worst_uprobe((0x1000, &[0x90]), &[], &|| false), Effect::Unknown);
    // AArch64: nop
    let nop = 0xd503_201f_u32.to_le_bytes();
    let cost = |rules: &[_]| aarch64::AARCH64.worst_uprobe((0x1000, &nop), rules, &|| true);
    assert_eq!((cost(&[&LINUX_6_18]), cost(ALL_KERNELS)), (Effect::Fires(Emulated), Effect::Fires(Stepped)));
}

#[test]
fn what_is_below_the_stack_pointer_is_found() {
    for (code, may_use) in [
        // lea 1(%rdi),%eax; ret
        (&[0x8d, 0x47, 0x01, 0xc3][..], false),
        // mov %edi,-4(%rsp); ret
        (&[0x89, 0x7c, 0x24, 0xfc, 0xc3], true),
        // push %rbp; mov %rsp,%rbp; mov %edi,-20(%rbp); pop %rbp; ret
        (&[0x55, 0x48, 0x89, 0xe5, 0x89, 0x7d, 0xec, 0x5d, 0xc3], true),
        // push %rbp; mov %rsp,%rbp; mov 16(%rbp),%eax; pop %rbp; ret
        (&[0x55, 0x48, 0x89, 0xe5, 0x8b, 0x45, 0x10, 0x5d, 0xc3], false),
        // The same with a call behind the store.
        (&[0x55, 0x48, 0x89, 0xe5, 0x89, 0x7d, 0xec, 0xe8, 0, 0, 0, 0, 0x5d, 0xc3], false),
        // lea -16(%rsp),%rax; mov (%rax),%eax; ret
        (&[0x48, 0x8d, 0x44, 0x24, 0xf0, 0x8b, 0x00, 0xc3], true),
        // mov %rsp,%rax; mov -16(%rax),%eax; ret
        (&[0x48, 0x89, 0xe0, 0x8b, 0x40, 0xf0, 0xc3], true),
        // Jumps to another function, or to another part of this one.
        (&[0x85, 0xff, 0x0f, 0x84, 0, 0x10, 0, 0, 0xc3], true),
        // jmp *%rax
        (&[0xff, 0xe0], true),
        // push %es, which 64-bit code has not, behind a call.
        (&[0xe8, 0, 0, 0, 0, 0x06, 0xc3], true),
    ] {
        assert_eq!(cfg(code).may_use_red_zone(&function(code)), may_use, "{code:02x?}");
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn aarch64_branches_and_tables() {
    let code = words(&[
        0x7100_0c1f, // 1000 cmp w0, #3
        0x5400_0148, // 1004 b.hi 102c
        0xb000_0001, // 1008 adrp x1, 2000
        0x9100_0021, // 100c add x1, x1, #0
        0x3860_4821, // 1010 ldrb w1, [x1, w0, uxtw]
        0x1000_0062, // 1014 adr x2, 1020
        0x8b21_8842, // 1018 add x2, x2, w1, sxtb #2
        0xd61f_0040, // 101c br x2
        0x5280_0020, // 1020 mov w0, #1
        0xd65f_03c0, // 1024 ret
        0x17ff_fffe, // 1028 b 1020
        0xd65f_03c0, // 102c ret
    ]);
    let memory = Data(0x2000, vec![0, 2, 3, 3]);
    let cfg = Cfg::of(&function(&code), &memory, &aarch64::AARCH64);
    assert_eq!(cfg.indirect(), [(Vaddr(0x101c), Indirect::JumpTable { entries: 4 })]);
    let predecessors = |at| cfg.exactness(Vaddr(at), false).predecessors;
    assert_eq!(predecessors(0x1020), [edge(0x1028, EdgeKind::Jump), edge(0x101c, EdgeKind::JumpTable { entry: 0 })]);
    assert_eq!(cfg.exactness(Vaddr(0x1028), false).outcome, Outcome::Exact(ExactReason::OnePredecessor));
    assert_eq!(predecessors(0x102c).len(), 3);
}

#[test]
fn aarch64_probes_follow_the_kernels_masks() {
    let effect = |word: u32| aarch64::AARCH64.uprobe(0x1000, &word.to_le_bytes(), &LINUX_6_18, &|| true);
    for word in [0xd503_201f, 0x1400_0001, 0x5400_0020, 0xb400_0020, 0x3600_0020, 0xd65f_03c0, 0x1000_0000, 0xb000_0000]
    {
        assert_eq!(effect(word), Effect::Fires(ProbeCost::Emulated), "{word:#x}");
    }
    for word in [0xa9bf_7bfd, 0xd503_233f, 0xd503_245f, 0x9100_0400, 0xd503_3bbf] {
        assert_eq!(effect(word), Effect::Fires(ProbeCost::Stepped), "{word:#x}");
    }
    // ldxr, ldr literal, svc, msr, brk, retaa, yield
    for word in [0xc85f_7c00, 0x5800_0000, 0xd400_0001, 0xd51b_d040, 0xd420_0000, 0xd65f_0bff, 0xd503_203f] {
        assert!(matches!(effect(word), Effect::Refused(_)), "{word:#x}");
    }
    assert_eq!(aarch64::AARCH64.text(0x1000, &0x1400_0001_u32.to_le_bytes()).as_deref(), Some("b 0x1004"));
}

#[test]
fn any_bytes_end_in_a_verdict() {
    // Half of the functions consist of only jumps, calls and moves.
    let mut choices = Choices::new(1);
    let pieces: [&[u8]; 8] = [
        &[0xff, 0xe0],
        &[0x48, 0x89, 0xc2],
        &[0x48, 0x89, 0xd0],
        &[0x74, 0x80],
        &[0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0],
        &[0x48, 0x8d, 0x15, 0, 0, 0, 0],
        &[0xff, 0x24, 0xc5, 0, 0x10, 0, 0],
        &[0xe8, 0, 0, 0, 0],
    ];
    for round in 0..300 {
        let mut code = Vec::new();
        while code.len() < 600 {
            match round % 2 {
                0 => code.extend(choices.number().to_le_bytes()),
                _ => code.extend(*choices.one(&pieces)),
            }
        }
        let memory = Data(0x1000, code.clone());
        for set in [&x86::X86_64 as &'static dyn InstructionSet, &x86::I386, &aarch64::AARCH64, &riscv64::RISCV64] {
            let function = function(&code);
            let cfg = Cfg::of(&function, &memory, set);
            for at in 0x1000..0x1000 + code.len() as u64 {
                assert_ne!(cfg.exactness(Vaddr(at), round % 3 == 0).outcome, Outcome::Outside);
                let all = cfg.equivalents(&function, Vaddr(at), &|at| at.0 % 7 == 0, ALL_KERNELS);
                let _ = Equivalent::cheapest(&all, &|it| !it.overwritten.contains(3));
            }
        }
    }
}

#[test]
fn a_function_of_nothing_but_jumps_takes_no_long_time() {
    let code = [0xff, 0xe0].repeat(100_000);
    let graph = cfg(&code);
    assert_eq!(graph.indirect().len(), 100_000);
    let code = [0xff, 0x24, 0xc5, 0, 0x10, 0, 0].repeat(30_000);
    let graph = Cfg::of(&function(&code), &Data(0x1000, vec![0; 1 << 20]), &x86::X86_64);
    assert_eq!(graph.indirect().len(), 30_000);
}

#[test]
fn calls_lead_to_an_address_or_through_a_slot() {
    let at = |bytes: &[u8]| x86::X86_64.callee(0x1000, bytes);
    // call 0x200a; call *0x2ff0(%rip); call *%rax; call *8(%rax); jmp 0x1007, which may be a tail call.
    assert_eq!(at(&[0xe8, 0x05, 0x10, 0, 0]), Some(Callee::At(Vaddr(0x200a))));
    assert_eq!(at(&[0xff, 0x15, 0xf0, 0x2f, 0, 0]), Some(Callee::Through(Vaddr(0x3ff6))));
    assert_eq!(at(&[0xff, 0xd0]), None);
    assert_eq!(at(&[0xff, 0x50, 8]), None);
    assert_eq!(at(&[0xeb, 5]), Some(Callee::At(Vaddr(0x1007))));
    assert_eq!(at(&[0x74, 5]), None);
    assert_eq!(at(&[0xe8, 0x05]), None);
    // bl 0x0fff..c: four bytes back.
    assert_eq!(aarch64::AARCH64.callee(0x1000, &0x97ff_ffff_u32.to_le_bytes()), Some(Callee::At(Vaddr(0xffc))));
    assert_eq!(aarch64::AARCH64.callee(0x1000, &0x17ff_ffff_u32.to_le_bytes()), None);
    assert_eq!(x86::I386.callee(0x1000, &[0xe8, 0xfb, 0xef, 0xff, 0xff]), Some(Callee::At(Vaddr(0))));
}

#[test]
fn entries_of_linkage_tables_jump_through_a_slot() {
    let at = |bytes: &[u8]| x86::X86_64.linkage_slot(0x1000, bytes);
    // jmp *0x2fca(%rip), with a landing mark, and as `bnd jmp` behind one.
    assert_eq!(at(&[0xff, 0x25, 0xca, 0x2f, 0, 0, 0x68]), Some(Vaddr(0x3fd0)));
    assert_eq!(at(&[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xca, 0x2f, 0, 0]), Some(Vaddr(0x3fd4)));
    assert_eq!(at(&[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xca, 0x2f, 0, 0]), Some(Vaddr(0x3fd5)));
    assert_eq!(at(&[0x55, 0xff, 0x25, 0xca, 0x2f, 0, 0]), None);
    assert_eq!(at(&[0xf3, 0x0f, 0x1e, 0xfa]), None);
    assert_eq!(x86::I386.linkage_slot(0x1000, &[0xff, 0x25, 0xca, 0x2f, 0, 0]), None);
}
