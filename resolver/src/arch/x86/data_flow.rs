//! What instructions do with values and memory.

use iced_x86::{Code, Instruction as Iced, InstructionInfoFactory, Mnemonic, OpKind, Register, UsedMemory};

use super::decode::{gpr, is_read, is_write};
use super::{decode, demand};
use crate::code::data_flow::{Access, Base, DataFlow, Fill, Gpr, How, RegisterValue, Use};

/// What an instruction of 64-bit code does.
pub(super) fn of(factory: &mut InstructionInfoFactory, iced: &Iced) -> DataFlow {
    let info = factory.info(iced);
    let mut flow = DataFlow { returns: iced.mnemonic() == Mnemonic::Ret, ..DataFlow::default() };
    flow.accesses = info.used_memory().iter().filter_map(|used| access(iced, used)).collect();
    flow.accesses.sort_by_key(|access| access.writes);
    flow.fills = fills(iced);
    for used in info.used_registers() {
        let Some(register) = gpr(used.register().full_register()).filter(|_| is_write(used.access())) else { continue };
        if !flow.writes.iter().any(|(written, _)| *written == register) {
            let computed = computed(iced, register, &flow.accesses);
            flow.writes.push((register, computed));
        }
    }
    demand::add(&mut flow, iced, info);
    flow
}

/// What `rep stos` and `rep movs` write. The ABI has the direction flag clear.
fn fills(iced: &Iced) -> Option<Fill> {
    let size = match iced.mnemonic() {
        _ if !iced.has_rep_prefix() => return None,
        Mnemonic::Stosb | Mnemonic::Movsb => 1,
        Mnemonic::Stosw | Mnemonic::Movsw => 2,
        Mnemonic::Stosd | Mnemonic::Movsd => 4,
        Mnemonic::Stosq | Mnemonic::Movsq => 8,
        _ => return None,
    };
    Some(Fill { to: gpr(Register::RDI)?, count: gpr(Register::RCX)?, size })
}

fn is_second_byte(register: Register) -> bool {
    matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

fn access(iced: &Iced, used: &UsedMemory) -> Option<Access> {
    let (reads, writes) = (is_read(used.access()), is_write(used.access()));
    if !reads && !writes {
        return None;
    }
    let is_string = iced.is_string_instruction();
    let (base, offset) = match used.base() {
        _ if matches!(used.segment(), Register::FS | Register::GS) => (Base::Unknown, 0),
        Register::RIP | Register::EIP => (Base::Zero, iced.ip_rel_memory_address() as i64),
        Register::None if used.index() == Register::None => (Base::Zero, used.displacement() as i64),
        Register::None => (Base::Unknown, 0),
        base => (gpr(base).map_or(Base::Unknown, Base::Register), used.displacement() as i64),
    };
    let size = u32::try_from(used.memory_size().size()).unwrap_or(0);
    let is_indexed = used.index() != Register::None || is_string || size == 0;
    let stored = match iced.mnemonic() {
        Mnemonic::Mov if iced.op1_kind() == OpKind::Register => Some(iced.op1_register()),
        Mnemonic::Push if iced.op0_kind() == OpKind::Register => Some(iced.op0_register()),
        _ => None,
    };
    let stored = stored.filter(|register| writes && !is_second_byte(*register)).and_then(gpr);
    Some(Access { base, offset, is_indexed, size, reads, writes, stored })
}

/// The value that an instruction gives a register.
fn computed(iced: &Iced, register: Gpr, accesses: &[Access]) -> RegisterValue {
    const RSP: Gpr = 4;
    const RBP: Gpr = 5;
    let load = |size| accesses.iter().position(|access| access.reads && access.size == size).map(RegisterValue::Load);
    let immediate = || match iced.op1_kind() {
        OpKind::Immediate8to64 => Some(iced.immediate8to64()),
        OpKind::Immediate32to64 => Some(iced.immediate32to64()),
        _ => None,
    };
    let is_first = iced.op0_kind() == OpKind::Register && gpr(iced.op0_register()) == Some(register);
    let is_destination = is_first && iced.op0_register().is_gpr64();
    let is_low = is_first && iced.op0_register().is_gpr32();
    let known = match iced.mnemonic() {
        Mnemonic::Push if register == RSP => {
            Some(RegisterValue::Sum(RSP, -i64::from(iced.stack_pointer_increment().abs())))
        }
        Mnemonic::Pop if register == RSP && !is_destination => {
            Some(RegisterValue::Sum(RSP, i64::from(iced.stack_pointer_increment())))
        }
        Mnemonic::Pop if is_destination => load(8),
        // The callee takes the return address off again.
        Mnemonic::Call if register == RSP => Some(RegisterValue::Sum(RSP, 0)),
        Mnemonic::Leave if register == RSP => Some(RegisterValue::Sum(RBP, 8)),
        Mnemonic::Leave => load(8),
        Mnemonic::Mov if is_low => match iced.op1_kind() {
            OpKind::Register => gpr(iced.op1_register()).map(RegisterValue::Low),
            OpKind::Memory => load(4),
            OpKind::Immediate32 => Some(RegisterValue::Constant(iced.immediate32().into())),
            _ => None,
        },
        _ if is_low => low_sum(iced, register),
        _ if !is_destination => None,
        Mnemonic::Mov => match iced.op1_kind() {
            OpKind::Register => gpr(iced.op1_register()).map(|from| RegisterValue::Sum(from, 0)),
            OpKind::Memory => load(8),
            _ => None,
        },
        Mnemonic::Lea if iced.code() == Code::Lea_r64_m => address(iced),
        Mnemonic::Add => immediate().map(|bytes| RegisterValue::Sum(register, bytes)),
        Mnemonic::Sub => immediate().map(|bytes| RegisterValue::Sum(register, bytes.wrapping_neg())),
        Mnemonic::Inc => Some(RegisterValue::Sum(register, 1)),
        Mnemonic::Dec => Some(RegisterValue::Sum(register, -1)),
        _ => None,
    };
    known.unwrap_or(RegisterValue::Unknown)
}

/// The sum of 32 bits that an instruction computes, if it is one of a register and a constant.
fn low_sum(iced: &Iced, register: Gpr) -> Option<RegisterValue> {
    let immediate = || match iced.op1_kind() {
        OpKind::Immediate8to32 | OpKind::Immediate32 => Some(i64::from(iced.immediate(1) as u32 as i32)),
        _ => None,
    };
    match iced.mnemonic() {
        Mnemonic::Add => immediate().map(|by| RegisterValue::LowSum(register, by)),
        Mnemonic::Sub => immediate().map(|by| RegisterValue::LowSum(register, by.wrapping_neg())),
        Mnemonic::Inc => Some(RegisterValue::LowSum(register, 1)),
        Mnemonic::Dec => Some(RegisterValue::LowSum(register, -1)),
        Mnemonic::Lea if iced.memory_index() == Register::None && !iced.is_ip_rel_memory_operand() => {
            let base = gpr(iced.memory_base()).filter(|_| iced.memory_base().is_gpr64())?;
            Some(RegisterValue::LowSum(base, iced.memory_displacement64() as i64))
        }
        _ => None,
    }
}

/// The address that `lea` computes.
fn address(iced: &Iced) -> Option<RegisterValue> {
    if iced.memory_index() != Register::None {
        return None;
    }
    if iced.is_ip_rel_memory_operand() {
        return Some(RegisterValue::Address(iced.ip_rel_memory_address()));
    }
    let base = gpr(iced.memory_base()).filter(|_| iced.memory_base().is_gpr64())?;
    Some(RegisterValue::Sum(base, iced.memory_displacement64() as i64))
}

/// A reader of 64-bit code.
pub(super) fn reader() -> crate::code::data_flow::DataReader {
    let mut factory = InstructionInfoFactory::new();
    Box::new(move |at, code| decode::decode(64, at, code).map_or_else(unknown, |iced| of(&mut factory, &iced)))
}

/// What bytes do that are not an instruction.
fn unknown() -> DataFlow {
    let uses = (0..16).map(|register| Use { register, bits: u64::MAX, how: How::Always }).collect();
    let writes = (0..16).map(|register| (register, RegisterValue::Unknown)).collect();
    DataFlow { writes, uses, ..DataFlow::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(code: &[u8]) -> DataFlow {
        reader()(0x1000, code)
    }

    fn access(base: Base, offset: i64, size: u32) -> Access {
        Access { base, offset, is_indexed: false, size, reads: false, writes: false, stored: None }
    }

    #[test]
    fn copies_sums_and_loads_are_followed() {
        // mov %rdi,%rbx
        assert_eq!(flow(&[0x48, 0x89, 0xfb]).writes[..], [(3, RegisterValue::Sum(7, 0))]);
        // lea 0x8(%rsp),%rax; add $0x10,%rax; sub $0x18,%rsp; mov %edi,%eax
        assert_eq!(flow(&[0x48, 0x8d, 0x44, 0x24, 0x08]).writes[..], [(0, RegisterValue::Sum(4, 8))]);
        assert_eq!(flow(&[0x48, 0x83, 0xc0, 0x10]).writes[..], [(0, RegisterValue::Sum(0, 16))]);
        assert_eq!(flow(&[0x48, 0x83, 0xec, 0x18]).writes[..], [(4, RegisterValue::Sum(4, -24))]);
        assert_eq!(flow(&[0x89, 0xf8]).writes[..], [(0, RegisterValue::Low(7))]);
        // add $-1,%ecx; dec %ecx; lea 0x1(%rcx),%eax; lea (%rcx,%rcx,2),%eax
        assert_eq!(flow(&[0x83, 0xc1, 0xff]).writes[..], [(1, RegisterValue::LowSum(1, -1))]);
        assert_eq!(flow(&[0xff, 0xc9]).writes[..], [(1, RegisterValue::LowSum(1, -1))]);
        assert_eq!(flow(&[0x8d, 0x41, 0x01]).writes[..], [(0, RegisterValue::LowSum(1, 1))]);
        assert_eq!(flow(&[0x8d, 0x04, 0x49]).writes[..], [(0, RegisterValue::Unknown)]);
        // mov $0x40,%edx
        assert_eq!(flow(&[0xba, 0x40, 0, 0, 0]).writes[..], [(2, RegisterValue::Constant(0x40))]);
        // mov 0x8(%rdi),%rax
        let load = flow(&[0x48, 0x8b, 0x47, 0x08]);
        assert_eq!(load.writes[..], [(0, RegisterValue::Load(0))]);
        assert_eq!(load.accesses[..], [Access { reads: true, ..access(Base::Register(7), 8, 8) }]);
        // lea 0x10(%rip),%rax
        assert_eq!(flow(&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0]).writes[..], [(0, RegisterValue::Address(0x1017))]);
        // rep movsl; rep stosb; movsl
        assert_eq!(flow(&[0xf3, 0xa5]).fills, Some(Fill { to: 7, count: 1, size: 4 }));
        assert_eq!(flow(&[0xf3, 0xaa]).fills, Some(Fill { to: 7, count: 1, size: 1 }));
        assert_eq!(flow(&[0xa5]).fills, None);
        // Bytes that are no instruction change everything.
        assert_eq!(flow(&[0x06]).writes.len(), 16);
    }

    #[test]
    fn memory_has_base_size_and_direction() {
        // mov %rbx,0x10(%rsp)
        let store = flow(&[0x48, 0x89, 0x5c, 0x24, 0x10]);
        let written = Access { writes: true, stored: Some(3), ..access(Base::Register(4), 16, 8) };
        assert_eq!((&store.accesses[..], &store.writes[..]), (&[written][..], &[][..]));
        // addl $0x1,(%rdi)
        let both = Access { reads: true, writes: true, ..access(Base::Register(7), 0, 4) };
        assert_eq!(flow(&[0x83, 0x07, 0x01]).accesses[..], [both]);
        // mov (%rdi,%rax,4),%ecx
        let indexed = Access { is_indexed: true, reads: true, ..access(Base::Register(7), 0, 4) };
        assert_eq!(flow(&[0x8b, 0x0c, 0x87]).accesses[..], [indexed]);
        // mov 0x10(%rip),%eax
        let fixed = Access { reads: true, ..access(Base::Zero, 0x1016, 4) };
        assert_eq!(flow(&[0x8b, 0x05, 0x10, 0, 0, 0]).accesses[..], [fixed]);
        // push %rbx; pop %rbx; leave; ret
        let push = flow(&[0x53]);
        assert_eq!(push.writes[..], [(4, RegisterValue::Sum(4, -8))]);
        assert_eq!(push.accesses[..], [Access { writes: true, stored: Some(3), ..access(Base::Register(4), -8, 8) }]);
        let mut pop = flow(&[0x5b]).writes;
        pop.sort_by_key(|(register, _)| *register);
        assert_eq!(pop[..], [(3, RegisterValue::Load(0)), (4, RegisterValue::Sum(4, 8))]);
        let mut leave = flow(&[0xc9]).writes;
        leave.sort_by_key(|(register, _)| *register);
        assert_eq!(leave[..], [(4, RegisterValue::Sum(5, 8)), (5, RegisterValue::Load(0))]);
        assert!(flow(&[0xc3]).returns);
    }

    #[test]
    fn a_register_is_widened_in_place() {
        // movzbl %cl,%ecx; movswl %si,%esi; mov %ecx,%ecx; movslq %edi,%rdi.
        assert_eq!(flow(&[0x0f, 0xb6, 0xc9]).widens(), Some(1));
        assert_eq!(flow(&[0x0f, 0xbf, 0xf6]).widens(), Some(6));
        assert_eq!(flow(&[0x89, 0xc9]).widens(), Some(1));
        assert_eq!(flow(&[0x48, 0x63, 0xff]).widens(), Some(7));
        // movzbl %dl,%ecx; movzbl %ch,%ecx; inc %ecx; not %ecx; and $7,%ecx; movzbl (%rcx),%ecx.
        for other in [
            &[0x0f, 0xb6, 0xca][..],
            &[0x0f, 0xb6, 0xcd],
            &[0xff, 0xc1],
            &[0xf7, 0xd1],
            &[0x83, 0xe1, 0x07],
            &[0x0f, 0xb6, 0x09],
        ] {
            assert_eq!(flow(other).widens(), None, "{other:x?}");
        }
    }
}
