//! The yardstick C that every budget is a ratio to: the least that a reader which trusts nothing must do.
//!
//! `yardstick PATH...` maps each segment whole, hops from batch header to batch header and checks every CRC-32C with
//! the `crc32c` crate, on one thread. It must not know anything of grouplog, nor be clever: no prefetch, no advice, no
//! windows. Make it faster and all budgets move.
#![allow(unsafe_code, reason = "mapping is what is measured, and C must share no code with the library's own map")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use memmap2::Mmap;

/// From the base offset to the end of the length field; the length counts what follows.
const PREFIX: usize = 12;
/// Where the magic lies.
const MAGIC: usize = 16;
/// Where the CRC lies; it covers everything behind itself.
const CRC: usize = 17;
const BODY: usize = 21;

#[derive(Default)]
struct Seen {
    segments: u64,
    batches: u64,
    bytes: u64,
}

fn main() -> Result<()> {
    let mut seen = Seen::default();
    for path in std::env::args_os().skip(1) {
        for segment in segments(Path::new(&path))? {
            check(&segment, &mut seen).with_context(|| segment.display().to_string())?;
        }
    }
    println!("{} segments, {} batches, {} bytes, every CRC right", seen.segments, seen.batches, seen.bytes);
    Ok(())
}

/// The segments of a partition folder in offset order, or the one file that was named.
fn segments(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
    let mut found = entries.map(|e| Ok(e?.path())).collect::<Result<Vec<_>>>()?;
    found.retain(|p| p.extension().is_some_and(|e| e == "log"));
    found.sort();
    if found.is_empty() {
        bail!("{}: no .log file", path.display());
    }
    Ok(found)
}

fn check(segment: &Path, seen: &mut Seen) -> Result<()> {
    let file = File::open(segment)?;
    // SAFETY: nobody writes to a benchmark's log while it is measured.
    let map = unsafe { Mmap::map(&file)? };
    let mut rest = &map[..];
    while !rest.is_empty() {
        let at = map.len() - rest.len();
        let length = usize::try_from(int(rest, PREFIX - 4).context("cut off")?)?;
        let batch = rest.get(..PREFIX + length).with_context(|| format!("cut off at {at}"))?;
        if batch.get(MAGIC) != Some(&2) {
            bail!("no batch of magic 2 at {at}");
        }
        let stored = int(batch, CRC).with_context(|| format!("short batch at {at}"))?;
        let body = batch.get(BODY..).with_context(|| format!("short batch at {at}"))?;
        if crc32c::crc32c(body) != stored {
            bail!("wrong CRC at {at}");
        }
        seen.batches += 1;
        rest = rest.get(PREFIX + length..).unwrap_or_default();
    }
    seen.segments += 1;
    seen.bytes += map.len() as u64;
    Ok(())
}

/// The big-endian 32 bits at `at`.
fn int(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}
