//! Transactions as JSON; the contract is in README.md.
//!
//! Must not know: how they were found.

use super::findings::finding_json;
use super::group_json::text;
use super::name::lossless_path;
use super::txns::Told;
use crate::audit::transactions::Agreement;
use crate::model::transactions::{ProducerNow, Transaction};
use serde_json::{Value, json};

/// So many keys of an open transaction are named.
const MOST_KEYS: usize = 1000;

/// One object a transaction, one a line, in log order.
pub fn lines(told: &[Told<'_>]) -> String {
    told.iter().flat_map(|told| told.each().map(move |it| format!("{}\n", transaction(told, it)))).collect()
}

/// One object a producer, one a line.
pub fn producer_lines(told: &[Told<'_>]) -> String {
    let of = |told: &Told<'_>| {
        let all = told.audited.transactions.producers.iter();
        all.map(|it| format!("{}\n", producer(told.partition, it))).collect::<String>()
    };
    told.iter().map(of).collect()
}

/// Totals, and the partitions.
pub fn document(told: &[Told<'_>]) -> String {
    let sum = |of: fn(&Told<'_>) -> u64| told.iter().map(of).sum::<u64>();
    let document = json!({
        "totals": {
            "partitions": told.len(),
            "open": sum(|it| it.audited.transactions.counts.open),
            "hanging": sum(|it| it.hanging()),
            "committed": sum(|it| it.audited.transactions.counts.committed),
            "aborted": sum(|it| it.audited.transactions.counts.aborted),
            "unknown": sum(|it| it.audited.transactions.counts.unknown),
            "bytes": sum(|it| it.audited.transactions.bytes),
            "pinnedBytes": sum(|it| it.audited.transactions.pinned_bytes),
        },
        "partitions": told.iter().map(partition).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn partition(told: &Told<'_>) -> Value {
    let found = &told.audited.transactions;
    let side = told.audited.side;
    json!({
        "partition": told.partition,
        "path": lossless_path(told.path),
        "bytes": found.bytes,
        "firstOffset": found.first_offset,
        "endOffset": found.end_offset,
        "lastStableOffset": found.last_stable_offset,
        "pinnedBytes": found.pinned_bytes,
        "open": found.counts.open,
        "hanging": told.hanging(),
        "committed": found.counts.committed,
        "aborted": found.counts.aborted,
        "unknown": found.counts.unknown,
        "onlyMarker": found.counts.only_marker,
        "damaged": found.damaged,
        "sideFiles": {
            "txnIndexes": side.txn_indexes,
            "txnIndexEntries": side.aborted,
            "snapshots": side.snapshots,
            "agree": !told.audited.disagrees(),
            "findings": told.audited.findings.iter().map(finding_json).collect::<Vec<_>>(),
        },
        "transactions": told.each().map(|it| transaction(told, it)).collect::<Vec<_>>(),
        "producers": found.producers.iter().map(|it| producer(told.partition, it)).collect::<Vec<_>>(),
    })
}

fn transaction(told: &Told<'_>, (it, agreement): (&Transaction, Agreement)) -> Value {
    let found = &told.audited.transactions;
    let mut object = json!({
        "partition": told.partition,
        "producerId": it.producer_id,
        "producerEpoch": it.producer_epoch,
        "coordinatorEpoch": it.coordinator_epoch,
        "state": it.ending.name(),
        "firstOffset": it.first_offset,
        "lastOffset": it.last_offset,
        "markerOffset": it.marker_offset,
        "groups": found.groups_of(it).map(text).collect::<Vec<_>>(),
        "pinnedBytes": found.pinned_by(it),
        "markerEpoch": it.marker_epoch,
        "batches": it.batches,
        "records": it.records,
        "keys": it.keys,
        "firstTimestamp": it.first_timestamp,
        "lastTimestamp": it.last_timestamp,
    });
    let mut put = |name: &str, value: Value| object[name] = value;
    if let Some(known) = agreement.in_txn_index {
        put("inTxnIndex", json!(known));
    }
    if let Some(known) = agreement.in_snapshot {
        put("inSnapshot", json!(known));
    }
    if let Some(doubt) = it.doubt {
        put("doubt", json!({"code": doubt.code(), "message": doubt.words()}));
    }
    if it.pins {
        put("ageMs", json!(told.age(it)));
        if let Some(ahead) = told.ahead(it) {
            put("aheadMs", json!(ahead));
        }
        put("hanging", json!(told.hangs(it)));
        put("touched", it.keys_touched().take(MOST_KEYS).map(|key| touched(&key)).collect());
        put("abortCommand", json!(told.abort_command(it)));
        put("abortCommandBefore30", json!(told.old_abort_command(it)));
    }
    object
}

fn touched(key: &crate::schema::Key<'_>) -> Value {
    match key.topic_partition() {
        Some((topic, partition)) => {
            json!({"group": text(key.group()), "topic": text(topic), "partition": partition})
        }
        None => json!({"group": text(key.group()), "type": key.record_type.number()}),
    }
}

fn producer(partition: Option<i32>, it: &ProducerNow) -> Value {
    json!({
        "partition": partition,
        "producerId": it.producer_id,
        "producerEpoch": it.producer_epoch,
        "latestCoordinatorEpoch": it.coordinator_epoch,
        "lastSequence": it.last_sequence,
        "lastTimestamp": it.last_timestamp,
        "currentTransactionStartOffset": it.open_from,
    })
}
