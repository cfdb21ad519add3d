//! What differs between processors, but for the assembly of a hit (`entry/`, `saved/`).

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{
    RSEQ_SIGNATURE, call_on_stack, counter, counter_is_invariant, counter_rate, system_call, thread_pointer,
};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{
    RSEQ_SIGNATURE, call_on_stack, counter, counter_is_invariant, counter_rate, system_call, thread_pointer,
};
