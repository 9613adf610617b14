//! `info` as JSON: one object a partition.
//!
//! Must not know: how it was found.

use super::info::{Found, all_holes, kind_name};
use super::name::lossless_path;
use crate::cli::input::left_out_reason;
use crate::json::Json;
use crate::log::Inventory;
use crate::log::codec::Codec;
use crate::log::inventory::{Count, PlacedHole, SegmentSum};
use crate::log::log_dir::{CheckpointKind, Lock, LogDirFiles};
use serde_json::{Value, json};

/// One array of partitions.
pub fn json(found: &[Found], out: &mut Json) {
    let all: Vec<_> = found.iter().map(partition_json).collect();
    out.raw(&format!("{:#}\n", Value::from(all)));
}

/// One partition a line.
pub fn jsonl(found: &[Found], out: &mut Json) {
    found.iter().for_each(|each| out.raw(&format!("{}\n", partition_json(each))));
}

fn partition_json(found: &Found) -> Value {
    let inventory = &found.inventory;
    let (top, producers) = found.producers();
    let dir = found.partition.dir.as_ref();
    json!({
        "partition": found.partition.number,
        "path": lossless_path(found.partition.path()),
        "topicId": found.topic_id(),
        "bytes": inventory.bytes(),
        "firstOffset": inventory.first_offset(),
        "endOffset": inventory.end_offset(),
        "firstTimestamp": inventory.times().first(),
        "lastTimestamp": inventory.times().last(),
        "batches": {
            "total": inventory.batches().number,
            "data": inventory.data(),
            "control": inventory.control().number,
            "empty": inventory.empty(),
            "transactional": inventory.transactional().number,
            "withDeleteHorizon": inventory.with_horizon().number,
            "ofUnknownCount": inventory.uncounted(),
        },
        "records": inventory.records(),
        "codecs": counts_json("codec", inventory.codecs().iter().map(|(codec, count)| (codec_json(*codec), count))),
        "magics": counts_json("magic", inventory.magics().iter().map(|(magic, count)| (json!(magic), count))),
        "timestampTypes": counts_json(
            "timestampType",
            inventory.timestamp_types().iter().map(|(kind, count)| (json!(kind.name()), count)),
        ),
        "producers": {
            "count": producers,
            "isExact": inventory.more_producers().number == 0,
            "top": counts_json("producerId", top.iter().map(|one| (json!(one.id), &one.count))),
        },
        "leaderEpochs": inventory.leader_epochs().iter()
            .map(|epoch| json!({"epoch": epoch.epoch, "startOffset": epoch.start_offset})).collect::<Vec<_>>(),
        "holes": holes_json(inventory),
        "segments": inventory.segments().iter().map(segment_json).collect::<Vec<_>>(),
        "leftOut": dir.iter().flat_map(|dir| &dir.left_out)
            .map(|out| json!({"name": out.file.name, "bytes": out.file.len, "reason": left_out_reason(out)}))
            .collect::<Vec<_>>(),
        "files": dir.iter().flat_map(|dir| &dir.others)
            .map(|file| json!({"name": file.name, "kind": kind_name(file.kind), "bytes": file.len}))
            .collect::<Vec<_>>(),
        "checkpoints": found.log_dir.as_ref().map(|_| json!({
            "highWatermark": found.checkpoint(CheckpointKind::HighWatermark),
            "recoveryPoint": found.checkpoint(CheckpointKind::RecoveryPoint),
            "logStartOffset": found.checkpoint(CheckpointKind::LogStart),
            "cleanerOffset": found.checkpoint(CheckpointKind::Cleaner),
        })),
        "logDir": found.log_dir.as_ref().map(|log_dir| log_dir_json(log_dir)),
    })
}

fn codec_json(codec: Codec) -> Value {
    match codec {
        Codec::Unknown(number) => json!(number),
        codec => json!(codec.name()),
    }
}

fn counts_json<'c>(name: &str, counts: impl Iterator<Item = (Value, &'c Count)>) -> Value {
    counts.map(|(what, count)| json!({name: what, "batches": count.number, "bytes": count.bytes})).collect()
}

fn holes_json(inventory: &Inventory) -> Value {
    let all = all_holes(inventory);
    let by_code = inventory.holes().iter();
    json!({
        "count": all.number,
        "bytes": all.bytes,
        "byCode": by_code.map(|(code, count)| json!({"code": code, "count": count.number, "bytes": count.bytes}))
            .collect::<Vec<_>>(),
        "first": inventory.hole_places().iter().map(hole_json).collect::<Vec<_>>(),
    })
}

fn hole_json(place: &PlacedHole) -> Value {
    let hole = &place.hole;
    json!({
        "segment": place.segment,
        "position": hole.position,
        "length": hole.length,
        "code": hole.fault.code(),
        "message": hole.fault.to_string(),
    })
}

fn segment_json(segment: &SegmentSum) -> Value {
    json!({
        "name": segment.name,
        "baseOffset": segment.base_offset,
        "bytes": segment.bytes,
        "batches": segment.batches.number,
        "firstOffset": segment.first_offset,
        "lastOffset": segment.last_offset,
        "firstTimestamp": segment.times.first(),
        "lastTimestamp": segment.times.last(),
        "holes": segment.holes.number,
        "holeBytes": segment.holes.bytes,
    })
}

fn log_dir_json(log_dir: &LogDirFiles) -> Value {
    let meta = log_dir.meta.as_ref();
    let (in_use, pid) = match log_dir.lock {
        Lock::Held { pid } => (Some(true), pid),
        Lock::Free | Lock::NoFile => (Some(false), None),
        Lock::Unknown => (None, None),
    };
    json!({
        "path": lossless_path(&log_dir.path),
        "clusterId": meta.and_then(|meta| meta.cluster_id.clone()),
        "nodeId": meta.and_then(|meta| meta.node_id),
        "directoryId": meta.and_then(|meta| meta.directory_id.clone()),
        "inUse": in_use,
        "inUseBy": pid,
        "stoppedCleanly": log_dir.stopped_cleanly,
        "otherTopics": log_dir.other_topics,
        "otherPartitions": log_dir.other_partitions,
    })
}
