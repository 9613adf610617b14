//! What the machine offers that has no safe form: files mapped into memory, and single instructions of the processor.
//! The only unsafe code of the crate; each block says why it is sound.
//!
//! Must not know: what the bytes are.

#![allow(unsafe_code, reason = "mapping a file, handling a signal and naming an instruction have no safe form")]

pub mod cpu;
pub mod crc;
pub mod map;
