//! Transactions that have not ended, and what they hold up.
//!
//! Must not know: how transactions are found.

use super::members::shown;
use super::{Ground, Subject};
use crate::audit::watch::open::Transaction;
use crate::audit::{Code, Fact, Finding, List};
use crate::words::{counted, lasting};
use std::collections::BTreeSet;

/// So many groups are named in a message.
const NAMED: usize = 3;

pub(super) fn judge(subject: &Subject<'_>, ground: &Ground<'_>, list: &mut List) {
    let open = subject.watch.open.all();
    for transaction in &open {
        list.push(of_transaction(subject, transaction, ground));
    }
    if let Some(first) = open.first() {
        list.extend(pinned(subject, first, ground));
    }
}

/// A transaction that has ended where its marker is damaged is doubted by the replay, and told of here all the same: a
/// broker sees it open.
fn of_transaction(subject: &Subject<'_>, it: &Transaction, ground: &Ground<'_>) -> Finding {
    let settings = ground.settings;
    let age = settings.age(it.first_time);
    let hangs = age.is_some_and(|age| age > settings.max_transaction_timeout);
    let pinned = subject.watch.shape.bytes.saturating_sub(it.bytes_before);
    let commits = subject.state.open.get(&it.producer_id).map(|open| &open.commits);
    let keys = commits.map_or(0, |commits| commits.len()) as u64;
    let names = commits.into_iter().flat_map(|commits| commits.keys());
    let groups: BTreeSet<&[u8]> = names.filter_map(|key| Some(subject.state.offsets.names(key.prefix)?.0)).collect();
    let of_groups = match groups.len() {
        0 => String::new(),
        n => {
            let named: Vec<_> = groups.iter().take(NAMED).map(|name| shown(name)).collect();
            format!(" of {}{}", named.join(", "), if n > NAMED { ", …" } else { "" })
        }
    };
    let since = age.map_or("for an unknown time".to_owned(), lasting);
    let message = format!(
        "producer {} epoch {} has a transaction open {since}, with {}{of_groups}; {pinned} bytes lie behind its start",
        it.producer_id,
        it.producer_epoch,
        counted(keys, "key"),
    );
    let finding = Finding::new(if hangs { Code::Hanging } else { Code::OpenTransaction }, message);
    let finding = match groups.first() {
        Some(group) if groups.len() == 1 => finding.group(group),
        _ => finding,
    };
    let finding = finding
        .offset(it.first_offset)
        .fact("producerId", it.producer_id)
        .fact("producerEpoch", i32::from(it.producer_epoch))
        .fact("coordinatorEpoch", it.coordinator_epoch)
        .fact("firstOffset", it.first_offset)
        .fact("lastOffset", it.last_offset)
        .fact("since", it.first_time)
        .fact("lastWrite", it.last_time)
        .fact("ageMs", age)
        .fact("keys", keys)
        .fact("groups", Fact::List(groups.iter().take(100).map(|name| Fact::Name(name.to_vec())).collect()))
        .fact("pinnedBytes", pinned);
    match subject.partition.filter(|_| hangs) {
        Some(partition) => finding.fact("command", settings.commands.abort(partition, it.first_offset)),
        None => finding,
    }
}

/// The cleaner stops at the first open transaction. That costs something once it begins in a closed segment.
fn pinned(subject: &Subject<'_>, first: &Transaction, ground: &Ground<'_>) -> Option<Finding> {
    let segments = &subject.watch.shape.segments;
    let active = segments.last()?;
    if first.first_offset >= active.base_offset? {
        return None;
    }
    let behind = |base: Option<i64>| base.is_some_and(|base| base > first.first_offset);
    let closed = segments.iter().rev().skip(1).filter(|segment| behind(segment.base_offset)).count() as u64;
    let bytes = subject.watch.shape.bytes.saturating_sub(first.bytes_before).saturating_sub(active.len);
    let message = format!(
        "the last stable offset is {}: {bytes} bytes in closed segments cannot be cleaned, {} whole",
        first.first_offset,
        counted(closed, "segment")
    );
    let finding = Finding::new(Code::Pinned, message)
        .offset(first.first_offset)
        .fact("lastStableOffset", first.first_offset)
        .fact("producerId", first.producer_id)
        .fact("pinnedBytes", bytes)
        .fact("segments", closed);
    Some(match subject.partition {
        Some(partition) => finding.fact("command", ground.settings.commands.abort(partition, first.first_offset)),
        None => finding,
    })
}
