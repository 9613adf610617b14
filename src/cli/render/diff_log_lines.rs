//! What `diff` has to say about two logs, beside what they mean.
//!
//! Must not know: groups, and in which format the lines are shown.

use super::diff_lines::{Line, letter, severity};
use crate::model::compare_logs::{BatchSite, Divergence, LogComparison, LogSum};
use crate::model::side::{Pair, Side};
use serde_json::{Value, json};

/// Where the logs differ, and in what that means nothing.
pub(super) fn of_log(log: &LogComparison, watermarks: &Pair<Option<i64>>, lines: &mut Vec<Line>) {
    if let Some(divergence) = &log.divergence {
        lines.push(diverged(log, divergence));
    }
    if let Some(tail) = &log.tail {
        let (short, long) = (letter(tail.lacking), letter(tail.lacking.other()));
        let message = format!(
            "{short} lacks offsets from {} on: {long} has {} more records, up to offset {}",
            tail.from,
            tail.records,
            tail.until - 1
        );
        let line = Line::warning("log-behind", message)
            .fact("side", json!(tail.lacking.name()))
            .fact("firstMissingOffset", json!(tail.from))
            .fact("lastOffset", json!(tail.until - 1))
            .fact("records", json!(tail.records));
        lines.push(Line { ahead: Some(tail.lacking.other()), ..line });
    }
    for side in [Side::A, Side::B] {
        one_sided(log, side, lines);
        if let Some(watermark) = watermarks.of(side).filter(|watermark| *watermark < log.sums.of(side).end) {
            let end = log.sums.of(side).end;
            let message = format!(
                "{} holds offsets {watermark} to {} above its high watermark: not known to be committed",
                letter(side),
                end - 1
            );
            let line = Line::info("above-high-watermark", message);
            lines.push(line.fact("side", json!(side.name())).fact("highWatermark", json!(watermark)));
        }
    }
    alike_but(log, lines);
}

fn site_json(site: &BatchSite) -> Value {
    json!({
        "segment": site.segment,
        "position": site.position,
        "baseOffset": site.base_offset,
        "partitionLeaderEpoch": site.leader_epoch,
        "crc": site.crc,
    })
}

fn diverged(log: &LogComparison, divergence: &Divergence) -> Line {
    let site = |site: &BatchSite| {
        let epoch = site.leader_epoch.map_or("none".to_owned(), |epoch| epoch.to_string());
        format!("leader epoch {epoch}, CRC {}, {} at byte {}", site.crc, site.segment, site.position)
    };
    let epochs = log.sums.each_ref().map(|sum| sum.last_epoch);
    let verdict = match log.safer() {
        Some(side) if !epochs.is_alike() => format!(
            "{} is the safer copy by leader epoch: a broker would keep it, and cut {} back to here",
            letter(side),
            letter(side.other())
        ),
        _ => "both end in the same leader epoch, so neither is safer by that".to_owned(),
    };
    let parts: Vec<_> = divergence.parts.iter().map(|part| part.name()).collect();
    let message = format!(
        "the logs diverge at offset {} ({} differ; {} offsets that both have differ). A: {}. B: {}. {verdict}",
        divergence.offset,
        parts.join(", "),
        divergence.count,
        site(&divergence.at.a),
        site(&divergence.at.b)
    );
    Line::warning("log-diverged", message)
        .fact("offset", json!(divergence.offset))
        .fact("parts", json!(parts))
        .fact("differing", json!(divergence.count))
        .fact("safer", json!(log.safer().filter(|_| !epochs.is_alike()).map(Side::name)))
        .values(divergence.at.each_ref().map(site_json))
}

fn one_sided(log: &LogComparison, side: Side, lines: &mut Vec<Line>) {
    let (here, there) = (letter(side), letter(side.other()));
    let only_in = log.only_in.of(side);
    let mut push = |kind, matters, count: u64, message: String| {
        if count > 0 {
            let line = Line::new(kind, severity(matters), message);
            lines.push(line.fact("side", json!(side.other().name())).fact("records", json!(count)));
        }
    };
    let n = only_in.compacted;
    push("compacted", false, n, format!("{there} lacks {n} records of {here} that compaction takes away"));
    let (n, start) = (only_in.before_start, log.sums.of(side.other()).start);
    push("log-start", false, n, format!("{there} begins at offset {start}: {n} records of {here} lie before it"));
    let n = only_in.unreadable;
    push("record-unreadable", true, n, format!("{n} records of {here} stand where {there} cannot be read"));
    if only_in.missing > 0 {
        let offsets: Vec<_> = only_in.missing_offsets.iter().map(i64::to_string).collect();
        let more = if only_in.missing > offsets.len() as u64 { ", ..." } else { "" };
        let message = format!(
            "{there} lacks {} records of {here} that compaction does not explain (or the later record of their key is \
             cleaned away too), at offsets {}{more}",
            only_in.missing,
            offsets.join(", ")
        );
        let line = Line::warning("record-missing", message)
            .fact("side", json!(side.other().name()))
            .fact("records", json!(only_in.missing))
            .fact("offsets", json!(only_in.missing_offsets));
        lines.push(line);
    }
}

/// What differs in how the logs are written, and means nothing.
fn alike_but(log: &LogComparison, lines: &mut Vec<Line>) {
    let framing = log.sums.each_ref().map(framing);
    let only = |side: Side| {
        let only_in = log.only_in.of(side);
        only_in.compacted + only_in.before_start + only_in.unreadable + only_in.missing
    };
    let whole = only(Side::A) + only(Side::B) == 0 && log.tail.is_none();
    if whole && framing.a != framing.b {
        let message = format!("the same records in other batches: A {}; B {}", framing.a, framing.b);
        lines.push(Line::info("framing", message).values(log.sums.each_ref().map(|sum| json!(self::framing(sum)))));
    }
    if log.other_times > 0 {
        let message = format!("{} records differ in their time, which means nothing to a group", log.other_times);
        lines.push(Line::info("record-times", message).fact("records", json!(log.other_times)));
    }
    let repeated = log.sums.each_ref().map(|sum| sum.repeated);
    if repeated.a + repeated.b > 0 {
        let message = format!(
            "offsets stand twice or out of order, and were passed over here: {} records in A, {} in B",
            repeated.a, repeated.b
        );
        let line = Line::new("repeated-offsets", severity(!repeated.is_alike()), message);
        lines.push(line.values(repeated.map(|n| json!(n))));
    }
}

/// `12 batches of magic 2 zstd`.
fn framing(sum: &LogSum) -> String {
    let kinds: Vec<_> =
        sum.framing.iter().map(|((magic, codec), n)| format!("{n} batches of magic {magic}, codec {codec}")).collect();
    kinds.join(" and ")
}
