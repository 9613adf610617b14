//! Makes mutants of what real brokers wrote: a short stretch of batches, changed once or a few times, often with the CRC
//! made anew, so that what lies behind it is reached.
//!
//! A mutant follows from its number alone. Must not know: what is done with it.

use crate::build::{Bat, Rec, codecs, compressed, number, seal};
use crate::sample::Part;
use grouplog::log::{Codec, Inflater};

/// Numbers that are the same on every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03)
    }

    /// Splitmix64.
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn roll(&mut self, below: usize) -> usize {
        (self.bits() % below.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.roll(n) == 0
    }

    fn pick<'p, T>(&mut self, from: &'p [T]) -> &'p T {
        &from[self.roll(from.len())]
    }
}

/// A segment of an exhibit.
pub struct Source {
    pub name: String,
    pub parts: Vec<Part>,
}

/// A mutated stretch.
pub struct Mutant {
    pub bytes: Vec<u8>,
    pub base: i64,
    /// What was done, for people.
    pub story: String,
}

const MOST_PARTS: usize = 5;
const MOST_BYTES: usize = 12 << 10;

pub fn mutant(seed: u64, sources: &[Source], inflater: &mut Inflater) -> Mutant {
    let mut dice = Dice::new(seed);
    let source = dice.pick(sources);
    let from = dice.roll(source.parts.len());
    let mut story = vec![format!("{} from batch {from}", source.name)];
    let mut batches = Vec::new();
    let mut length = 0;
    for part in source.parts.iter().skip(from).take(1 + dice.roll(MOST_PARTS)) {
        length += part.bytes.len();
        if length <= MOST_BYTES || batches.is_empty() {
            batches.push(part.bytes.clone());
        }
    }
    let base = source.parts[from].first;
    for _ in 0..1 + dice.roll(3) {
        if dice.one_in(4) {
            break;
        }
        let at = dice.roll(batches.len());
        let what = within(
            &mut dice,
            &mut batches[at],
            &source.parts[(from + at).min(source.parts.len() - 1)],
            inflater,
            sources,
        );
        story.push(format!("batch {at}: {what}"));
    }
    let mut bytes = batches.concat();
    let rounds = if story.len() > 1 && !dice.one_in(3) { 0 } else { 1 + dice.roll(3) };
    for _ in 0..rounds {
        story.push(anywhere(&mut dice, &mut bytes, sources).to_owned());
    }
    if rounds > 0 && dice.one_in(3) {
        seal_all(&mut bytes);
        story.push("sealed".into());
    }
    Mutant { bytes, base, story: story.join("; ") }
}

/// Changes within one batch that leave its frame and CRC right.
fn within(
    dice: &mut Dice,
    bytes: &mut Vec<u8>,
    part: &Part,
    inflater: &mut Inflater,
    sources: &[Source],
) -> &'static str {
    match dice.roll(8) {
        _ if dice.one_in(400) => bomb(dice, bytes),
        0 => head_field(dice, bytes),
        1 | 2 => body_bytes(dice, bytes, sources),
        3 | 4 => inflated_body(dice, bytes, inflater, sources),
        _ => records(dice, bytes, part, sources),
    }
}

const HEAD: usize = 61;

fn is_magic2(bytes: &[u8]) -> bool {
    bytes.len() >= HEAD && bytes[16] == 2
}

/// One field of the head says something else.
fn head_field(dice: &mut Dice, bytes: &mut [u8]) -> &'static str {
    let fields: &[(usize, usize)] = match is_magic2(bytes) {
        true => &[(0, 8), (12, 4), (21, 2), (22, 1), (23, 4), (27, 8), (35, 8), (43, 8), (51, 2), (53, 4), (57, 4)],
        false => &[(0, 8), (17, 1), (18, 8), (18, 4), (22, 4), (26, 4)],
    };
    let (at, length) = *dice.pick(fields);
    interesting(dice, bytes, at, length);
    seal_one(bytes);
    "a field of the head"
}

/// The body, compressed or not.
fn body_bytes(dice: &mut Dice, bytes: &mut Vec<u8>, sources: &[Source]) -> &'static str {
    let head = if is_magic2(bytes) { HEAD } else { 18.min(bytes.len()) };
    let mut body = bytes.split_off(head);
    for _ in 0..1 + dice.roll(3) {
        anywhere(dice, &mut body, sources);
    }
    bytes.extend_from_slice(&body);
    frame(bytes);
    "bytes of the body"
}

/// The records as inflated, squeezed again; now and then by another codec.
fn inflated_body(dice: &mut Dice, bytes: &mut Vec<u8>, inflater: &mut Inflater, sources: &[Source]) -> &'static str {
    if !is_magic2(bytes) {
        return body_bytes(dice, bytes, sources);
    }
    let codec = Codec::of_attributes(i16::from(bytes[22]));
    let mut body = inflater.inflate(codec, &bytes[HEAD..]).bytes.to_vec();
    body.truncate(64 << 10);
    for _ in 0..1 + dice.roll(3) {
        anywhere(dice, &mut body, sources);
    }
    let codec = if dice.one_in(3) { *dice.pick(codecs(2)) } else { codec };
    bytes.truncate(HEAD);
    bytes[22] = bytes[22] & !7 | number(codec) & 7;
    bytes.extend_from_slice(&compressed(codec, &body));
    frame(bytes);
    "bytes of the inflated body"
}

/// A body that inflates to much more than the limit, or to just that.
fn bomb(dice: &mut Dice, bytes: &mut Vec<u8>) -> &'static str {
    let body = vec![dice.roll(3) as u8; *dice.pick(&[1 << 20, (1 << 20) + 1, 5 << 20])];
    let codec = *dice.pick(&codecs(2)[1..]);
    if is_magic2(bytes) {
        bytes.truncate(HEAD);
        bytes[22] = bytes[22] & !7 | number(codec);
        bytes.extend_from_slice(&compressed(codec, &body));
        frame(bytes);
    }
    "a bomb"
}

/// Keys and values, in a batch made anew.
fn records(dice: &mut Dice, bytes: &mut Vec<u8>, part: &Part, sources: &[Source]) -> &'static str {
    if part.records.is_empty() || part.records.len() > 500 {
        return head_field(dice, bytes);
    }
    let mut records = part.records.clone();
    for _ in 0..1 + dice.roll(3) {
        let at = dice.roll(records.len());
        record(dice, &mut records[at], sources);
    }
    let header = part.header;
    let magic = if dice.one_in(12) { dice.roll(3) as u8 } else { header.magic };
    let codec = if dice.one_in(8) { *dice.pick(codecs(magic)) } else { header.codec };
    let codec = if codecs(magic).contains(&codec) { codec } else { Codec::None };
    let batch = Bat {
        magic,
        codec,
        base_offset: part.first,
        last_offset: header.last_offset,
        leader_epoch: header.partition_leader_epoch,
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        base_sequence: header.base_sequence,
        transactional: header.transactional,
        control: header.control != dice.one_in(30),
        delete_horizon_ms: header.delete_horizon_ms,
        append_time: None,
        records,
    };
    *bytes = batch.bytes();
    "keys and values"
}

fn record(dice: &mut Dice, record: &mut Rec, sources: &[Source]) {
    match dice.roll(12) {
        0 => record.key = None,
        1 => record.value = None,
        2 => record.value = Some(Vec::new()),
        3 => record.timestamp = extreme(dice),
        // A value of another type under this key, or a key of another type over this value.
        4 | 5 => {
            let source = dice.pick(sources);
            let part = dice.pick(&source.parts);
            if let Some(other) = part.records.first() {
                match dice.one_in(2) {
                    true => record.value.clone_from(&other.value),
                    false => record.key.clone_from(&other.key),
                }
            }
        }
        6 => record.key.iter_mut().for_each(|key| {
            anywhere(dice, key, sources);
        }),
        _ => record.value.iter_mut().for_each(|value| {
            anywhere(dice, value, sources);
        }),
    }
}

/// One change at any byte.
fn anywhere(dice: &mut Dice, bytes: &mut Vec<u8>, sources: &[Source]) -> &'static str {
    let length = bytes.len();
    let (a, b) = (dice.roll(length + 1), dice.roll(length + 1));
    let (from, to) = (a.min(b), a.max(b));
    let near = (from + 1 + dice.roll(24)).min(length);
    match dice.roll(12) {
        _ if bytes.is_empty() => {
            bytes.push(dice.roll(256) as u8);
            "a byte in nothing"
        }
        0 | 1 => {
            bytes[from.min(length - 1)] ^= 1 << dice.roll(8);
            "a bit"
        }
        2 => {
            bytes[from.min(length - 1)] = *dice.pick(&[0, 1, 2, 3, 0x7f, 0x80, 0xff, b' ', some_byte(b)]);
            "a byte"
        }
        3 | 4 => {
            let width = *dice.pick(&[2, 4, 8]);
            interesting(dice, bytes, from, width);
            "a number"
        }
        5 => {
            bytes.splice(from..from, (0..1 + dice.roll(16)).map(|i| some_byte(b + i)));
            "bytes put in"
        }
        6 => {
            bytes.drain(from..near);
            "bytes taken out"
        }
        7 => {
            let piece = bytes[from..near.max(from + (to - from) / 4)].to_vec();
            bytes.splice(from..from, piece);
            "a piece twice"
        }
        8 => {
            let other = dice.pick(sources);
            let piece = &dice.pick(&other.parts).bytes;
            let start = b % piece.len();
            let end = (start + 1 + a % 200).min(piece.len());
            let until = if a % 2 == 0 { from } else { near };
            bytes.splice(from..until, piece[start..end].iter().copied());
            "a piece of another log"
        }
        9 => {
            bytes.truncate(to);
            "cut"
        }
        10 => {
            bytes[from..near].fill(0);
            "zeros"
        }
        _ => {
            bytes[from..to].fill(some_byte(a));
            "a run"
        }
    }
}

fn some_byte(n: usize) -> u8 {
    (n.wrapping_mul(167) >> 3) as u8
}

fn extreme(dice: &mut Dice) -> i64 {
    *dice.pick(&[
        0,
        1,
        -1,
        -2,
        i64::MAX,
        i64::MIN,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
        1 << 31,
        1 << 40,
        255,
        128,
    ])
}

/// A number at a byte becomes an extreme one, or moves by a little.
fn interesting(dice: &mut Dice, bytes: &mut [u8], at: usize, width: usize) {
    let Some(field) = bytes.get_mut(at..at + width) else { return };
    let now = field.iter().fold(0i64, |n, byte| n << 8 | i64::from(*byte));
    let new = if dice.one_in(2) { now.wrapping_add(dice.roll(9) as i64 - 4) } else { extreme(dice) };
    field.copy_from_slice(&new.to_be_bytes()[8 - width..]);
}

/// Puts the right length and CRC into a batch.
fn frame(bytes: &mut [u8]) {
    if bytes.len() >= 17 {
        let length = bytes.len() as i32 - 12;
        bytes[8..12].copy_from_slice(&length.to_be_bytes());
        seal_one(bytes);
    }
}

fn seal_one(bytes: &mut [u8]) {
    if is_magic2(bytes) {
        seal(bytes);
    } else if bytes.len() > 18 {
        let crc = crc32fast::hash(&bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    }
}

/// Puts the right CRC into whatever its length field frames, one behind the other.
fn seal_all(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(length) = bytes.get(at + 8..at + 12) {
        let length = i64::from(i32::from_be_bytes(*length.first_chunk().unwrap())) + 12;
        let Some(end) = usize::try_from(length).ok().filter(|length| *length > 18).map(|length| at + length) else {
            return;
        };
        match bytes.get_mut(at..end) {
            Some(batch) => seal_one(batch),
            None => return,
        }
        at = end;
    }
}

/// Changes a file beside the segments.
pub fn side(dice: &mut Dice, bytes: &[u8], sources: &[Source]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + dice.roll(4) {
        anywhere(dice, &mut bytes, sources);
    }
    // A snapshot's own CRC.
    if dice.one_in(2) && bytes.len() > 6 && bytes[..2] == [0, 1] {
        let crc = crc32c::crc32c(&bytes[6..]);
        bytes[2..6].copy_from_slice(&crc.to_be_bytes());
    }
    bytes
}
