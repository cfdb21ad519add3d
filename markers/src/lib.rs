//! Simple markers.
#![no_std]
