//! Random computations, run by the kernel and by `Expr::evaluate` on the same registers and memory.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;

use object::{Object as _, ObjectSymbol as _};
use simple_markers_resolver::address::{FileOffset, RuntimeAddress, Vaddr};
use simple_markers_resolver::location::{Binary, Expr, Machine, Node, Register, Unary, Unreadable, Value, ValueType};
use simple_markers_tests::tools::Choices;
use simple_markers_tests::watched::{can_watch, compile};
use simple_markers_tracer::Plan;
use simple_markers_tracer::arch::Platform;
use simple_markers_tracer::bpf::{KernelOffsets, Target, input};
use simple_markers_tracer::plan::{Aggregate, ImageFile, Input, MAX_WORDS, PlannedImage, PlannedMarker, PlannedSite};
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::record::{Field, Layout};
use simple_markers_tracer::sys::{Kernel, Mode, Scope, Session};

/// The registers that the program sets, by their number in DWARF. `%rbx` has the address of the
/// memory. `%rsp` and `%rbp` are left alone.
const REGISTERS: [(u16, &str); 14] = [
    (0, "rax"),
    (1, "rdx"),
    (2, "rcx"),
    (3, "rbx"),
    (4, "rsi"),
    (5, "rdi"),
    (8, "r8"),
    (9, "r9"),
    (10, "r10"),
    (11, "r11"),
    (12, "r12"),
    (13, "r13"),
    (14, "r14"),
    (15, "r15"),
];
const MEMORY: usize = 256;
const EXPRESSIONS: usize = 6_000;

/// Numbers that do not depend on the machine.
struct Random(Choices);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0.below(count)
    }

    /// A number, often near a power of two.
    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(16),
            1 => (1u64 << self.below(64)).wrapping_sub(self.below(3)),
            2 => self.below(16).wrapping_neg(),
            _ => self.0.number(),
        }
    }
}

/// The registers and the memory at the probe.
struct Given {
    registers: HashMap<u16, u64>,
    memory: Vec<u8>,
    start: u64,
}

impl Machine for Given {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        self.registers.get(&register.0).map(|bits| bits.to_le_bytes().to_vec())
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        let from = usize::try_from(address.0.wrapping_sub(self.start)).ok();
        let bytes = from.and_then(|from| self.memory.get(from..from.checked_add(into.len())?));
        bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }

    fn bias(&self) -> u64 {
        0
    }

    fn thread_local(&self, _: u64) -> Option<RuntimeAddress> {
        None
    }

    fn address_size(&self) -> u8 {
        8
    }

    fn is_big_endian(&self) -> bool {
        false
    }
}

/// Makes computations.
struct Maker {
    random: Random,
    start: u64,
}

impl Maker {
    fn integer_type(&mut self) -> ValueType {
        let size = 1 << self.random.below(4);
        match self.random.below(3) {
            0 => ValueType::Generic,
            1 => ValueType::Signed(size),
            _ => ValueType::Unsigned(size),
        }
    }

    fn node(&mut self, of: ValueType, depth: u32) -> Node {
        if depth == 0 {
            return match (self.random.below(3), of) {
                (0, _) => Node::Constant(Value::new(of, self.random.number(), 8)),
                (1, ValueType::Generic) => Node::Address(Vaddr(self.start + self.random.below(MEMORY as u64))),
                _ => {
                    let (number, _) = REGISTERS[self.random.below(REGISTERS.len() as u64) as usize];
                    Node::Register(Register(number), of)
                }
            };
        }
        let next = depth - 1;
        match (self.random.below(8), of) {
            (0, _) => {
                let from = self.integer_type();
                Node::Convert(of, self.expr(from, next))
            }
            (1, _) => {
                let size = of.size(8);
                let from = if self.random.below(2) == 0 { ValueType::Signed(size) } else { ValueType::Unsigned(size) };
                Node::Reinterpret(of, self.expr(from, next))
            }
            (2, ValueType::Generic | ValueType::Signed(_)) => {
                let operation = [Unary::Abs, Unary::Neg, Unary::Not][self.random.below(3) as usize];
                Node::Unary(operation, self.expr(of, next))
            }
            (2, _) => Node::Unary(Unary::Not, self.expr(of, next)),
            (3, _) => {
                let size = 1 + self.random.below(of.size(8).into()) as u8;
                Node::Memory { address: self.address(next), size, to: of }
            }
            (4, ValueType::Generic) => {
                let kinds = [Binary::Eq, Binary::Ge, Binary::Gt, Binary::Le, Binary::Lt, Binary::Ne];
                let operation = kinds[self.random.below(6) as usize];
                let compared = self.integer_type();
                Node::Binary(operation, self.expr(compared, next), self.expr(compared, next))
            }
            (4 | 5, _) => {
                let right = if matches!(of, ValueType::Unsigned(_)) { Binary::Shr } else { Binary::Shra };
                let operation = if self.random.below(2) == 0 { Binary::Shl } else { right };
                let by = match self.random.below(3) {
                    0 => Expr::constant(self.random.below(70)),
                    _ => {
                        let of = self.integer_type();
                        self.expr(of, next.min(1))
                    }
                };
                Node::Binary(operation, self.expr(of, next), by)
            }
            _ => {
                use Binary::{And, Div, Minus, Mod, Mul, Or, Plus, Xor};
                let operation = [And, Div, Minus, Mod, Mul, Or, Plus, Xor][self.random.below(8) as usize];
                Node::Binary(operation, self.expr(of, next), self.expr(of, next))
            }
        }
    }

    /// An address that is nearly always in the memory.
    fn address(&mut self, depth: u32) -> Expr {
        if self.random.below(32) == 0 {
            return self.expr(ValueType::Generic, depth);
        }
        let binary = |operation, a, b| Expr::new(Node::Binary(operation, a, b)).expect("it is small");
        let offset = self.expr(ValueType::Generic, depth);
        let offset = binary(Binary::And, offset, Expr::constant(MEMORY as u64 / 2 - 1));
        let base = match self.random.below(2) {
            0 => Expr::new(Node::Register(Register(3), ValueType::Generic)),
            _ => Expr::new(Node::Address(Vaddr(self.start))),
        };
        binary(Binary::Plus, base.expect("it is small"), offset)
    }

    fn expr(&mut self, of: ValueType, depth: u32) -> Expr {
        let node = self.node(of, depth);
        Expr::new(node).expect("it is small")
    }
}

/// Sets the registers and passes the probe once.
fn source(registers: &HashMap<u16, u64>, memory: &[u8]) -> String {
    let mut text = String::from("unsigned char memory[] = {");
    for byte in memory {
        let _ = write!(text, "{byte},");
    }
    text.push_str("};\nint main(void) {\n    __asm__ volatile(\n");
    for (number, name) in REGISTERS {
        let value = if number == 3 { "memory".to_owned() } else { format!("{:#x}", registers[&number]) };
        let _ = writeln!(text, "        \"movabs ${value}, %%{name}\\n\"");
    }
    text.push_str("        \".globl probe\\nprobe: nop\\n\" ::: \"memory\"");
    for (_, name) in REGISTERS {
        let _ = write!(text, ", \"{name}\"");
    }
    text.push_str(");\n    return 0;\n}\n");
    text
}

#[test]
fn the_kernel_computes_what_we_compute() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random(Choices::new(1));
    let mut registers: HashMap<u16, u64> = REGISTERS.iter().map(|(number, _)| (*number, random.number())).collect();
    let memory: Vec<u8> = (0..MEMORY).map(|_| random.0.number() as u8).collect();
    let program = compile(folder.path(), "registers", &source(&registers, &memory), &["-no-pie", "-fno-pie"]);
    let bytes = std::fs::read(&program).expect("the program");
    let image = object::File::parse(&*bytes).expect("an image");
    let symbol = |name| image.symbols().find(|symbol| symbol.name() == Ok(name)).expect(name).address();
    let (start, probe) = (symbol("memory"), symbol("probe"));
    registers.insert(3, start);
    let segments = object::ObjectSegment::file_range;
    let offset = object::Object::segments(&image)
        .find_map(|segment| {
            let (address, (offset, size)) = (object::ObjectSegment::address(&segment), segments(&segment));
            (address..address + size).contains(&probe).then(|| probe - address + offset)
        })
        .expect("the probe is in a segment");

    let target = Target {
        probe: Vaddr(probe),
        platform: Platform::HOST,
        thread_local_size: None,
        is_sleepable: true,
        has_exchange: true,
        kernel: KernelOffsets::default(),
    };
    let mut maker = Maker { random, start };
    let mut inputs = Vec::new();
    while inputs.len() < EXPRESSIONS {
        let of = maker.integer_type();
        let depth = maker.random.below(6) as u32;
        let input = Input::Number(maker.expr(of, depth));
        // A computation that is too deep for the stack of BPF is refused before it is loaded.
        if input::check(&input, &target).is_ok() {
            inputs.push(input);
        }
    }
    let mut plan = Plan::default();
    plan.images.push(PlannedImage {
        path: program.to_str().expect("UTF-8").to_owned(),
        file: ImageFile::default(),
        module: Arc::from("registers"),
        build_id: None,
        thread_local_size: None,
        platform: Platform::HOST,
    });
    let (name, file, format) = (Arc::from("registers:set"), Arc::from("registers.c"), Arc::from(""));
    plan.markers.push(PlannedMarker { image: 0, name, file, line: 1, format, sites: 1, task_point: None, event: None });
    plan.sites = inputs
        .chunks(MAX_WORDS)
        .map(|inputs| PlannedSite {
            image: 0,
            marker: 0,
            function: None,
            address: Vaddr(probe),
            probe: Vaddr(probe),
            offset: FileOffset(offset),
            switch: None,
            entry_stack_pointer: None,
            task: None,
            frame: None,
            inputs: inputs.to_vec(),
            arguments: Vec::new(),
            members: Vec::new(),
            notes_task: false,
            filter: None,
            aggregate: Aggregate::Hits,
            recorded: None,
            exit: None,
        })
        .collect();
    let mode = Mode::Trace { ring: 1 << 20, stacks: StackSettings::NONE };
    let mut session = Session::start(&plan, &Scope::All, mode, Kernel::new()).expect("every program is loaded");
    assert!(Command::new(&program).status().expect("it runs").success());
    session.detach();

    let machine = Given { registers, memory, start };
    let (mut values, mut unread, mut hits) = (0, HashMap::new(), 0);
    session.read(&plan, true, &mut |hit| {
        hits += 1;
        let layout = Layout::new(hit.site.inputs.iter().map(Input::kind));
        for (index, input) in hit.site.inputs.iter().enumerate() {
            let Input::Number(expr) = input else { unreachable!() };
            match (expr.evaluate(&machine), hit.record().expect("a record").record.field(&layout, index)) {
                (Ok(value), Field::Number(bits)) => {
                    assert_eq!(value.bits, bits, "{expr:?}");
                    values += 1;
                }
                (Err(why), Field::Unread) => *unread.entry(std::mem::discriminant(&why)).or_insert(0) += 1,
                // The kernel reads what is around the memory of the test.
                (Err(Unreadable::Memory { .. }), _) => {}
                (ours, kernel) => panic!("{expr:?}: {ours:?}, the kernel has {kernel:?}"),
            }
        }
    });
    note!("{values} values, not computed by both: {unread:?}");
    assert_eq!((hits, session.lost()), (plan.sites.len(), Ok(0)));
    assert!(values > 5_000, "{values} values");
    assert!(unread.values().sum::<i32>() > 100, "{unread:?}");
}
