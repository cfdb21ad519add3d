//! Memory that is mapped without a file.

use core::ptr::null_mut;

use super::call::{Errno, call, plain};
use crate::arch;

/// No memory.
pub(crate) const NOWHERE: *mut u8 = null_mut();

/// Removes a mapping.
///
/// # Safety
///
/// Nothing uses it.
pub(crate) unsafe fn unmap(at: *mut u8, size: usize) {
    // SAFETY: as the caller says.
    let _ = unsafe { call(libc::SYS_munmap, [at as usize, size, 0, 0, 0, 0]) };
}

/// Memory of zeros.
pub(crate) fn memory(size: usize) -> Result<usize, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: the kernel chooses a free place.
    unsafe { call(libc::SYS_mmap, [0, size, protection, flags, usize::MAX, 0]) }
}

/// Memory of zeros that is zeros again in a child.
pub(crate) fn private_memory(size: usize) -> Result<*mut u8, Errno> {
    let at = memory(size)?;
    match plain(libc::SYS_madvise, [at, size, libc::MADV_WIPEONFORK as usize, 0, 0, 0]) {
        Ok(_) => Ok(at as *mut u8),
        Err(error) => {
            // SAFETY: nobody else knows it.
            unsafe { unmap(at as *mut u8, size) };
            Err(error)
        }
    }
}

/// Calls a function on a stack of its own, since the stack of a signal handler may have no room.
///
/// # Errors
///
/// There is no memory; the function was not called.
///
/// # Safety
///
/// The function may be called with `argument`.
pub(crate) unsafe fn on_own_stack<T>(function: unsafe extern "C" fn(*mut T), argument: *mut T) -> Result<(), Errno> {
    const SIZE: usize = 64 << 10;
    let stack = memory(SIZE)?;
    // SAFETY: as the caller says. The memory is new and ends at the end of a page.
    unsafe {
        arch::call_on_stack(function, argument, stack + SIZE);
        unmap(stack as *mut u8, SIZE);
    }
    Ok(())
}
