//! Keys of the log that a copy which gave it later records no longer has: what removed them may have been cleaned away
//! there, so that they are alive again in the new log.
//!
//! Must not know: what is done about it.

use super::interrupt::Interrupt;
use super::plan::{Reader, Role, Sources};
use super::survey::Part;
use super::union::Log;
use super::union::ranges::{Range, has};
use crate::log::Inflater;
use crate::model::losses::identity;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::io;

/// Of more keys than these, the rest are not looked at.
const MOST_KEYS: usize = 2_000_000;

/// By identity, the offset of the last record of a key; its bytes, if that is a value that may be alive again.
type Lasts = HashMap<Box<[u8]>, (i64, Option<Vec<u8>>), FixedState>;

/// A key that may be alive again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revived {
    /// Its bytes.
    pub key: Vec<u8>,
    /// The log offset of its last record.
    pub offset: i64,
}

/// Keys of a log whose last record lies before something that the copy gave, or compaction took there, and that the copy
/// has neither there nor later.
///
/// # Errors
/// If a file cannot be read again, or the work is interrupted.
pub(super) fn revived(
    log: &Log,
    copy: &Log,
    role: Role,
    sources: &mut Sources,
    max_inflated: usize,
    interrupt: &Interrupt,
) -> io::Result<Vec<Revived>> {
    let is_of = |part: &&Part, sources: &Sources| sources.get(part.piece.source).is_some_and(|it| it.role == role);
    let given = log.parts.iter().rfind(|part| is_of(part, sources)).map(|part| part.piece.last);
    let compacted = log.incidents.iter().filter_map(|it| it.compacted.last()).map(|(_, last)| *last);
    let Some(given) = given.into_iter().chain(compacted).max() else { return Ok(Vec::new()) };
    // Of what is damaged or missing there the copy says nothing.
    let told: Vec<Range> = copy.told(given);
    let mut last: Lasts = HashMap::default();
    let mut scratch = Vec::new();
    let mut inflater = Inflater::with_limit(max_inflated);
    let mut reader = Reader::new(max_inflated);
    for part in &log.parts {
        let is_theirs = is_of(&part, sources);
        reader.piece(sources, &part.piece, |batch| {
            interrupt.check()?;
            let skip = batch.header().control;
            for record in batch.records(&mut inflater).by_ref().flatten().filter(|_| !skip) {
                let Some(key) = record.key else { continue };
                identity(key, &mut scratch);
                let is_told = has(&told, record.offset);
                let counts = !is_theirs && is_told && record.value.is_some() && !batch.header().transactional;
                let key = counts.then(|| key.to_vec());
                let is_full = last.len() >= MOST_KEYS;
                match last.get_mut(scratch.as_slice()) {
                    Some(seen) => *seen = (record.offset, key),
                    None if is_full => {}
                    None => drop(last.insert(scratch.as_slice().into(), (record.offset, key))),
                }
            }
            Ok(())
        })?;
    }
    last.retain(|_, (_, key)| key.is_some());
    for part in &copy.parts {
        reader.piece(sources, &part.piece, |batch| {
            interrupt.check()?;
            for record in batch.records(&mut inflater).by_ref().flatten() {
                identity(record.key.unwrap_or_default(), &mut scratch);
                if last.get(scratch.as_slice()).is_some_and(|(offset, _)| *offset <= record.offset) {
                    last.remove(scratch.as_slice());
                }
            }
            Ok(())
        })?;
    }
    let mut all: Vec<Revived> =
        last.into_values().filter_map(|(offset, key)| Some(Revived { key: key?, offset })).collect();
    all.sort_by_key(|it| it.offset);
    Ok(all)
}
