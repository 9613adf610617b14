//! Replay: records in log order become the latest value of every key, as a coordinator would hold it.
//!
//! Transactional commits wait, by producer, until their marker: COMMIT moves them into place unless a later record
//! stands there, ABORT drops them. Damage never stops replay; what it may have cost is kept in [`Doubts`].
//! Must not know: what values say (they are only checked), and how the result looks.

use super::ahead::{AskAhead, CheckNow, Checked};
use super::doubt::Doubts;
use super::rules::{PendingUnderTombstone, Rules};
use super::store::{OffsetKey, Offsets, Others, Place, Slot, Values, offset_key_parts};
use super::walk::{Nobody, Step, Visitor, walk_segment};
use crate::fault::{Fault, FaultKind};
use crate::log::{BadRecord, Batch, Control, Hole, Inflater, Record, Segment};
use crate::schema::{Key, RecordType};
use foldhash::fast::FixedState;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use std::io;

/// Commits of one producer whose transaction has not ended.
#[derive(Debug, Clone, Default)]
pub struct OpenTransaction {
    /// The producer epoch of the last of them.
    pub producer_epoch: i16,
    /// Offset of the first batch.
    pub first_offset: i64,
    /// Offset of a marker that was not replayed, because its batch is damaged: the transaction may have ended there.
    pub marker_lost: Option<i64>,
    /// The last commit of each key.
    pub commits: HashMap<OffsetKey, Slot, FixedState>,
}

/// Producers with a pending commit of one key: mostly one.
#[derive(Debug)]
enum Holders {
    One(i64),
    More(HashSet<i64, FixedState>),
}

impl Holders {
    fn add(&mut self, producer_id: i64) {
        match self {
            Holders::One(one) if *one == producer_id => {}
            Holders::One(one) => *self = Holders::More([*one, producer_id].into_iter().collect()),
            Holders::More(all) => drop(all.insert(producer_id)),
        }
    }

    /// Whether none is left.
    fn remove(&mut self, producer_id: i64) -> bool {
        match self {
            Holders::One(one) => *one == producer_id,
            Holders::More(all) => {
                all.remove(&producer_id);
                all.is_empty()
            }
        }
    }

    fn holds(&self, producer_id: i64) -> bool {
        match self {
            Holders::One(one) => *one == producer_id,
            Holders::More(all) => all.contains(&producer_id),
        }
    }

    fn all(&self) -> Vec<i64> {
        match self {
            Holders::One(one) => vec![*one],
            Holders::More(all) => all.iter().copied().collect(),
        }
    }
}

/// What a partition held, by key.
#[derive(Debug, Default)]
pub struct State {
    /// Where the values lie.
    pub values: Values,
    /// Committed offsets.
    pub offsets: Offsets,
    /// Everything else.
    pub others: Others,
    /// Transactions that have not ended, by producer id.
    pub open: HashMap<i64, OpenTransaction, FixedState>,
    /// Who holds pending commits of a key, so that a tombstone finds them without asking every producer.
    holders: HashMap<OffsetKey, Holders, FixedState>,
    /// What damage may have cost.
    pub doubts: Doubts,
    /// What a broker counts while it loads the partition.
    pub load: LoadCount,
    /// The first offset that was met.
    pub first_offset: Option<i64>,
    /// The offset behind the last record applied.
    pub end_offset: i64,
}

/// What a broker reports when it has loaded a partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadCount {
    /// Records, those of control batches included.
    pub records: u64,
    /// Bytes of the batches.
    pub bytes: u64,
}

/// Which records are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First offset; what lies before it was deleted.
    pub from: i64,
    /// Last offset.
    pub last: i64,
}

impl Extent {
    /// All of the log.
    pub const ALL: Extent = Extent { from: i64::MIN, last: i64::MAX };
}

/// Whether a second thread helps with one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Helper {
    /// None does.
    None,
    /// One checks CRCs ahead.
    ChecksCrcs,
}

/// Replays a partition, segment by segment.
pub struct Replay<'f> {
    state: State,
    rules: Rules,
    extent: Extent,
    /// Whether a group is asked for; the others are left out.
    wanted: &'f dyn Fn(&[u8]) -> bool,
    /// The number of the present segment.
    segment: u32,
    /// What the present batch is, if it is damaged: its CRC is wrong.
    damaged: Option<&'static str>,
    /// The producer whose records are applied: -1 for plain ones.
    producer_id: i64,
}

impl<'f> Replay<'f> {
    /// Nothing yet.
    pub fn new(rules: Rules, extent: Extent, wanted: &'f dyn Fn(&[u8]) -> bool) -> Self {
        Replay { state: State::default(), rules, extent, wanted, segment: 0, damaged: None, producer_id: -1 }
    }

    /// Replays a segment, and keeps it. Ends with [`Step::Stop`] behind the last offset of the extent.
    pub fn segment(
        &mut self,
        segment: Segment,
        inflater: &mut Inflater,
        helper: Helper,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<Step> {
        self.segment_beside(segment, inflater, helper, progress, &mut Nobody)
    }

    /// As [`Self::segment`]; what lies in the extent is shown to another visitor, too, whatever group it concerns.
    pub fn segment_beside<V: Visitor>(
        &mut self,
        segment: Segment,
        inflater: &mut Inflater,
        helper: Helper,
        progress: &mut dyn FnMut(u64),
        beside: &mut V,
    ) -> io::Result<Step> {
        self.segment = self.state.values.next_segment();
        let max_inflated = inflater.limit();
        beside.segment(&segment)?;
        let mut watched = Watched { replay: self, progress, max_inflated, beside };
        let step = match helper {
            Helper::None => walk_segment(&segment, segment.spans(), inflater, &mut CheckNow, &mut watched)?,
            Helper::ChecksCrcs => {
                let checked = Checked::default();
                std::thread::scope(|scope| {
                    scope.spawn(|| checked.run(&segment));
                    let mut ask = AskAhead::new(&checked);
                    let step = walk_segment(&segment, segment.spans(), inflater, &mut ask, &mut watched);
                    checked.end();
                    step
                })?
            }
        };
        if segment.was_cut() {
            self.state.doubts.hole(&FaultKind::FileCut, self.state.end_offset);
        }
        self.state.values.add_segment(segment);
        Ok(step)
    }

    /// What came of it.
    pub fn finish(mut self) -> State {
        self.doubt_what_waits();
        let State { values, offsets, others, open, .. } = &mut self.state;
        let pending = open.values_mut().flat_map(|open| open.commits.values_mut());
        values.gather(offsets.slots_mut().chain(others.slots_mut()).chain(pending));
        self.state
    }

    #[inline]
    fn data(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) {
        let Some(bytes) = record.key else {
            return self.state.doubts.bad_key(record.offset, None, &FaultKind::NullKey);
        };
        // Almost all can be told without making a key of them.
        if let Some((record_type, group)) = Key::type_of_whole(bytes).zip(group_in(bytes)) {
            return self.keyed(segment, batch, record, &Named { record_type, group, bytes });
        }
        match Key::decode(bytes) {
            Ok(key) => {
                // A coordinator knows keys by their fields: what may follow them makes no other key.
                let bytes = bytes.get(..bytes.len() - key.trailing.len()).unwrap_or(bytes);
                self.keyed(segment, batch, record, &Named { record_type: key.record_type, group: key.group(), bytes });
            }
            Err(bad) => self.state.doubts.bad_key(record.offset, bad.number, &bad.fault.kind),
        }
    }

    #[inline]
    fn keyed(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>, key: &Named<'_>) {
        if !(self.wanted)(key.group) || key.record_type.number() > self.rules.known_types.greatest {
            return;
        }
        if let Some(why) = self.damaged {
            return self.state.doubts.lost(key.group, record.offset, why);
        }
        let Some(value) = record.value else {
            if key.is_offset() {
                self.forget_offset(key.bytes);
            } else if let Some(before) = self.state.others.remove(key.bytes) {
                self.state.values.release(before.place);
            }
            return;
        };
        // Checked now, so that an unreadable value does not hide the one before it.
        if !key.record_type.is_whole_value(value)
            && let Err(fault) = key.record_type.check_value(value)
        {
            return self.state.doubts.bad_value(key.group, record.offset, &fault.kind);
        }
        let slot = Slot { log_offset: record.offset, place: self.place(segment, value) };
        if key.is_offset() {
            self.commit(batch, key.bytes, slot);
        } else if let Some(before) = self.state.others.put(key.bytes, slot) {
            self.state.values.release(before.place);
        }
    }

    #[inline]
    fn place(&mut self, segment: &Segment, value: &[u8]) -> Place {
        let bytes = segment.bytes();
        let position = (value.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
        if position < bytes.len() {
            Place::InSegment { segment: self.segment, position: position as u64, len: value.len() as u32 }
        } else {
            self.state.values.keep(value)
        }
    }

    #[inline]
    fn commit(&mut self, batch: &Batch<'_>, key: &[u8], slot: Slot) {
        let Some((prefix, partition)) = offset_key_parts(key) else { return };
        let key = OffsetKey { prefix: self.state.offsets.prefix(prefix), partition };
        if self.producer_id == -1 {
            if let Some(before) = self.state.offsets.put(key, slot) {
                self.state.values.release(before.place);
            }
        } else {
            self.pend(batch, key, slot);
        }
    }

    fn pend(&mut self, batch: &Batch<'_>, key: OffsetKey, slot: Slot) {
        let header = batch.header();
        let open = self
            .state
            .open
            .entry(self.producer_id)
            .or_insert_with(|| OpenTransaction { first_offset: header.base_offset, ..OpenTransaction::default() });
        open.producer_epoch = header.producer_epoch;
        let marker_lost = open.marker_lost;
        if let Some(before) = open.commits.insert(key, slot) {
            // What it said may have been committed by the marker that was lost.
            if let Some(lost) = marker_lost.filter(|lost| before.log_offset < *lost) {
                self.in_doubt_since(lost, key);
            }
            return self.state.values.release(before.place);
        }
        self.state.offsets.hold(key.prefix);
        match self.state.holders.entry(key) {
            Entry::Occupied(mut holders) => holders.get_mut().add(self.producer_id),
            Entry::Vacant(room) => drop(room.insert(Holders::One(self.producer_id))),
        }
    }

    fn forget_offset(&mut self, key: &[u8]) {
        let Some((prefix, partition)) = offset_key_parts(key) else { return };
        let Some(prefix) = self.state.offsets.find(prefix) else { return };
        let key = OffsetKey { prefix, partition };
        let old = self.rules.pending_under_tombstone == PendingUnderTombstone::OwnProducerOnly;
        // Taken first: removing the last slot would forget the prefix, which the pending ones still name.
        if self.state.offsets.is_held(prefix)
            && let Some(holders) = self.state.holders.get(&key)
        {
            let producers = match (old, self.producer_id) {
                (false, _) => holders.all(),
                (true, own) if own != -1 && holders.holds(own) => vec![own],
                (true, _) => Vec::new(),
            };
            producers.into_iter().for_each(|producer| self.forget_pending(producer, key));
        }
        if old && self.producer_id != -1 {
            return;
        }
        if let Some(before) = self.state.offsets.remove(key) {
            self.state.values.release(before.place);
        }
    }

    fn forget_pending(&mut self, producer_id: i64, key: OffsetKey) {
        let Some(open) = self.state.open.get_mut(&producer_id) else { return };
        if let Some(before) = open.commits.remove(&key) {
            self.state.values.release(before.place);
            self.let_go(producer_id, key);
        }
    }

    /// Says that a producer no longer holds a pending commit of a key.
    fn let_go(&mut self, producer_id: i64, key: OffsetKey) {
        if let Entry::Occupied(mut holders) = self.state.holders.entry(key)
            && holders.get_mut().remove(producer_id)
        {
            holders.remove();
        }
        self.state.offsets.let_go(key.prefix);
    }

    fn end_transaction(&mut self, end: End) {
        let Some(open) = self.state.open.remove(&self.producer_id) else { return };
        for (key, slot) in open.commits {
            if let Some(lost) = open.marker_lost.filter(|lost| slot.log_offset < *lost) {
                self.in_doubt_since(lost, key);
            }
            let later = self.state.offsets.get(key).is_some_and(|stored| stored.log_offset >= slot.log_offset);
            if end == End::Commit && !later {
                if let Some(before) = self.state.offsets.put(key, slot) {
                    self.state.values.release(before.place);
                }
            } else {
                self.state.values.release(slot.place);
            }
            self.let_go(self.producer_id, key);
        }
    }

    /// A marker that is not replayed: how its transaction ended is not known.
    fn marker_lost(&mut self, offset: i64) {
        match self.state.open.get_mut(&self.producer_id) {
            Some(open) => open.marker_lost = Some(offset),
            // It ended nothing that was met, or its producer id is what is damaged.
            None => self.state.doubts.hole(&FaultKind::BadControlRecord, offset),
        }
    }

    fn in_doubt_since(&mut self, marker_lost: i64, key: OffsetKey) {
        if let Some((group, _)) = self.state.offsets.names(key.prefix) {
            self.state.doubts.ends_lost.insert(group.to_vec(), marker_lost);
            self.state.doubts.lost(group, marker_lost, MARKER_LOST);
        }
    }

    /// Groups whose commits wait for a marker that was lost are in doubt.
    fn doubt_what_waits(&mut self) {
        let mut lost = Vec::new();
        for open in self.state.open.values() {
            let Some(at) = open.marker_lost else { continue };
            lost.extend(open.commits.iter().filter(|(_, slot)| slot.log_offset < at).map(|(key, _)| (at, *key)));
        }
        lost.into_iter().for_each(|(at, key)| self.in_doubt_since(at, key));
    }
}

/// A key, as far as replay has to know it.
struct Named<'k> {
    record_type: RecordType,
    group: &'k [u8],
    /// Without what may follow its fields.
    bytes: &'k [u8],
}

impl Named<'_> {
    /// Whether it is that of a committed offset: types 0 and 1 share them.
    #[inline(always)]
    fn is_offset(&self) -> bool {
        matches!(self.bytes, [0, 0 | 1, ..])
    }
}

/// The group in a key that can be read: it stands behind the type, in keys of every type.
#[inline(always)]
fn group_in(key: &[u8]) -> Option<&[u8]> {
    let (length, rest) = key.get(2..)?.split_first_chunk()?;
    rest.get(..usize::from(u16::from_be_bytes(*length)))
}

/// Why a group is in doubt whose transaction ended with a marker that is not replayed.
const MARKER_LOST: &str = "the end of its transaction, in a batch whose CRC is wrong,";

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Abort,
}

/// Shows the walk to the replay, and tells how far it is.
struct Watched<'w, 'f, 'p, V> {
    replay: &'w mut Replay<'f>,
    progress: &'p mut dyn FnMut(u64),
    max_inflated: usize,
    /// Is shown the same.
    beside: &'p mut V,
}

impl<V> Watched<'_, '_, '_, V> {
    /// A batch of which only the length or the magic is damaged is not replayed either, but what it holds is known.
    fn whole_batch(&mut self, segment: &Segment, mended: &Batch<'_>) {
        let mut inflater = Inflater::with_limit(self.max_inflated);
        let replay = &mut *self.replay;
        let header = mended.header();
        replay.producer_id = header.producer_id;
        replay.damaged = Some("a batch whose length or magic is damaged");
        let mut records = mended.records(&mut inflater);
        for record in records.by_ref() {
            match record {
                Ok(record) if record.offset < replay.extent.from || record.offset > replay.extent.last => {}
                Ok(record) if header.control => replay.marker_lost(record.offset),
                Ok(record) => replay.data(segment, mended, &record),
                Err(bad) => replay.state.doubts.hole(&bad.fault.kind, header.last_offset),
            }
        }
        if let Some(fault) = records.fault() {
            replay.state.doubts.hole(&fault.kind, header.last_offset);
        }
        replay.state.doubts.damaged_batches += 1;
    }
}

impl<V: Visitor> Visitor for Watched<'_, '_, '_, V> {
    fn segment(&mut self, _: &Segment) -> io::Result<Step> {
        Ok(Step::On)
    }

    fn hole(&mut self, segment: &Segment, hole: &Hole) -> io::Result<Step> {
        self.beside.hole(segment, hole)?;
        if let Some(mended) = hole.mended(segment.bytes())
            && let Some(batch) = Batch::new(&mended, hole.position)
        {
            self.whole_batch(segment, &batch);
            return Ok(Step::On);
        }
        let state = &mut self.replay.state;
        state.doubts.hole(&hole.fault, state.end_offset);
        Ok(Step::On)
    }

    #[inline]
    fn batch(&mut self, segment: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        let header = batch.header();
        let replay = &mut *self.replay;
        if header.magic >= 2 && header.base_offset > replay.extent.last {
            return Ok(Step::Stop);
        }
        if header.last_offset < replay.extent.from {
            return Ok(Step::Over);
        }
        (self.progress)(batch.position());
        replay.damaged = crc.map(|_| "a batch whose CRC is wrong");
        replay.producer_id = header.producer_id;
        replay.state.load.bytes += batch.len();
        let last = header.last_offset.min(replay.extent.last);
        replay.state.end_offset = replay.state.end_offset.max(last.saturating_add(1));
        self.beside.batch(segment, batch, crc)?;
        Ok(Step::On)
    }

    #[inline]
    fn record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        let replay = &mut *self.replay;
        if record.offset > replay.extent.last {
            return Ok(Step::Stop);
        }
        if record.offset < replay.extent.from {
            return Ok(Step::On);
        }
        replay.state.load.records += 1;
        replay.state.first_offset.get_or_insert(record.offset);
        if !batch.header().control {
            replay.data(segment, batch, record);
        } else if replay.damaged.is_some() {
            replay.marker_lost(record.offset);
        } else {
            match Control::parse(record) {
                Ok(Control::Commit(_)) => replay.end_transaction(End::Commit),
                Ok(Control::Abort(_)) => replay.end_transaction(End::Abort),
                Ok(_) => {}
                Err(fault) => replay.state.doubts.bad_key(record.offset, None, &fault.kind),
            }
        }
        self.beside.record(segment, batch, record)?;
        Ok(Step::On)
    }

    fn bad_record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step> {
        let replay = &mut *self.replay;
        let at = record.offset.unwrap_or(replay.state.end_offset);
        match record.key.map(Key::decode) {
            Some(Ok(key)) => replay.state.doubts.lost(key.group(), at, "a record that does not parse"),
            _ => replay.state.doubts.hole(&record.fault.kind, at),
        }
        self.beside.bad_record(segment, batch, record)?;
        Ok(Step::On)
    }

    fn batch_end(&mut self, segment: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step> {
        // Of this one all records were read.
        if let Some(fault) = body.filter(|fault| fault.kind != FaultKind::Lz4HeaderChecksum) {
            self.replay.state.doubts.hole(&fault.kind, batch.header().last_offset);
        } else if self.replay.damaged.is_some() {
            self.replay.state.doubts.damaged_batches += 1;
        }
        self.beside.batch_end(segment, batch, body)?;
        Ok(Step::On)
    }
}
