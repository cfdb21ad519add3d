//! Which bits of a value are used, in small functions.

use super::*;
use crate::code::{Function, NoMemory, x86};

const ENTRY: u64 = 0x1000;
const RAX: u32 = 0;
const RDI: u32 = 7;

/// What made the value of a register at an offset of a function whose result has `result` bytes.
fn made(code: &[u8], offset: u64, register: u32, size: u64, result: Option<u64>) -> Option<Made> {
    let function = Function::in_one_piece(Vaddr(ENTRY), code);
    let cfg = Cfg::of(&function, &NoMemory, &x86::X86_64);
    let values = Values::of(&function, &cfg).expect("its paths are known");
    values.made(&cfg, Vaddr(ENTRY + offset), register, size, result)
}

fn used(code: &[u8], offset: u64, register: u32, result: Option<u64>) -> u64 {
    made(code, offset, register, 8, result).expect("it is known").used
}

#[test]
fn a_result_of_one_byte_uses_one_byte() {
    // imul $21,%rdi,%rax; nop; ret
    let code = [0x48, 0x6b, 0xc7, 0x15, 0x90, 0xc3];
    assert_eq!(used(&code, 4, RAX, Some(1)), 0xff);
    assert_eq!(used(&code, 4, RAX, Some(8)), u64::MAX);
    assert_eq!(used(&code, 4, RAX, None), u64::MAX);
    assert_eq!(used(&code, 4, RAX, Some(0)), 0);
    let made = made(&code, 4, RAX, 8, Some(1)).expect("it is known");
    assert_eq!((made.by, made.is_computed), (vec![Vaddr(ENTRY)], true));
}

#[test]
fn each_operation_uses_what_its_result_needs() {
    let of_second = |second: &[u8]| {
        // imul $21,%rdi,%rax; the second instruction; ret
        let code = [&[0x48, 0x6b, 0xc7, 0x15], second, &[0xc3]].concat();
        used(&code, 4, RAX, Some(4))
    };
    // movzbl %al,%eax; movsbl %al,%eax; and $0x30,%eax; shl $4,%eax; shr $4,%eax; sar $31,%eax
    assert_eq!(of_second(&[0x0f, 0xb6, 0xc0]), 0xff);
    assert_eq!(of_second(&[0x0f, 0xbe, 0xc0]), 0xff);
    assert_eq!(of_second(&[0x83, 0xe0, 0x30]), 0x30);
    assert_eq!(of_second(&[0xc1, 0xe0, 0x04]), 0x0fff_ffff);
    assert_eq!(of_second(&[0xc1, 0xe8, 0x04]), 0xffff_fff0);
    assert_eq!(of_second(&[0xc1, 0xf8, 0x1f]), 0x8000_0000);
    // add %edi,%eax; lea (%rax,%rax,2),%eax; not %eax
    assert_eq!(of_second(&[0x01, 0xf8]), 0xffff_ffff);
    assert_eq!(of_second(&[0x8d, 0x04, 0x40]), 0xffff_ffff);
    assert_eq!(of_second(&[0xf7, 0xd0]), 0xffff_ffff);
    // xor %eax,%eax; mov %edi,%eax
    assert_eq!(of_second(&[0x31, 0xc0]), 0);
    assert_eq!(of_second(&[0x89, 0xf8]), 0);
    // mov %al,(%rdi); mov %rax,(%rdi)
    assert_eq!(of_second(&[0x88, 0x07]), 0xffff_ffff);
    assert_eq!(of_second(&[0x48, 0x89, 0x07]), u64::MAX);
}

#[test]
fn flags_that_are_read_use_the_whole_operand() {
    // imul $21,%rdi,%rax; and $1,%rax (unused flags), then sete %al or xor %eax,%eax; ret
    let tested = [0x48, 0x6b, 0xc7, 0x15, 0x48, 0xff, 0xc8, 0x0f, 0x94, 0xc0, 0xc3];
    assert_eq!(used(&tested, 4, RAX, Some(1)), u64::MAX);
    let untested = [0x48, 0x6b, 0xc7, 0x15, 0x48, 0xff, 0xc8, 0xc3];
    assert_eq!(used(&untested, 4, RAX, Some(1)), 0xff);
}

#[test]
fn copies_are_one_value_and_parameters_come_whole() {
    // imul $21,%rdi,%rdx; mov %rdx,%rax; mov %rdx,(%rdi); movzbl %al,%eax; ret
    let code = [0x48, 0x6b, 0xd7, 0x15, 0x48, 0x89, 0xd0, 0x48, 0x89, 0x17, 0x0f, 0xb6, 0xc0, 0xc3];
    assert_eq!(used(&code, 10, RAX, Some(1)), u64::MAX);
    // movzbl %dil,%eax; ret
    let code = [0x40, 0x0f, 0xb6, 0xc7, 0xc3];
    let made = made(&code, 0, RDI, 8, Some(1)).expect("it is known");
    assert_eq!((made.used, made.is_computed), (u64::MAX, false));
    // xor %eax,%eax; ret: nothing uses the parameter.
    assert_eq!(used(&[0x31, 0xc0, 0xc3], 0, RDI, Some(4)), 0);
}

#[test]
fn loops_and_calls_are_followed() {
    // imul $21,%rdi,%rax; 1: add %rax,%rsi; dec %ecx; jne 1b; movzwl %si,%eax; ret
    let code = [0x48, 0x6b, 0xc7, 0x15, 0x48, 0x01, 0xc6, 0xff, 0xc9, 0x75, 0xf9, 0x0f, 0xb7, 0xc6, 0xc3];
    assert_eq!(used(&code, 4, RAX, Some(8)), 0xffff);
    // call +0; xor %eax,%eax; ret: the result of the call is not used, and rdi was an argument.
    let code = [0xe8, 0, 0, 0, 0, 0x31, 0xc0, 0xc3];
    assert_eq!(used(&code, 5, RAX, Some(4)), 0);
    assert_eq!(used(&code, 0, RDI, Some(4)), u64::MAX);
}
