//! Keys of the log that a copy which gave it later records no longer has: what removed them may have been cleaned away
//! there, so that they are alive again in the new log.
//!
//! Must not know: what is done about it.

use super::plan::{Piece, Role};
use super::union::Log;
use super::union::ranges::{Range, has};
use super::walk::{ByKey, MOST_KEYS, Walk, forget_superseded};
use std::io;

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
pub(super) fn revived(log: &Log, copy: &Log, role: Role, walk: &mut Walk<'_>) -> io::Result<Vec<Revived>> {
    let is_of = |piece: &Piece, walk: &Walk<'_>| walk.sources.get(piece.source).is_some_and(|it| it.role == role);
    let given = log.parts.iter().rfind(|part| is_of(&part.piece, walk)).map(|part| part.piece.last);
    let compacted = log.incidents.iter().filter_map(|it| it.compacted.last()).map(|(_, last)| *last);
    let Some(given) = given.into_iter().chain(compacted).max() else { return Ok(Vec::new()) };
    // Of what is damaged or missing there the copy says nothing.
    let told: Vec<Range> = copy.told(given);
    // The offset of the last record of a key; its bytes, if that is a value that may be alive again.
    let mut last: ByKey<(i64, Option<Vec<u8>>)> = ByKey::default();
    for piece in log.pieces() {
        let is_theirs = is_of(piece, walk);
        walk.records([piece], |met| {
            let offset = met.record.offset;
            let is_value = met.record.value.is_some() && !met.batch.transactional;
            let key = (!is_theirs && is_value && has(&told, offset)).then(|| met.key.to_vec());
            let is_full = last.len() >= MOST_KEYS;
            match last.get_mut(met.identity) {
                Some(seen) => *seen = (offset, key),
                None if is_full => {}
                None => drop(last.insert(met.identity.into(), (offset, key))),
            }
        })?;
    }
    last.retain(|_, (_, key)| key.is_some());
    // Also what has the very record is not without the key.
    forget_superseded(&mut last, walk, copy, |(offset, _)| offset.saturating_sub(1))?;
    let keys = last.into_values().filter_map(|(offset, key)| Some(Revived { key: key?, offset }));
    let mut all: Vec<Revived> = keys.collect();
    all.sort_by_key(|it| it.offset);
    Ok(all)
}
