//! The algorithms.

use simple_markers::simple_probe;

/// How an array is sorted.
#[derive(Clone, Copy)]
pub(crate) enum Algorithm {
    Insertion,
    Heap,
    Quick,
}

/// What the algorithms did.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) comparisons: u64,
    pub(crate) swaps: u64,
}

impl Work {
    #[inline]
    fn less(&mut self, array: &[u32], left: usize, right: usize) -> bool {
        simple_probe!(sort:compare, "%zu %u, %zu %u", left, array[left], right, array[right]);
        self.comparisons += 1;
        array[left] < array[right]
    }

    #[inline]
    fn swap(&mut self, array: &mut [u32], left: usize, right: usize) {
        simple_probe!(sort:swap, "%zu and %zu", left, right);
        self.swaps += 1;
        array.swap(left, right);
    }
}

impl Algorithm {
    pub(crate) const ALL: [Self; 3] = [Self::Insertion, Self::Heap, Self::Quick];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insertion => "insertion",
            Self::Heap => "heap",
            Self::Quick => "quick",
        }
    }

    pub(crate) fn sort(self, array: &mut [u32], work: &mut Work) {
        match self {
            Self::Insertion => insertion(array, work),
            Self::Heap => heap(array, work),
            Self::Quick => quick(array, work, 0),
        }
    }
}

fn insertion(array: &mut [u32], work: &mut Work) {
    for end in 1..array.len() {
        let mut at = end;
        while at > 0 && work.less(array, at, at - 1) {
            work.swap(array, at, at - 1);
            at -= 1;
        }
    }
}

fn heap(array: &mut [u32], work: &mut Work) {
    for root in (0..array.len() / 2).rev() {
        sift(array, work, root, array.len());
    }
    for end in (1..array.len()).rev() {
        work.swap(array, 0, end);
        sift(array, work, 0, end);
    }
}

/// Moves the value at `root` down until no child is greater.
fn sift(array: &mut [u32], work: &mut Work, mut root: usize, end: usize) {
    loop {
        let mut child = 2 * root + 1;
        if child >= end {
            return;
        }
        if child + 1 < end && work.less(array, child, child + 1) {
            child += 1;
        }
        if !work.less(array, root, child) {
            return;
        }
        work.swap(array, root, child);
        root = child;
    }
}

fn quick(array: &mut [u32], work: &mut Work, depth: u32) {
    if array.len() < 2 {
        return;
    }
    let last = array.len() - 1;
    work.swap(array, last / 2, last);
    let mut middle = 0;
    for at in 0..last {
        if work.less(array, at, last) {
            work.swap(array, at, middle);
            middle += 1;
        }
    }
    work.swap(array, middle, last);
    simple_probe!(sort:split, "%zu below, %zu above, depth %u", middle, last - middle, depth);
    let (below, above) = array.split_at_mut(middle);
    quick(below, work, depth + 1);
    quick(&mut above[1..], work, depth + 1);
}
