//! Made-up histories, and how they are written as segment files in many shapes.
//!
//! Must not know: what is tested. Needs `mod build` and `mod naive` beside it.

#![allow(dead_code, clippy::unwrap_used, clippy::panic, reason = "helpers, of which no test uses all")]

use crate::build::{self, Bat, Ending, Rec};
use crate::naive::{Event, What};
use grouplog::schema::RecordType;
use grouplog::schema::sample::Sampler;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Numbers that are the same on every run.
pub struct Dice(pub Sampler);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Sampler::new(seed))
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    pub fn pick<'p, T>(&mut self, from: &'p [T]) -> &'p T {
        &from[self.below(from.len())]
    }
}

// Making histories.

pub const GROUPS: &[&[u8]] = &[b"g", b"", b" ", "grp-🚀".as_bytes(), b"\xff\xfe", b"a*b", b"x\ny", b"a,b\"c"];
pub const TOPICS: &[&str] = &["t", "orders", "größe"];
pub const MEMBERS: &[&str] = &["", "m1", "m2"];
/// Around the places where the store of offsets changes its ways, and beyond what any topic has.
pub const PARTITIONS: &[i32] =
    &[0, 0, 1, 2, 5, 62, 63, 64, 65, 66, 100, 101, 255, 256, 300, 1000, -1, -2, i32::MAX, i32::MIN];

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

pub fn key_of(number: i16, texts: &[&[u8]]) -> Vec<u8> {
    let mut key = number.to_be_bytes().to_vec();
    texts.iter().for_each(|text| put_text(&mut key, text));
    key
}

pub fn offset_key(number: i16, group: &[u8], topic: &str, partition: i32) -> Vec<u8> {
    let mut key = key_of(number, &[group, topic.as_bytes()]);
    key.extend_from_slice(&partition.to_be_bytes());
    key
}

/// A key of one of the types 2 to 24.
fn other_key(dice: &mut Dice, number: i16, group: &[u8]) -> Vec<u8> {
    match number {
        5 | 7 | 8 | 10 | 13 | 14 | 19 | 21 | 22 => key_of(number, &[group, dice.pick(MEMBERS).as_bytes()]),
        16 => key_of(number, &[group, dice.pick(TOPICS).as_bytes()]),
        _ => key_of(number, &[group]),
    }
}

fn sample(dice: &mut Dice, number: i16) -> Vec<u8> {
    let record_type = RecordType::from_number(number).unwrap();
    let samples = record_type.sample_values(&mut Sampler::new(dice.0.bits()));
    let mut bytes = Vec::new();
    dice.pick(&samples).encode(&mut bytes);
    bytes
}

/// Bytes that no release reads, or hardly any.
fn spoilt(dice: &mut Dice, mut value: Vec<u8>) -> Vec<u8> {
    match dice.below(4) {
        0 => Vec::new(),
        1 => vec![0],
        2 => {
            value[1] = 9;
            value
        }
        _ => {
            value.truncate(2 + dice.below(value.len() - 2));
            value
        }
    }
}

/// What a history has.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub transactions: bool,
    pub spoilt: bool,
    /// Many partitions of few topics, so that runs of slots grow.
    pub dense: bool,
}

pub fn any_order(dice: &mut Dice) -> (Vec<Event>, Kind) {
    let kind = Kind { transactions: !dice.one_in(3), spoilt: dice.one_in(4), dense: dice.one_in(6) };
    let length = if kind.dense { 60 + dice.below(140) } else { 1 + dice.below(60) };
    let groups = &GROUPS[..1 + dice.below(if kind.dense { 2 } else { GROUPS.len() })];
    let mut offset = if dice.one_in(5) { dice.below(1 << 40) as i64 } else { 0 };
    let mut events = Vec::new();
    let mut epochs = BTreeMap::new();
    for _ in 0..length {
        let what = any_record(dice, kind, groups, &mut epochs);
        let timestamp = 1_000 + dice.below(500) as i64;
        events.push(Event { offset, timestamp, what });
        // What compaction took leaves gaps.
        offset += if dice.one_in(4) { 1 + dice.below(20) as i64 } else { 1 };
    }
    (events, kind)
}

/// A producer keeps its epoch until its transaction ends; the marker may have the next one already (KIP-890).
fn any_record(dice: &mut Dice, kind: Kind, groups: &[&[u8]], epochs: &mut BTreeMap<i64, i16>) -> What {
    let producers: &[i64] = if kind.transactions { &[-1, -1, 0, 1, 2, 1 << 40] } else { &[-1] };
    let mut producer = *dice.pick(producers);
    let group = *dice.pick(groups);
    if producer != -1 && dice.one_in(4) {
        let epoch = epochs.entry(producer).or_default();
        *epoch += 1;
        return What::Marker { producer, epoch: *epoch - i16::from(dice.one_in(2)), commit: !dice.one_in(3) };
    }
    let (key, value) = match dice.below(20) {
        0..=10 => {
            let partition = if kind.dense { dice.below(400) as i32 } else { *dice.pick(PARTITIONS) };
            let number = i16::from(!dice.one_in(4));
            let mut key = offset_key(number, group, dice.pick::<&str>(TOPICS), partition);
            if dice.one_in(20) {
                // A coordinator reads fields, and does not look at what follows them.
                key.extend_from_slice(b"more");
            }
            (key, (!dice.one_in(4)).then(|| sample(dice, number)))
        }
        11..=18 => {
            let number = 2 + dice.below(23) as i16;
            let value = (!dice.one_in(3)).then(|| sample(dice, number));
            (other_key(dice, number, group), value)
        }
        _ => (key_of(25 + dice.below(1000) as i16, &[group]), Some(vec![0, 0, 1, 2, 3])),
    };
    if producer != -1 && dice.one_in(10) {
        producer = -1;
    }
    let value = if kind.spoilt && dice.one_in(5) { value.map(|value| spoilt(dice, value)) } else { value };
    let epoch = if producer == -1 { -1 } else { *epochs.entry(producer).or_default() };
    What::Data { key: Some(key), value, producer, epoch }
}

// Histories by the rules: groups that are made, live and go as a coordinator lets them.

/// A group's record types: of the group, its assignment epoch, a member, its target, what it has.
struct Protocol {
    group: i16,
    assignment: i16,
    member: i16,
    target: i16,
    current: i16,
    /// Further records of the group, which go before it does.
    others: &'static [i16],
}

const PROTOCOLS: [Protocol; 3] = [
    Protocol { group: 3, assignment: 6, member: 5, target: 7, current: 8, others: &[4] },
    Protocol { group: 11, assignment: 12, member: 10, target: 13, current: 14, others: &[15] },
    Protocol { group: 17, assignment: 20, member: 19, target: 21, current: 22, others: &[23] },
];

/// A group on its way.
struct Actor<'n> {
    name: &'n [u8],
    /// None is classic, or not there.
    protocol: Option<usize>,
    members: BTreeMap<&'static str, ()>,
}

struct History {
    events: Vec<Event>,
    offset: i64,
}

impl History {
    fn add(&mut self, key: Vec<u8>, value: Option<Vec<u8>>, producer: i64) {
        let epoch = if producer == -1 { -1 } else { 0 };
        let what = What::Data { key: Some(key), value, producer, epoch };
        self.events.push(Event { offset: self.offset, timestamp: 1_000 + self.offset, what });
        self.offset += 1;
    }
}

/// A value of today's shape, of a type that has others too.
fn of_today(dice: &mut Dice, number: i16) -> Option<Vec<u8>> {
    let record_type = RecordType::from_number(number).unwrap();
    loop {
        let samples = record_type.sample_values(&mut Sampler::new(dice.0.bits()));
        let today: Vec<_> = samples.iter().filter(|sample| sample.whose.is_none()).collect();
        let mut bytes = Vec::new();
        dice.pick(&today).encode(&mut bytes);
        if record_type.decode_value(&bytes).unwrap().whose.is_none() {
            return Some(bytes);
        }
    }
}

pub fn by_the_rules(dice: &mut Dice) -> (Vec<Event>, bool) {
    let mut history = History { events: Vec::new(), offset: 0 };
    let transactions = dice.one_in(2);
    let mut actors: Vec<_> = GROUPS[..2 + dice.below(3)]
        .iter()
        .map(|name| Actor { name, protocol: None, members: BTreeMap::new() })
        .collect();
    for _ in 0..5 + dice.below(25) {
        let i = dice.below(actors.len());
        let actor = &mut actors[i];
        match dice.below(8) {
            0 => classic_step(dice, actor, &mut history),
            1..=3 => modern_step(dice, actor, &mut history),
            4 => leave(dice, actor, &mut history),
            5 if dice.one_in(3) => dissolve(dice, actor, &mut history),
            _ => commit_step(dice, actor, &mut history, transactions),
        }
    }
    (history.events, transactions)
}

fn classic_step(dice: &mut Dice, actor: &mut Actor<'_>, history: &mut History) {
    dissolve(dice, actor, history);
    let value = (!dice.one_in(5)).then(|| classic_value(dice));
    history.add(key_of(2, &[actor.name]), value, -1);
}

/// A classic group, mostly of consumers, whose members subscribe and own.
fn classic_value(dice: &mut Dice) -> Vec<u8> {
    let version = dice.below(4) as i16;
    let mut out = version.to_be_bytes().to_vec();
    let kind = *dice.pick(&["consumer", "consumer", "connect", ""]);
    put_text(&mut out, kind.as_bytes());
    out.extend_from_slice(&(dice.below(9) as i32).to_be_bytes());
    put_text(&mut out, b"range");
    put_text(&mut out, b"m1");
    if version >= 2 {
        let since = if dice.one_in(4) { -1 } else { 500 + dice.below(1000) as i64 };
        out.extend_from_slice(&since.to_be_bytes());
    }
    let members = &MEMBERS[..dice.below(3)];
    out.extend_from_slice(&(members.len() as i32).to_be_bytes());
    for member in members {
        put_text(&mut out, member.as_bytes());
        if version >= 3 {
            out.extend_from_slice(&(-1i16).to_be_bytes());
        }
        put_text(&mut out, b"client");
        put_text(&mut out, b"/127.0.0.1");
        if version >= 1 {
            out.extend_from_slice(&(60_000i32 - dice.below(2) as i32 * 60_001).to_be_bytes());
        }
        out.extend_from_slice(&45_000i32.to_be_bytes());
        for blob in [subscription(dice), assignment(dice)] {
            out.extend_from_slice(&(blob.len() as i32).to_be_bytes());
            out.extend_from_slice(&blob);
        }
    }
    out
}

fn put_topics(dice: &mut Dice, out: &mut Vec<u8>) {
    let topics = &TOPICS[..dice.below(3)];
    out.extend_from_slice(&(topics.len() as i32).to_be_bytes());
    for topic in topics {
        put_text(out, topic.as_bytes());
        out.extend_from_slice(&2i32.to_be_bytes());
        out.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0]);
    }
}

fn subscription(dice: &mut Dice) -> Vec<u8> {
    if dice.one_in(8) {
        return Vec::new();
    }
    let version = dice.below(4) as i16;
    let mut out = version.to_be_bytes().to_vec();
    let topics = &TOPICS[..1 + dice.below(2)];
    out.extend_from_slice(&(topics.len() as i32).to_be_bytes());
    topics.iter().for_each(|topic| put_text(&mut out, topic.as_bytes()));
    out.extend_from_slice(&(-1i32).to_be_bytes());
    if version >= 1 {
        put_topics(dice, &mut out);
    }
    if version >= 2 {
        out.extend_from_slice(&7i32.to_be_bytes());
    }
    if version >= 3 {
        put_text(&mut out, b"rack");
    }
    out
}

fn assignment(dice: &mut Dice) -> Vec<u8> {
    if dice.one_in(8) {
        return Vec::new();
    }
    let mut out = vec![0, 0];
    put_topics(dice, &mut out);
    out.extend_from_slice(&(-1i32).to_be_bytes());
    out
}

/// A member joins or moves on; the group is made if it is not there, or migrates if it is classic.
fn modern_step(dice: &mut Dice, actor: &mut Actor<'_>, history: &mut History) {
    if actor.protocol.is_none() {
        if !dice.one_in(3) {
            return;
        }
        history.add(key_of(2, &[actor.name]), None, -1);
        actor.protocol = Some(dice.below(PROTOCOLS.len()));
    }
    let Some(protocol) = actor.protocol.map(|i| &PROTOCOLS[i]) else { return };
    let member = *dice.pick(MEMBERS);
    actor.members.insert(member, ());
    let name = actor.name;
    let of_member = [name, member.as_bytes()];
    history.add(key_of(protocol.member, &of_member), of_today(dice, protocol.member), -1);
    if dice.one_in(2) {
        let number = *dice.pick(protocol.others);
        history.add(key_of(number, &[name]), of_today(dice, number), -1);
    }
    if protocol.group == 3 && dice.one_in(3) {
        history.add(other_key(dice, 16, name), of_today(dice, 16), -1);
    }
    history.add(key_of(protocol.group, &[name]), of_today(dice, protocol.group), -1);
    history.add(key_of(protocol.target, &of_member), of_today(dice, protocol.target), -1);
    history.add(key_of(protocol.assignment, &[name]), of_today(dice, protocol.assignment), -1);
    history.add(key_of(protocol.current, &of_member), of_today(dice, protocol.current), -1);
}

fn leave(dice: &mut Dice, actor: &mut Actor<'_>, history: &mut History) {
    let Some(protocol) = actor.protocol.map(|i| &PROTOCOLS[i]) else { return };
    let Some((member, ())) = actor.members.pop_first() else { return };
    for number in [protocol.current, protocol.target, protocol.member] {
        history.add(key_of(number, &[actor.name, member.as_bytes()]), None, -1);
    }
    history.add(key_of(protocol.group, &[actor.name]), of_today(dice, protocol.group), -1);
}

/// Everything goes but the offsets.
fn dissolve(dice: &mut Dice, actor: &mut Actor<'_>, history: &mut History) {
    while actor.protocol.is_some() && !actor.members.is_empty() {
        leave(dice, actor, history);
    }
    if let Some(protocol) = actor.protocol.take().map(|i| &PROTOCOLS[i]) {
        for number in [&[protocol.assignment], protocol.others, &[protocol.group]].concat() {
            history.add(key_of(number, &[actor.name]), None, -1);
        }
        if protocol.group == 3 {
            TOPICS.iter().for_each(|topic| history.add(key_of(16, &[actor.name, topic.as_bytes()]), None, -1));
        }
    }
}

fn commit_step(dice: &mut Dice, actor: &Actor<'_>, history: &mut History, transactions: bool) {
    let producer = if transactions { *dice.pick(&[-1, 7, 8]) } else { -1 };
    if producer != -1 && dice.one_in(3) {
        let what = What::Marker { producer, epoch: 1, commit: !dice.one_in(3) };
        history.events.push(Event { offset: history.offset, timestamp: 1_000 + history.offset, what });
        history.offset += 1;
        return;
    }
    let key = offset_key(1, actor.name, dice.pick::<&str>(TOPICS), dice.below(3) as i32);
    let value = if dice.one_in(4) { None } else { of_today(dice, 1) };
    history.add(key, value, producer);
}

// Writing them.

/// How a history is written.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Magic(u8),
    /// Batches of all codecs, magic 0 first and magic 2 last, as in a log that went through upgrades.
    Mixed,
}

pub fn write(dice: &mut Dice, events: &[Event], shape: Shape) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = folder();
    let mut paths = Vec::new();
    let mut segment: Vec<u8> = Vec::new();
    let mut base = None;
    let mut rest = events;
    let most = 1 + dice.below(12);
    let mut flush = |segment: &mut Vec<u8>, base: &mut Option<i64>| {
        if let Some(base) = base.take() {
            let path = folder.path().join(build::segment_name(base));
            std::fs::write(&path, std::mem::take(segment)).unwrap();
            paths.push(path);
        }
    };
    while let Some(first) = rest.first() {
        let alike = rest.iter().take(1 + dice.below(most)).take_while(|event| goes_with(first, event)).count();
        let (these, behind) = rest.split_at(alike.max(1));
        let magic = match shape {
            Shape::Magic(magic) => magic,
            Shape::Mixed => ((events.len() - rest.len()) / (events.len() / 3 + 1)) as u8,
        };
        let before = events.get((events.len() - rest.len()).wrapping_sub(1)).map_or(-1, |event| event.offset);
        let batch = batch(dice, before, these, magic);
        base.get_or_insert(batch.base_offset);
        segment.extend(batch.bytes());
        rest = behind;
        if dice.one_in(6) {
            flush(&mut segment, &mut base);
        }
    }
    flush(&mut segment, &mut base);
    (folder, paths)
}

/// In memory, where there is such a place: tens of thousands of small files are slow on a disk.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Records of one producer and epoch share a batch; a marker stands alone.
fn goes_with(first: &Event, other: &Event) -> bool {
    match (&first.what, &other.what) {
        (What::Data { producer, epoch, .. }, What::Data { producer: other, epoch: its, .. }) => {
            producer == other && epoch == its
        }
        _ => false,
    }
}

/// A batch of events, of which the last before them stands at `before`.
fn batch(dice: &mut Dice, before: i64, events: &[Event], magic: u8) -> Bat {
    let records = events.iter().filter_map(|event| match &event.what {
        What::Data { key, value, .. } => Some(Rec {
            offset: event.offset,
            timestamp: if magic == 0 { -1 } else { event.timestamp },
            key: key.clone(),
            value: value.clone(),
        }),
        What::Marker { .. } => None,
    });
    let codec = *dice.pick(build::codecs(magic));
    let batch = match &events[0].what {
        What::Marker { producer, epoch, commit } => {
            let ending = if *commit { Ending::Commit } else { Ending::Abort };
            Bat::marker(ending, events[0].offset, events[0].timestamp, *producer, *epoch)
        }
        What::Data { producer: -1, .. } => Bat { magic, codec, ..Bat::of(records.collect()) },
        What::Data { producer, epoch, .. } => {
            Bat { magic, codec, ..Bat::transactional(*producer, *epoch, records.collect()) }
        }
    };
    // The cleaner keeps a batch's span when it takes records away.
    let spans_more = magic == 2 && dice.one_in(10) && batch.base_offset > before + 1;
    Bat { base_offset: batch.base_offset - i64::from(spans_more), ..batch }
}
