//! The kinds of damage: what is done to a sample, and what is then expected.
//!
//! Must not know: how expectations are checked.

use crate::build::seal;
use crate::laws::{Cell, Lost, Must, Placed, latest_lost};
use crate::sample::Sample;
use grouplog::log::Codec;
use std::ops::Range;

/// Bytes of a sample replaced by others.
#[derive(Clone)]
pub struct Edit {
    pub range: Range<usize>,
    pub with: Vec<u8>,
}

impl Edit {
    fn fill(range: Range<usize>, byte: u8) -> Edit {
        Edit { with: vec![byte; range.len()], range }
    }
}

/// Takes cells as they are made.
pub type Emit<'e, 's> = &'e mut dyn FnMut(Cell<'s>);

/// The sample after one edit.
fn edited<'s>(sample: &'s Sample, edit: &Edit) -> Cell<'s> {
    let mut bytes = sample.bytes();
    let Edit { range, with } = edit;
    bytes.splice(range.clone(), with.iter().copied());
    let mut placed = Vec::new();
    for part in 0..sample.parts.len() {
        let at = sample.range(part);
        let touched = match range.is_empty() {
            true => at.start < range.start && range.start < at.end,
            false => at.start < range.end && range.start < at.end,
        };
        let behind = at.start >= range.end && !touched;
        // A batch whose head is gone begins nowhere.
        if touched && at.start > range.start && with.len() != range.len() {
            continue;
        }
        let position = if behind { at.start - range.len() + with.len() } else { at.start };
        placed.push(Placed { part, position, untouched: !touched });
    }
    let hurt = range.start..range.start + with.len();
    Cell {
        kind: String::new(),
        sample,
        bytes,
        placed,
        hurt,
        must: Must::Error,
        lost: Lost::at_least(Default::default()),
        is_last: true,
        may_invent: false,
    }
}

/// What offsets must say if one batch has another base offset now: in a sound log they ascend, and lie in the segment.
fn order(sample: &Sample, part: usize, first: i64, last: i64) -> Must {
    let bounds = |i: usize| match i == part {
        true => (first, last),
        false => (sample.parts[i].first, sample.parts[i].header.last_offset),
    };
    let ascends = (1..sample.parts.len()).all(|i| bounds(i - 1).1 < bounds(i).0);
    let base = sample.base();
    match (ascends && first >= base && first <= last, last.wrapping_sub(base)) {
        (false, _) => Must::Error,
        (true, 0..=0x7fff_ffff) => Must::Nothing,
        _ => Must::Warning,
    }
}

/// As [`latest_lost`] of the target, but only if it is no part of a transaction.
fn committed_lost(sample: &Sample) -> std::collections::BTreeSet<Vec<u8>> {
    match sample.target().header.producer_id {
        -1 => latest_lost(sample, &[sample.target]),
        _ => Default::default(),
    }
}

fn be_i64(bytes: &[u8]) -> i64 {
    i64::from_be_bytes(*bytes.first_chunk().unwrap())
}

/// What is expected if a field in the head of the target is damaged.
fn expect_of_field(cell: &mut Cell<'_>, field: &str) {
    let sample = cell.sample;
    let part = sample.target();
    let all = latest_lost(sample, &[sample.target]);
    let start = sample.start(sample.target);
    let now = &cell.bytes[start..start + part.bytes.len()];
    let plain = part.header.magic == 2 || part.header.codec == Codec::None;
    (cell.must, cell.lost) = match field {
        // No CRC covers it.
        "baseOffset" | "offset" => {
            let moved = be_i64(now).wrapping_sub(part.header.base_offset);
            let (first, last) = (part.first.wrapping_add(moved), part.header.last_offset.wrapping_add(moved));
            // Of magic 0 the messages inside a wrapper have offsets of their own.
            let must =
                if plain || part.header.magic == 1 { order(sample, sample.target, first, last) } else { Must::Nothing };
            // Which of two neighbours is wrong their offsets do not say.
            cell.hurt.end = cell.sample.range((sample.target + 1).min(sample.parts.len() - 1)).start + 1;
            (must, Lost::none())
        }
        // Whether its transaction was aborted cannot be told then.
        "producerId" => (Must::Error, Lost::at_least(committed_lost(sample))),
        "partitionLeaderEpoch" => (epoch_order(sample, now), Lost::none()),
        "batchLength" | "size" | "crc" => (Must::Error, Lost::exactly(all)),
        "magic" if part.header.magic == 2 => (Must::Error, Lost::exactly(all)),
        "attributes" if part.header.magic == 2 && (now[22] ^ part.bytes[22]) & 7 == 0 => {
            (Must::Error, Lost::exactly(all))
        }
        // Read with another codec or in another form, they say nothing.
        "attributes" | "magic" => (Must::Error, Lost::at_most(all)),
        "keyLength" | "valueLength" => (Must::Error, Lost::at_least(Default::default())),
        _ => (Must::Error, Lost::exactly(all)),
    };
}

/// The one case in which damage costs batches that it did not touch: a length that reaches to the end of a later batch,
/// byte for byte. A scan that does not pay for every CRC sees a batch that another one follows.
fn swallow(cell: &mut Cell<'_>, field: &str) {
    if !matches!(field, "batchLength" | "size") {
        return;
    }
    let sample = cell.sample;
    let start = sample.start(sample.target);
    let says = i64::from(i32::from_be_bytes(*cell.bytes[start + 8..].first_chunk().unwrap())) + 12;
    let reached =
        (sample.target + 1..sample.parts.len()).find(|part| sample.range(*part).end as i64 == start as i64 + says);
    if let Some(part) = reached {
        cell.kind = format!("bit in {field}, to the end of a later batch");
        cell.placed.retain(|it| it.part <= sample.target || it.part > part);
        cell.lost = Lost::at_least(Default::default());
    }
}

fn epoch_order(sample: &Sample, now: &[u8]) -> Must {
    let epoch_of = |bytes: &[u8]| i32::from_be_bytes(*bytes[12..].first_chunk().unwrap());
    let mut epochs: Vec<_> =
        sample.parts.iter().map(|part| if part.header.magic < 2 { -1 } else { epoch_of(&part.bytes) }).collect();
    epochs[sample.target] = epoch_of(now);
    if epochs.windows(2).all(|pair| pair[0] <= pair[1]) { Must::Nothing } else { Must::Warning }
}

/// Every bit of the head, and each field filled with extremes.
pub fn heads<'s>(sample: &'s Sample, emit: Emit<'_, 's>) {
    let start = sample.start(sample.target);
    for (field, range) in sample.target().fields() {
        let at = start + range.start..start + range.end;
        let old = &sample.target().bytes[range.clone()];
        let mut damages: Vec<(&str, Vec<u8>)> = Vec::new();
        for bit in 0..range.len() * 8 {
            let mut new = old.to_vec();
            new[bit / 8] ^= 1 << (bit % 8);
            damages.push(("bit", new));
        }
        for (first, rest) in [(0, 0), (0xff, 0xff), (0x7f, 0xff), (0x80, 0), (0x55, 0xaa)] {
            let mut new = vec![rest; range.len()];
            new[0] = first;
            damages.push(("extreme", new));
        }
        for (how, with) in damages {
            if with == old {
                continue;
            }
            let mut cell = edited(sample, &Edit { range: at.clone(), with });
            cell.kind = format!("{how} in {field}");
            expect_of_field(&mut cell, field);
            swallow(&mut cell, field);
            emit(cell);
        }
    }
}

/// A byte of every record, in its frame, its key and its value.
pub fn records<'s>(sample: &'s Sample, emit: Emit<'_, 's>) {
    let (start, part) = (sample.start(sample.target), sample.target());
    let others = |hit: usize| {
        let mut rest = sample.clone();
        rest.parts[sample.target].records.remove(hit);
        // What the other records of the batch lose is lost in any case.
        latest_lost(&rest, &[rest.target])
    };
    for (i, place) in part.places.iter().enumerate() {
        let middle = |range: &Range<usize>| (range.start + range.end) / 2;
        for (what, at, exact) in [
            ("a record's frame", place.record.start, false),
            ("a key", middle(&place.key), false),
            ("a value", middle(&place.value), true),
        ] {
            let missing = (what == "a key" && place.key.is_empty()) || (what == "a value" && place.value.is_empty());
            if missing || part.header.magic < 2 && what == "a record's frame" {
                continue;
            }
            for bit in [0, 3, 7] {
                let byte = part.bytes[at] ^ 1 << bit;
                let mut cell = edited(sample, &Edit::fill(start + at..start + at + 1, byte));
                cell.kind = format!("bit in {what}");
                cell.lost = match (exact, what) {
                    (true, _) => Lost::exactly(latest_lost(sample, &[sample.target])),
                    // Its length says where the next one begins.
                    (_, "a key") => Lost::at_least(others(i)),
                    _ => Lost::at_least(Default::default()),
                };
                emit(cell);
            }
        }
    }
}

/// A byte anywhere behind the head, of a compressed body too.
pub fn bodies<'s>(sample: &'s Sample, emit: Emit<'_, 's>) {
    let (range, head) = (sample.range(sample.target), sample.target().head_length());
    let body = range.start + head..range.end;
    let step = (body.len() / 24).max(1);
    for at in body.step_by(step) {
        let byte = sample.bytes()[at] ^ 1 << (at % 8);
        let mut cell = edited(sample, &Edit::fill(at..at + 1, byte));
        cell.kind = "bit in a body".into();
        emit(cell);
    }
}

/// The log ends inside the target, at each of its bytes.
pub fn cuts<'s>(sample: &'s Sample, emit: Emit<'_, 's>) {
    let range = sample.range(sample.target);
    let end = sample.start(sample.parts.len());
    // The bytes of the head, and some behind it.
    let head = range.start + 1..range.end.min(range.start + sample.target().head_length() + 2);
    let body = (head.end..range.end).step_by((range.len() / 64).max(1));
    for at in head.chain(body) {
        for is_last in [true, false] {
            let mut cell = edited(sample, &Edit { range: at..end, with: Vec::new() });
            // What was cut off is no damage of what remains.
            cell.placed.retain(|placed| placed.part <= sample.target);
            cell.hurt = range.start..at;
            cell.kind = format!("cut inside a batch, {}", if is_last { "last segment" } else { "older segment" });
            let zeros = cell.bytes[range.start..].iter().all(|byte| *byte == 0);
            cell.must = if is_last || zeros { Must::Notice } else { Must::Error };
            // Whatever can still be read of it.
            cell.lost = Lost::at_least(Default::default());
            cell.is_last = is_last;
            emit(cell);
        }
    }
}

/// Runs of zeros (and of other bytes, as a dying disk has them) in a batch and across batches.
pub fn runs<'s>(sample: &'s Sample, emit: Emit<'_, 's>) {
    let (range, head) = (sample.range(sample.target), sample.target().head_length());
    let end = sample.start(sample.parts.len());
    let (middle, behind) = ((range.start + range.end) / 2, (range.end + 40).min(end));
    for byte in [0, 0xff, 0x02] {
        let runs = [
            ("in the head", range.start..range.start + head / 2),
            ("over the head", range.start..range.start + head),
            ("in the middle", middle..(middle + 20).min(range.end)),
            ("in the tail", range.end - 10..range.end),
            ("over a whole batch", range.clone()),
            ("from a batch into the next", middle..behind),
            ("over the start of a batch", range.start.saturating_sub(20)..range.start + 20),
            ("over three batches", sample.start(sample.target.saturating_sub(1)) + 30..(behind + 20).min(end)),
            ("to the end, from inside a batch", middle..end),
            ("to the end, from a batch on", range.start..end),
        ];
        for (what, run) in runs {
            let mut cell = edited(sample, &Edit::fill(run.clone(), byte));
            if cell.bytes == sample.bytes() {
                continue;
            }
            cell.kind = format!("run of {byte:#04x} {what}");
            at_the_end(cell, emit);
        }
    }
    for (what, more) in [("zeros behind the end", vec![0; 5000]), ("junk behind the end", vec![0xab; 300])] {
        let mut cell = edited(sample, &Edit { range: end..end, with: more });
        cell.kind = what.to_owned();
        cell.must = if what.starts_with("zeros") { Must::Notice } else { Must::Error };
        cell.lost = Lost::none();
        emit(cell);
    }
    let mut cell = edited(sample, &Edit::fill(0..end, 0));
    (cell.kind, cell.must) = ("a file of zeros".into(), Must::Notice);
    emit(cell);
}

/// Bytes put in or taken out.
pub fn shifts<'s>(sample: &'s Sample, emit: Emit<'_, 's>) {
    let (range, head) = (sample.range(sample.target), sample.target().head_length());
    let middle = (range.start + head + range.end) / 2;
    let zeros = vec![0; 4096];
    for (what, edit) in [
        ("junk between batches", Edit { range: range.start..range.start, with: vec![0x7f; 100] }),
        ("a byte between batches", Edit { range: range.start..range.start, with: vec![1] }),
        ("zeros between batches", Edit { range: range.start..range.start, with: zeros.clone() }),
        ("a byte put into a body", Edit { range: middle..middle, with: vec![9] }),
        ("zeros put into a body", Edit { range: middle..middle, with: zeros }),
        ("a byte taken out of a head", Edit { range: range.start + 20..range.start + 21, with: vec![] }),
        ("bytes taken out of a body", Edit { range: middle..(middle + 10).min(range.end), with: vec![] }),
        ("a head taken out", Edit { range: range.start..range.start + head, with: vec![] }),
    ] {
        if edit.range.is_empty() && edit.with.is_empty() {
            continue;
        }
        let mut cell = edited(sample, &edit);
        cell.kind = what.to_owned();
        let between = what.ends_with("between batches");
        // Zeros in front of a batch can be taken for its own; the batch is there all the same.
        if between {
            cell.lost = Lost::none();
        }
        // An emptied batch is a head and nothing else.
        if what == "a head taken out" && sample.target().bytes.len() == head {
            cell.must = Must::Nothing;
        }
        at_the_end(cell, emit);
    }
}

/// What damage at the end of a log is depends on whether another segment follows: if none does, a stop in the middle of
/// a write may have left it.
fn at_the_end<'s>(mut cell: Cell<'s>, emit: Emit<'_, 's>) {
    let begins = cell.placed.iter().rfind(|it| it.untouched).map_or(0, |it| {
        let length = cell.sample.parts[it.part].bytes.len();
        if it.position < cell.hurt.start { it.position + length } else { cell.bytes.len() }
    });
    let zeros = cell.bytes[begins..].iter().all(|byte| *byte == 0);
    if begins < cell.bytes.len() && cell.must == Must::Error {
        cell.is_last = false;
        if zeros {
            cell.must = Must::Warning;
        }
        let again = Cell { kind: cell.kind.clone(), ..edited(cell.sample, &Edit { range: 0..0, with: vec![] }) };
        emit(Cell {
            bytes: cell.bytes.clone(),
            placed: cell.placed.clone(),
            hurt: cell.hurt.clone(),
            lost: cell.lost.clone(),
            must: Must::Notice,
            ..again
        });
    }
    emit(cell);
}

/// Batches, and other stretches, that stand twice, in the wrong order or not at all.
pub fn moves<'s>(sample: &'s Sample, emit: Emit<'_, 's>) {
    let bytes = sample.bytes();
    let range = sample.range(sample.target);
    let end = bytes.len();
    let mut put = |kind: &str, order: Vec<usize>, must: Must| {
        let mut cell = edited(sample, &Edit { range: 0..0, with: vec![] });
        (cell.kind, cell.must, cell.lost) = (kind.to_owned(), must, Lost::none());
        cell.bytes = order.iter().flat_map(|part| sample.parts[*part].bytes.clone()).collect();
        let mut at = 0;
        cell.placed = order
            .iter()
            .map(|part| {
                at += sample.parts[*part].bytes.len();
                Placed { part: *part, position: at - sample.parts[*part].bytes.len(), untouched: true }
            })
            .collect();
        cell.hurt = 0..cell.bytes.len();
        emit(cell);
    };
    let all: Vec<_> = (0..sample.parts.len()).collect();
    let (before, rest) = all.split_at(sample.target);
    put("a batch twice in a row", [before, &rest[..1], rest].concat(), Must::Error);
    put("a batch again at the end", [before, rest, &rest[..1]].concat(), Must::Error);
    put("the segment twice", [&all[..], &all[..]].concat(), Must::Error);
    if let [first, second, more @ ..] = rest {
        put("two batches swapped", [before, &[*second, *first], more].concat(), Must::Error);
        put("a batch is missing", [before, &rest[1..]].concat(), Must::Nothing);
    }
    // A stretch that begins and ends anywhere.
    let (a, b) = (range.start + 7, (range.end + 13).min(end));
    let mut cell = edited(sample, &Edit { range: b..b, with: bytes[a..b].to_vec() });
    cell.kind = "a stretch twice".into();
    // The second copy of whatever batch is whole in it is real, too; what it begins with is not.
    let whole: Vec<_> = (0..sample.parts.len()).map(|part| (part, sample.range(part))).collect();
    cell.placed.extend(whole.iter().filter(|(_, at)| at.start >= a && at.start < b).map(|(part, at)| Placed {
        part: *part,
        position: at.start - a + b,
        untouched: at.end <= b,
    }));
    // And the target's bytes from its seventh on, behind seven others: a base offset is not covered by a CRC.
    cell.placed.push(Placed { part: sample.target, position: b - 7, untouched: false });
    cell.must = if a == b { Must::Nothing } else { Must::Error };
    emit(cell);
}

/// Heads that say something absurd, with the CRC made for it: the writer was broken, not the disk.
pub fn sealed<'s>(sample: &'s Sample, emit: Emit<'_, 's>) {
    let (start, part) = (sample.start(sample.target), sample.target());
    if part.header.magic < 2 || part.records.is_empty() {
        return;
    }
    let count = part.records.len() as i32;
    let delta = (part.header.last_offset - part.header.base_offset) as i32;
    let number = |field: Range<usize>, n: i32, must: Must| (field, n.to_be_bytes().to_vec(), must);
    let last = sample.target + 1 == sample.parts.len();
    let next = sample.parts.get(sample.target + 1).map_or(i64::MAX, |next| next.first);
    let mut cases = vec![
        ("a count of 2^31-1", number(57..61, i32::MAX, Must::Error)),
        ("a count below zero", number(57..61, -1, Must::Error)),
        ("a count of -2^31", number(57..61, i32::MIN, Must::Error)),
        ("a count too great by one", number(57..61, count + 1, Must::Error)),
        ("a span of 2^31-1 offsets", number(23..27, i32::MAX, if last { Must::Nothing } else { Must::Error })),
        ("a span below zero", number(23..27, -1, Must::Error)),
        ("a span of -2^31", number(23..27, i32::MIN, Must::Error)),
    ];
    if count > 1 {
        cases.push(("a count too small by one", number(57..61, count - 1, Must::Error)));
    }
    if delta > 0 && part.records.last().unwrap().offset == part.header.last_offset {
        cases.push(("a span too short", number(23..27, delta - 1, Must::Error)));
    }
    let own = i16::from_be_bytes([part.bytes[21], part.bytes[22]]);
    for codec in (0..8).filter(|codec| *codec != own & 7) {
        let attributes = (own & !7 | codec).to_be_bytes().to_vec();
        cases.push(("another codec", (21..23, attributes, Must::Error)));
    }
    for (what, (field, with, must)) in cases {
        let mut changed = part.bytes.clone();
        changed[field].copy_from_slice(&with);
        seal(&mut changed);
        let mut cell = edited(sample, &Edit { range: start..start + changed.len(), with: changed });
        cell.kind = format!("sealed: {what}");
        cell.must = must;
        let far = part.header.base_offset.saturating_add(i64::from(i32::MAX));
        if what == "a span of 2^31-1 offsets" && far < next {
            cell.must = Must::Nothing;
        }
        emit(cell);
    }
}

/// The body of a compressed batch ends early, with length and CRC made for it. What could be inflated is there.
pub fn short_bodies<'s>(sample: &'s Sample, emit: Emit<'_, 's>, wrong: &mut Vec<String>) {
    let (range, part) = (sample.range(sample.target), sample.target());
    if part.header.codec == Codec::None || part.header.magic < 2 {
        return;
    }
    let (all, _) = crate::laws::records_of(&part.bytes);
    for part_of in 0..16 {
        let length = 61 + (part.bytes.len() - 61) * part_of / 16;
        let mut short = part.bytes[..length].to_vec();
        short[8..12].copy_from_slice(&(length as i32 - 12).to_be_bytes());
        seal(&mut short);
        let (read, faulty) = crate::laws::records_of(&short);
        if !all.starts_with(&read) || !faulty {
            wrong.push(format!("{}: cut to {length}: {} of {} records", sample.name, read.len(), all.len()));
        }
        let mut cell = edited(sample, &Edit { range: range.clone(), with: short });
        cell.kind = "sealed: a compressed body cut short".into();
        emit(cell);
    }
}

/// One record is damaged in a batch whose CRC was made for it. The others are all there.
pub fn one_record<'s>(sample: &'s Sample, emit: Emit<'_, 's>, wrong: &mut Vec<String>) {
    let (range, part) = (sample.range(sample.target), sample.target());
    if part.header.magic < 2 || part.places.len() < 2 {
        return;
    }
    let (all, _) = crate::laws::records_of(&part.bytes);
    for (i, place) in part.places.iter().enumerate() {
        // Behind its own length, which says where the next one begins.
        for at in place.record.start + 2..place.record.end {
            let mut changed = part.bytes.clone();
            changed[at] ^= 0xa5;
            seal(&mut changed);
            let (read, _) = crate::laws::records_of(&changed);
            let others: Vec<_> = all.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, it)| it).collect();
            if !others.iter().all(|it| read.contains(it)) {
                wrong.push(format!(
                    "{}: record {i} damaged at {at}: {} of {} left",
                    sample.name,
                    read.len(),
                    all.len()
                ));
            }
            if at % 5 == 0 {
                let mut cell = edited(sample, &Edit { range: range.clone(), with: changed });
                cell.kind = "sealed: a record damaged".into();
                // A text, a number or a time may have changed into another.
                cell.must = Must::Nothing;
                emit(cell);
            }
        }
    }
}
