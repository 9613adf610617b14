//! Whether the user wants the work to end, asked between batches.
//!
//! Must not know: where signals come from; whoever makes one sets the flag.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that somebody may set to end the work.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Ends the work once the flag is set.
    pub fn new(flag: Arc<AtomicBool>) -> Self {
        Interrupt(flag)
    }

    /// Goes on unless the flag is set.
    ///
    /// # Errors
    /// If it is.
    #[inline]
    pub fn check(&self) -> io::Result<()> {
        // Not ErrorKind::Interrupted, upon which much of std tries again.
        if self.0.load(Ordering::Relaxed) { Err(io::Error::other("interrupted; nothing was written")) } else { Ok(()) }
    }
}
