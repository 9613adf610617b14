//! stdout: data only, in large pieces; a pipe that was closed early ends the program quietly.
//!
//! Must not know: what is written.

use crate::json::Json;
use std::io::{self, IsTerminal, StdoutLock, Write};

/// Pieces of this many bytes go to stdout.
const PIECE: usize = 64 << 10;

/// stdout, locked for the run.
pub struct Out {
    to: StdoutLock<'static>,
}

impl Out {
    /// Takes stdout. A pipe is made a megabyte wide where the system allows it, which halves the switching to and fro.
    pub fn stdout() -> Self {
        let to = io::stdout().lock();
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&to, 1 << 20);
        Out { to }
    }

    /// Whether a person is looking.
    pub fn is_terminal(&self) -> bool {
        self.to.is_terminal()
    }

    /// Hands over what `json` holds once it is a piece. The last bytes stay: what parts one object from the next is taken
    /// back at the end, where no next one comes.
    #[inline]
    pub fn piece(&mut self, json: &mut Json) -> io::Result<()> {
        if json.bytes().len() < PIECE { Ok(()) } else { self.all_but_last(json) }
    }

    #[inline(never)]
    fn all_but_last(&mut self, json: &mut Json) -> io::Result<()> {
        let bytes = json.bytes();
        let Some((piece, last)) = bytes.split_last_chunk::<2>() else { return Ok(()) };
        let last = *last;
        let written = self.all(piece);
        json.clear();
        json.fixed(&last);
        written
    }

    /// Hands over what `json` holds, and empties it.
    pub fn rest(&mut self, json: &mut Json) -> io::Result<()> {
        let written = self.all(json.bytes());
        json.clear();
        written
    }

    /// Writes all of it.
    pub fn all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("standard output: {error}"));
        self.to.write_all(bytes).and_then(|()| self.to.flush()).map_err(named)
    }
}

/// Whether an error means that nobody reads our output any more.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
