//! Transactions that have not ended, and what they hold up. Each is one finding, the gravest that fits it.
//!
//! Must not know: how transactions are found.

use super::members::shown;
use super::{Ground, Subject};
use crate::audit::transactions::{age, hangs};
use crate::audit::{Code, Fact, Finding, List};
use crate::model::transactions::{Ending, Transaction, Transactions};
use crate::words::{counted, lasting};
use std::collections::BTreeSet;

/// So many groups are named in a message.
const NAMED: usize = 3;

pub(super) fn judge(subject: &Subject<'_>, ground: &Ground<'_>, list: &mut List) {
    let found = &subject.watch.transactions;
    let mut held_up = closed_behind_first(subject, found);
    for transaction in found.all.iter().filter(|it| it.pins) {
        // The cleaner stops at the first.
        list.push(of_transaction(subject, transaction, held_up.take(), ground));
    }
}

/// Bytes of closed segments behind the beginning of the first open transaction, if it begins in one: that is what it costs
/// that the cleaner stops there.
fn closed_behind_first(subject: &Subject<'_>, found: &Transactions) -> Option<u64> {
    let active = subject.watch.shape.segments.last()?;
    let first = found.all.iter().find(|it| it.pins)?;
    (first.first_offset? < active.base_offset?).then(|| found.pinned_by(first).saturating_sub(active.len))
}

fn of_transaction(subject: &Subject<'_>, it: &Transaction, held_up: Option<u64>, ground: &Ground<'_>) -> Finding {
    let settings = ground.settings;
    let found = &subject.watch.transactions;
    let code = match held_up {
        _ if hangs(it, settings.now, settings.max_transaction_timeout) => Code::Hanging,
        Some(_) => Code::Pinned,
        None => Code::OpenTransaction,
    };
    let groups: BTreeSet<&[u8]> = found.groups_of(it).collect();
    let pinned = found.pinned_by(it);
    let age = age(it, settings.now);
    let finding = Finding::new(code, message(it, age, &groups, pinned, held_up));
    let finding = match groups.first() {
        Some(group) if groups.len() == 1 => finding.group(group),
        _ => finding,
    };
    let first = it.first_offset.unwrap_or(-1);
    let finding = finding
        .offset(first)
        .fact("producerId", it.producer_id)
        .fact("producerEpoch", i32::from(it.producer_epoch))
        .fact("coordinatorEpoch", it.coordinator_epoch)
        .fact("firstOffset", first)
        .fact("lastOffset", it.last_offset)
        .fact("since", it.first_timestamp)
        .fact("lastWrite", it.last_timestamp)
        .age(age)
        .fact("keys", it.keys)
        .fact("groups", Fact::List(groups.iter().take(100).map(|name| Fact::Name(name.to_vec())).collect()))
        .fact("pinnedBytes", pinned)
        .fact("pinnedClosedBytes", held_up.unwrap_or(0))
        .fact("lastStableOffset", found.last_stable_offset)
        .fact("doubt", it.doubt.map(|doubt| doubt.code()));
    // One that its producer may still end is not to be aborted.
    let command = subject.partition.filter(|_| code == Code::Hanging);
    finding.command(command.map(|partition| settings.commands.abort(partition, first)))
}

fn message(it: &Transaction, age: Option<i64>, groups: &BTreeSet<&[u8]>, pinned: u64, held_up: Option<u64>) -> String {
    let of_groups = match groups.len() {
        0 => String::new(),
        n => {
            let named: Vec<_> = groups.iter().take(NAMED).map(|name| shown(name)).collect();
            format!(" of {}{}", named.join(", "), if n > NAMED { ", …" } else { "" })
        }
    };
    let mut message = format!(
        "producer {} epoch {} has a transaction open {}, with {}{of_groups}; {pinned} bytes lie behind its start",
        it.producer_id,
        it.producer_epoch,
        age.map_or("for an unknown time".to_owned(), lasting),
        counted(it.keys, "key"),
    );
    if let Some(bytes) = held_up {
        message.push_str(&format!(", {bytes} of them in closed segments, which the cleaner cannot take meanwhile"));
    }
    if let Some(doubt) = it.doubt.filter(|_| it.ending == Ending::Unknown) {
        message.push_str(&format!("; it may have ended: {}", doubt.words()));
    }
    message
}
