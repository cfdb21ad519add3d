//! Tests of memory liveness on functions that are assembled by hand.

use super::*;
use crate::arch::x86;
use crate::code::{Function, NoMemory};

const RBX: u32 = 3;
const RSP: u32 = 4;
const RBP: u32 = 5;
const RDI: u32 = 7;

fn place(register: u32, offset: i64, size: u64) -> MemoryPlace {
    let (root, offsets) = (PlaceRoot::Register(register), vec![offset]);
    MemoryPlace { root, offsets, size, object: 0..8, outlives: true, block: Vec::new() }
}

fn function(bytes: &[u8]) -> Function<'_> {
    Function::in_one_piece(Vaddr(0x1000), bytes)
}

fn values(code: &[u8]) -> (Cfg, Values) {
    let function = function(code);
    let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
    let values = Values::of_function(&function, &cfg).expect("its paths are known");
    (cfg, values)
}

fn next_use(code: &[u8], pc: u64, place: &MemoryPlace) -> NextUse {
    let (cfg, values) = values(code);
    values.next_use(&cfg, Vaddr(pc), place, &BTreeMap::new())
}

#[test]
fn the_caller_reads_what_is_behind_its_pointer_unless_it_is_overwritten() {
    // 1000: addl $1,(%rdi); 1003: addl $1,4(%rdi); 1007: ret
    let code = [0x83, 0x07, 0x01, 0x83, 0x47, 0x04, 0x01, 0xc3];
    assert_eq!(next_use(&code, 0x1003, &place(RDI, 0, 4)), NextUse::Returned(Vaddr(0x1007)));
    assert_eq!(next_use(&code, 0x1003, &place(RDI, 4, 4)), NextUse::Read(Vaddr(0x1003)));
    // An object that is passed by value through a pointer is not the caller's any more.
    assert_eq!(next_use(&code, 0x1003, &MemoryPlace { outlives: false, ..place(RDI, 0, 4) }), NextUse::Unused);
    // 1000: movl $2,(%rdi); 1006: ret
    let code = [0xc7, 0x07, 0x02, 0, 0, 0, 0xc3];
    assert_eq!(next_use(&code, 0x1000, &place(RDI, 0, 4)), NextUse::Overwritten(Vaddr(0x1000)));
    // Part of it is overwritten.
    assert_eq!(next_use(&code, 0x1000, &place(RDI, 0, 8)), NextUse::Overwritten(Vaddr(0x1000)));
    assert_eq!(next_use(&code, 0x1000, &place(RDI, 4, 4)), NextUse::Returned(Vaddr(0x1006)));
}

#[test]
fn a_local_that_nothing_reads_is_not_settled() {
    // 1000: mov %edi,-8(%rsp); 1004: mov -8(%rsp),%eax; 1008: ret
    let code = [0x89, 0x7c, 0x24, 0xf8, 0x8b, 0x44, 0x24, 0xf8, 0xc3];
    assert_eq!(next_use(&code, 0x1004, &place(RSP, -8, 4)), NextUse::Read(Vaddr(0x1004)));
    assert_eq!(next_use(&code, 0x1008, &place(RSP, -8, 4)), NextUse::Unused);
}

#[test]
fn code_outside_of_the_block_of_an_object_uses_another_one() {
    // 1000: mov %edi,-8(%rsp); 1004: mov -8(%rsp),%eax; 1008: ret
    let code = [0x89, 0x7c, 0x24, 0xf8, 0x8b, 0x44, 0x24, 0xf8, 0xc3];
    let within = |block| MemoryPlace { block: vec![block], ..place(RSP, -8, 4) };
    assert_eq!(next_use(&code, 0x1004, &within(0x1000..0x1008)), NextUse::Read(Vaddr(0x1004)));
    assert_eq!(next_use(&code, 0x1004, &within(0x1000..0x1004)), NextUse::Unused);
    // 1000: mov %rsp,%rdi; 1003: call 1008; 1008: ret
    let code = [0x48, 0x89, 0xe7, 0xe8, 0, 0, 0, 0, 0xc3];
    let within = |block| MemoryPlace { block: vec![block], ..place(RSP, 0, 4) };
    assert_eq!(next_use(&code, 0x1000, &within(0x1000..0x1008)), NextUse::Passed(Vaddr(0x1003)));
    assert_eq!(next_use(&code, 0x1000, &within(0x1000..0x1003)), NextUse::Unused);
}

#[test]
fn the_frame_pointer_and_the_stack_pointer_address_the_same_frame() {
    // 1000: push %rbp; 1001: mov %rsp,%rbp; 1004: sub $16,%rsp; 1008: mov %edi,-4(%rbp);
    // 100b: mov 12(%rsp),%eax; 100f: leave; 1010: ret
    let code = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x89, 0x7d, 0xfc, 0x8b, 0x44, 0x24, 0x0c, 0xc9, 0xc3];
    assert_eq!(next_use(&code, 0x100b, &place(RBP, -4, 4)), NextUse::Read(Vaddr(0x100b)));
    assert_eq!(next_use(&code, 0x1008, &place(RSP, 12, 4)), NextUse::Overwritten(Vaddr(0x1008)));
}

#[test]
fn a_call_that_frees_other_memory_reads_nothing() {
    // 1000: call 1005; 1005: movl $1,(%rdi); 100b: ret. The register may only be left over.
    let code = [0xe8, 0, 0, 0, 0, 0xc7, 0x07, 1, 0, 0, 0, 0xc3];
    assert_eq!(next_use(&code, 0x1000, &place(RDI, 0, 4)), NextUse::Passed(Vaddr(0x1000)));
    // 1000: push %rbx; 1001: mov %rdi,%rbx; 1004: call 1009; 1009: movl $1,(%rbx); 100f: pop %rbx;
    // 1010: ret
    let code = [0x53, 0x48, 0x89, 0xfb, 0xe8, 0, 0, 0, 0, 0xc7, 0x03, 1, 0, 0, 0, 0x5b, 0xc3];
    let (cfg, values) = values(&code);
    let after = |calls| values.next_use(&cfg, Vaddr(0x1004), &place(RBX, 0, 4), &calls);
    assert_eq!(after(BTreeMap::new()), NextUse::Passed(Vaddr(0x1004)));
    assert_eq!(after(BTreeMap::from([(Vaddr(0x1004), CallEffect::Nothing)])), NextUse::Overwritten(Vaddr(0x1009)));
}

#[test]
fn copies_of_a_pointer_are_followed_through_registers_and_the_stack() {
    // 1000: push %rbx; 1001: mov %rdi,%rbx; 1004: call 1009; 1009: mov (%rbx),%eax; 100b: pop %rbx;
    // 100c: ret
    let code = [0x53, 0x48, 0x89, 0xfb, 0xe8, 0, 0, 0, 0, 0x8b, 0x03, 0x5b, 0xc3];
    let second = MemoryPlace { object: -4..4, ..place(RBX, 4, 4) };
    assert_eq!(next_use(&code, 0x1004, &second), NextUse::Passed(Vaddr(0x1004)));
    // The pointer that is passed is not one to the object.
    assert_eq!(next_use(&code, 0x1004, &place(RBX, 4, 4)), NextUse::Returned(Vaddr(0x100c)));
    assert_eq!(next_use(&code, 0x1009, &place(RBX, 0, 4)), NextUse::Read(Vaddr(0x1009)));
    // 1000: mov %rdi,-8(%rsp); 1005: xor %edi,%edi; 1007: mov -8(%rsp),%rax; 100c: movl $1,(%rax);
    // 1012: ret. The place is described through the stack.
    let code = [0x48, 0x89, 0x7c, 0x24, 0xf8, 0x31, 0xff, 0x48, 0x8b, 0x44, 0x24, 0xf8, 0xc7, 0, 1, 0, 0, 0, 0xc3];
    let through = MemoryPlace { offsets: vec![-8, 0], ..place(RSP, 0, 4) };
    assert_eq!(next_use(&code, 0x1007, &through), NextUse::Overwritten(Vaddr(0x100c)));
}

#[test]
fn one_path_that_reads_is_enough() {
    // 1000: test %esi,%esi; 1002: je 100a; 1004: movl $1,(%rdi); 100a: mov (%rdi),%eax;
    // 100c: movl $2,(%rdi); 1012: ret
    let code = [0x85, 0xf6, 0x74, 0x06, 0xc7, 0x07, 1, 0, 0, 0, 0x8b, 0x07, 0xc7, 0x07, 2, 0, 0, 0, 0xc3];
    assert_eq!(next_use(&code, 0x1000, &place(RDI, 0, 4)), NextUse::Read(Vaddr(0x100a)));
    assert_eq!(next_use(&code, 0x1004, &place(RDI, 0, 4)), NextUse::Overwritten(Vaddr(0x1004)));
}

#[test]
fn a_pointer_that_a_loop_changes_is_another_pointer() {
    // 1000: mov %esi,(%rdi); 1002: mov 8(%rdi),%rdi; 1006: test %rdi,%rdi; 1009: jne 1000; 100b: ret
    let code = [0x89, 0x37, 0x48, 0x8b, 0x7f, 0x08, 0x48, 0x85, 0xff, 0x75, 0xf5, 0xc3];
    let (cfg, values) = values(&code);
    assert_eq!(
        values.next_use(&cfg, Vaddr(0x1000), &place(RDI, 0, 4), &BTreeMap::new()),
        NextUse::Overwritten(Vaddr(0x1000))
    );
    // Behind the new pointer, the caller reads it.
    assert_eq!(
        values.next_use(&cfg, Vaddr(0x1006), &place(RDI, 4, 4), &BTreeMap::new()),
        NextUse::Returned(Vaddr(0x100b))
    );
}

#[test]
fn an_address_on_the_stack_is_passed_to_a_callee() {
    // 1000: sub $24,%rsp; 1004: lea 8(%rsp),%rdi; 1009: call 100e; 100e: add $24,%rsp; 1012: ret
    let code = [0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x7c, 0x24, 0x08, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 0x18, 0xc3];
    assert_eq!(next_use(&code, 0x1009, &place(RSP, 8, 4)), NextUse::Passed(Vaddr(0x1009)));
    assert_eq!(next_use(&code, 0x1009, &place(RSP, 0, 4)), NextUse::Unused);
    assert_eq!(next_use(&code, 0x100e, &place(RSP, 8, 4)), NextUse::Unused);
}

#[test]
fn equal_values_are_recognised() {
    // 1000: mov %edi,%ebx; 1002: mov %esi,-4(%rsp); 1006: ret
    let (cfg, values) = values(&[0x89, 0xfb, 0x89, 0x74, 0x24, 0xfc, 0xc3]);
    let equal = |one: &ValuePlace, other: &ValuePlace, size| values.are_equal(&cfg, Vaddr(0x1006), one, other, size);
    let register = |register| ValuePlace::Register(register);
    assert!(equal(&register(RBX), &register(RDI), 4));
    assert!(!equal(&register(RBX), &register(RDI), 8), "the upper half of %rdi may be anything");
    assert!(!equal(&register(RBX), &register(6), 4));
    assert!(equal(&ValuePlace::Memory(place(RSP, -4, 4)), &register(6), 4));
}

#[test]
fn what_is_not_understood_is_unknown() {
    // 1000: a byte that is no instruction
    let function = function(&[0x06, 0xc3]);
    let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
    assert!(Values::of_function(&function, &cfg).is_none());
    // An address that no path leads to.
    let (cfg, values) = values(&[0xc3, 0x89, 0x07, 0xc3]);
    assert_eq!(values.next_use(&cfg, Vaddr(0x1001), &place(RDI, 0, 4), &BTreeMap::new()), NextUse::Unknown);
}

#[test]
fn the_code_shows_where_objects_of_the_frame_are() {
    let is_object = |code: &[u8], pc: u64, place: &MemoryPlace| {
        let (cfg, values) = values(code);
        values.is_object(&cfg, Vaddr(pc), place)
    };
    // 1000: mov %rdi,-0x10(%rsp); 1005: mov -0x10(%rsp),%rax; 100a: ret: a pointer is spilled.
    let spill = [0x48, 0x89, 0x7c, 0x24, 0xf0, 0x48, 0x8b, 0x44, 0x24, 0xf0, 0xc3];
    let member = MemoryPlace { object: -8..8, ..place(RSP, -8, 4) };
    assert!(!is_object(&spill, 0x1005, &member), "nothing accesses a member behind the slot");
    assert!(is_object(&spill, 0x1005, &place(RSP, -16, 8)), "the slot itself is accessed");
    assert!(is_object(&spill, 0x1005, &place(RDI, 8, 4)), "this is not in the frame");
    // 1000: lea -0x10(%rsp),%rax; 1005: mov %rax,(%rdi); 1008: ret: its address is taken.
    let taken = [0x48, 0x8d, 0x44, 0x24, 0xf0, 0x48, 0x89, 0x07, 0xc3];
    assert!(is_object(&taken, 0x1005, &member));
}

#[test]
fn a_callee_that_only_writes_reads_nothing() {
    // 1000: push %rbx; 1001: mov %rdi,%rbx; 1004: mov $16,%edx; 1009: call 100e; 100e: pop %rbx; 100f: ret
    let code = [0x53, 0x48, 0x89, 0xfb, 0xba, 0x10, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0x5b, 0xc3];
    let (cfg, values) = values(&code);
    let object = |offset: i64| MemoryPlace { object: -offset..64, ..place(RDI, offset, 4) };
    let after = |place: &MemoryPlace, effect| {
        values.next_use(&cfg, Vaddr(0x1001), place, &BTreeMap::from([(Vaddr(0x1009), effect)]))
    };
    let set = CallEffect::Writes { reads_second: false, has_size: true };
    assert_eq!(values.next_use(&cfg, Vaddr(0x1001), &object(0), &BTreeMap::new()), NextUse::Passed(Vaddr(0x1009)));
    assert_eq!(after(&object(0), set), NextUse::Overwritten(Vaddr(0x1009)));
    assert_eq!(after(&object(12), set), NextUse::Overwritten(Vaddr(0x1009)));
    // It writes 16 bytes, so the caller reads what is behind these.
    assert_eq!(after(&object(16), set), NextUse::Returned(Vaddr(0x100f)));
    let text = CallEffect::Writes { reads_second: false, has_size: false };
    assert_eq!(after(&object(0), text), NextUse::Returned(Vaddr(0x100f)));
    // 1000: mov %rdi,%rsi; 1003: call 1008; 1008: ret. The source is the object.
    let code = [0x48, 0x89, 0xfe, 0xe8, 0, 0, 0, 0, 0xc3];
    let (cfg, values) = self::values(&code);
    let copy = CallEffect::Writes { reads_second: true, has_size: true };
    let next = |effect| values.next_use(&cfg, Vaddr(0x1000), &object(0), &BTreeMap::from([(Vaddr(0x1003), effect)]));
    assert_eq!(next(copy), NextUse::Passed(Vaddr(0x1003)));
    assert_eq!(next(set), NextUse::Returned(Vaddr(0x1008)));
}

#[test]
fn one_instruction_overwrites_many_words() {
    // 1000: mov $4,%ecx; 1005: xor %eax,%eax; 1007: rep stos %eax,(%rdi); 1009: ret
    let code = [0xb9, 4, 0, 0, 0, 0x31, 0xc0, 0xf3, 0xab, 0xc3];
    assert_eq!(next_use(&code, 0x1000, &place(RDI, 0, 4)), NextUse::Overwritten(Vaddr(0x1007)));
    assert_eq!(next_use(&code, 0x1000, &place(RDI, 12, 4)), NextUse::Overwritten(Vaddr(0x1007)));
    assert_eq!(next_use(&code, 0x1000, &place(RDI, 16, 4)), NextUse::Returned(Vaddr(0x1009)));
    // Nothing says how many.
    assert_eq!(next_use(&code, 0x1005, &place(RDI, 0, 4)), NextUse::Overwritten(Vaddr(0x1007)));
    assert_eq!(next_use(&code[5..], 0x1000, &place(RDI, 0, 4)), NextUse::Returned(Vaddr(0x1004)));
}
