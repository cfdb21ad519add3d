//! Methods of traits, called directly and through `dyn`, and implicit calls: `Drop`, `Deref`,
//! operators.

use std::hint::black_box;
use std::ops::{Add, Deref, Index};

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    let device = Disk { sectors: black_box(8) };
    device.start();
    device.stop();
    Null.start();
    Null.stop();
    let devices: [Box<dyn Device>; 2] = [Box::new(device), Box::new(Null)];
    for device in black_box(&devices) {
        device.submit(black_box(3));
    }
    drop(black_box(devices));
    assert_eq!((black_box(Disk { sectors: 1 }) + 2).sectors, 3);
    assert_eq!(*black_box(Disk { sectors: 1 }), 1);
    assert_eq!(Disk { sectors: black_box(1) }[2], 1);
    Disk::associated(black_box(5));
    supertrait(black_box(&Null));
}

trait Device {
    fn start(&self);

    // One site for each implementation that does not override it.
    fn stop(&self) {
        simple_mark!(construct:trait:default_method, "stopped"); //~ live at least 1 time
        witness(7400);
    }

    fn submit(&self, tag: u32);
}

struct Disk {
    sectors: u32,
}

struct Null;

impl Device for Disk {
    #[inline(never)]
    fn start(&self) {
        simple_mark!(construct:trait:implementation, "started with %u", self.sectors); //~ live 1 time
        witness(7401);
    }

    fn submit(&self, tag: u32) {
        simple_mark!(construct:trait:dynamic, "tag %u of %u", tag, self.sectors); //~ live 1 time
        witness(7402);
    }
}

impl Device for Null {
    #[inline(never)]
    fn start(&self) {
        simple_mark!(construct:trait:other_implementation, "started %p", self); //~ live 1 time
        witness(7403);
    }

    fn submit(&self, tag: u32) {
        simple_mark!(construct:trait:other_dynamic, "tag %u", tag); //~ live 1 time
        witness(7404);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        simple_mark!(construct:drop, "dropped with %u", self.sectors); //~ live
        witness(7405);
    }
}

impl Add<u32> for Disk {
    type Output = Self;

    fn add(self, sectors: u32) -> Self {
        simple_mark!(construct:operator, "%u more than %u", sectors, self.sectors); //~ live
        witness(7406);
        Self { sectors: self.sectors + sectors }
    }
}

impl Deref for Disk {
    type Target = u32;

    fn deref(&self) -> &u32 {
        simple_mark!(construct:deref, "sectors %u", self.sectors); //~ live
        witness(7407);
        &self.sectors
    }
}

impl Index<usize> for Disk {
    type Output = u32;

    fn index(&self, index: usize) -> &u32 {
        simple_mark!(construct:index, "[%zu]", index); //~ live
        witness(7408);
        &self.sectors
    }
}

impl Disk {
    #[inline(never)]
    fn associated(value: i32) {
        simple_mark!(construct:associated_function, "value %d", value); //~ live 1 time
        witness(7409);
    }
}

trait Named: Device {
    fn name(&self);
}

impl<T: Device> Named for T {
    fn name(&self) {
        simple_mark!(construct:trait:blanket, "named at %p", self); //~ live 1 time
        witness(7410);
    }
}

fn supertrait(device: &dyn Named) {
    device.name();
}
