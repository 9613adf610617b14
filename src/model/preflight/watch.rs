//! The walk: reads each record once for every set of rules asked for, and keeps what is refused.
//!
//! Must not know: the rules.

use super::coordinator::{Rules, UnknownTypes};
use super::groups::{Change, Slot, apply};
use super::read::{Body, number, read_new, read_old};
use super::{At, Consequence, Coordinator, MAX_REFUSALS, Reason, Refusal, Skipped, Unchecked, Verdict};
use crate::fault::{Fault, FaultKind};
use crate::log::segment::MOST_BYTES;
use crate::log::{BadRecord, Batch, Hole, Record, Segment};
use crate::model::walk::{Step, Visitor};
use crate::schema::{Key, RecordType};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

/// What one set of rules has found.
struct Judge {
    rules: Rules,
    refusals: Vec<Refusal>,
    refused: u64,
    skipped: BTreeMap<i16, Skipped>,
}

/// All of them, over one log.
pub(super) struct Watch {
    judges: Vec<Judge>,
    /// By group id as a broker reads it, the group of each judge.
    groups: HashMap<Box<[u8]>, Box<[Slot]>, FixedState>,
    log_start: i64,
    unchecked: Unchecked,
    ends_at: Option<String>,
    segment: String,
}

/// Where the present record is.
#[derive(Clone, Copy)]
struct Here<'w> {
    segment: &'w str,
    position: u64,
    offset: i64,
}

impl Here<'_> {
    fn at(self) -> At {
        At { segment: self.segment.to_owned(), position: self.position, offset: self.offset }
    }
}

impl Judge {
    #[cold]
    fn refuse(&mut self, here: Here<'_>, key: Option<&Key<'_>>, record_type: Option<i16>, reason: Reason) {
        self.refused += 1;
        if self.refusals.len() < MAX_REFUSALS {
            self.refusals.push(Refusal {
                at: here.at(),
                record_type,
                group: key.map(|key| key.group().to_vec()),
                member: key.and_then(Key::member).map(<[u8]>::to_vec),
                reason,
            });
        }
    }

    #[cold]
    fn skip(&mut self, here: Here<'_>, record_type: i16) {
        let first = || Skipped { record_type, count: 0, first: here.at() };
        self.skipped.entry(record_type).or_insert_with(first).count += 1;
    }

    /// Whether it reads a type at all; else it passes over the record, or refuses it.
    fn reads(&mut self, here: Here<'_>, record_type: i16) -> bool {
        match self.rules {
            Rules::Old(_) if (0..=2).contains(&record_type) => return true,
            Rules::Old(old) if old.unknown_types == UnknownTypes::Refused => {
                self.refuse(here, None, Some(record_type), Reason::UnknownType(record_type));
            }
            Rules::New(line) if line.knows(record_type) => return true,
            _ => self.skip(here, record_type),
        }
        false
    }
}

/// Of a group or member id, what a broker reads.
fn as_read(id: &[u8]) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(id) {
        Cow::Borrowed(_) => Cow::Borrowed(id),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

impl Watch {
    /// Nothing yet.
    pub fn new(coordinators: &[Coordinator], log_start: Option<i64>) -> Self {
        let mut judges: Vec<Judge> = Vec::new();
        for coordinator in coordinators {
            let rules = coordinator.rules();
            if judges.iter().all(|judge| judge.rules != rules) {
                judges.push(Judge { rules, refusals: Vec::new(), refused: 0, skipped: BTreeMap::new() });
            }
        }
        Watch {
            judges,
            groups: HashMap::default(),
            log_start: log_start.unwrap_or(i64::MIN),
            unchecked: Unchecked::default(),
            ends_at: None,
            segment: String::new(),
        }
    }

    /// A segment begins.
    pub fn begin(&mut self, segment: &Segment) {
        segment.name().clone_into(&mut self.segment);
        if segment.len() > MOST_BYTES {
            self.ends_at.get_or_insert_with(|| segment.name().to_owned());
        }
    }

    /// What came of it.
    pub fn verdicts(self, coordinators: &[Coordinator]) -> Vec<Verdict> {
        let verdict = |&coordinator: &Coordinator| {
            let rules = coordinator.rules();
            let judge = self.judges.iter().find(|judge| judge.rules == rules)?;
            Some(Verdict {
                coordinator,
                refusals: judge.refusals.clone(),
                refused: judge.refused,
                skipped: judge.skipped.values().cloned().collect(),
                unchecked: self.unchecked,
                ends_at: self.ends_at.clone(),
                consequence: match rules {
                    Rules::Old(_) => Consequence::ServedAsEmpty,
                    Rules::New(line) if line.hides_its_failure() => Consequence::UnavailableWithoutError,
                    Rules::New(_) => Consequence::Unavailable,
                },
            })
        };
        coordinators.iter().filter_map(verdict).collect()
    }

    /// A data record, or one of a control batch.
    pub fn record(&mut self, batch: &Batch<'_>, record: &Record<'_>) {
        if batch.header().control {
            self.control(batch.position(), record);
        } else {
            self.data(batch.position(), record);
        }
    }

    /// A record that does not parse.
    pub fn bad_record(&mut self, batch: &Batch<'_>, record: &BadRecord<'_>) {
        if record.fault.kind.is_limit() {
            return; // Told at the end of the batch.
        }
        let offset = record.offset.unwrap_or(batch.header().base_offset);
        self.refuse_all(batch.position(), offset, None, &Reason::BadRecord(record.fault.clone()));
    }

    /// All records of a batch were shown; what is wrong with its body as a whole.
    pub fn batch_end(&mut self, batch: &Batch<'_>, body: Option<&Fault>) {
        match body {
            None => {}
            Some(fault) if fault.kind.is_limit() => self.unchecked.too_large += 1,
            // A batch that says that it is empty is read as empty.
            Some(_) if batch.header().magic == 2 && batch.header().count == 0 => {}
            Some(fault) => {
                let reason = Reason::BadRecord(fault.clone());
                self.refuse_all(batch.position(), batch.header().base_offset, None, &reason);
            }
        }
    }

    fn refuse_all(&mut self, position: u64, offset: i64, record_type: Option<i16>, reason: &Reason) {
        let here = Here { segment: &self.segment, position, offset };
        self.judges.iter_mut().for_each(|judge| judge.refuse(here, None, record_type, reason.clone()));
    }

    fn data(&mut self, position: u64, record: &Record<'_>) {
        let offset = record.offset;
        let Some(bytes) = record.key else { return self.refuse_all(position, offset, None, &Reason::NullKey) };
        let Some((type_number, _)) = number(bytes) else {
            return self.refuse_all(position, offset, None, &Reason::KeyTooShort);
        };
        let key = match Key::decode(bytes) {
            Ok(key) => key,
            Err(bad) => return self.bad_key(position, offset, type_number, &bad.fault),
        };
        let group = as_read(key.group());
        let member = key.member().map(as_read);
        let here = Here { segment: &self.segment, position, offset };
        let sound = is_plain_commit(&key, record.value);
        let slots = match self.groups.get_mut(&*group) {
            Some(slots) => slots,
            None => self
                .groups
                .entry((*group).into())
                .or_insert_with(|| std::iter::repeat_with(Slot::default).take(self.judges.len()).collect()),
        };
        for (judge, slot) in self.judges.iter_mut().zip(slots.iter_mut()) {
            if sound && matches!(judge.rules, Rules::New(_)) {
                if matches!(slot, Slot::Absent) {
                    *slot = Slot::Simple;
                }
                continue;
            }
            if judge.reads(here, type_number) {
                judge_record(judge, slot, here, &key, member.as_deref(), record.value);
            }
        }
        if slots.iter().all(|slot| matches!(slot, Slot::Absent)) {
            self.groups.remove(&*group);
        }
    }

    #[cold]
    fn bad_key(&mut self, position: u64, offset: i64, record_type: i16, fault: &Fault) {
        let here = Here { segment: &self.segment, position, offset };
        for judge in &mut self.judges {
            if judge.reads(here, record_type) {
                judge.refuse(here, None, Some(record_type), Reason::Key(fault.clone()));
            }
        }
    }

    /// Loaders ask for the key of every control record (the Scala ones of the first of a batch).
    fn control(&mut self, position: u64, record: &Record<'_>) {
        let sound = |key: &[u8]| key.len() >= 4 && number(key).is_some_and(|(version, _)| version >= 0);
        if !record.key.is_some_and(sound) {
            self.refuse_all(position, record.offset, None, &Reason::ControlKey);
        }
    }
}

/// A committed offset in the versions that every new coordinator reads alike: by far the most records.
fn is_plain_commit(key: &Key<'_>, value: Option<&[u8]>) -> bool {
    key.record_type == RecordType::OffsetCommit
        && value.is_some_and(|value| matches!(value, [0, 0..=3, ..]) && key.record_type.check_value(value).is_ok())
}

fn judge_record(
    judge: &mut Judge,
    slot: &mut Slot,
    here: Here<'_>,
    key: &Key<'_>,
    member: Option<&[u8]>,
    value: Option<&[u8]>,
) {
    let type_number = key.record_type.number();
    let body = match (value, judge.rules) {
        (None, _) => Ok(Body::Tombstone),
        (Some(value), Rules::Old(rules)) => read_old(rules, key.record_type, value),
        (Some(value), Rules::New(line)) => read_new(line, key.record_type, value),
    };
    let body = match body {
        Ok(body) => body,
        Err(reason) => return judge.refuse(here, Some(key), Some(type_number), reason),
    };
    let Rules::New(line) = judge.rules else { return };
    let change = Change { record_type: key.record_type, member: member.unwrap_or_default(), body: &body };
    apply(line, slot, change, &mut |reason| judge.refuse(here, Some(key), Some(type_number), reason));
}

/// Shows the walk to the watch, and tells how far it is.
pub(super) struct Told<'t, 'p> {
    pub watch: &'t mut Watch,
    pub progress: &'p mut dyn FnMut(u64),
}

impl Visitor for Told<'_, '_> {
    fn segment(&mut self, _: &Segment) -> io::Result<Step> {
        Ok(Step::On)
    }

    fn hole(&mut self, _: &Segment, hole: &Hole) -> io::Result<Step> {
        self.watch.unchecked.holes += u64::from(hole.fault.is_damage());
        Ok(Step::On)
    }

    /// A broker begins with the batch that holds the log start, all of it.
    fn batch(&mut self, _: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        if batch.header().last_offset < self.watch.log_start {
            return Ok(Step::Over);
        }
        (self.progress)(batch.position());
        self.watch.unchecked.wrong_crc += u64::from(crc.is_some());
        Ok(Step::On)
    }

    fn record(&mut self, _: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        self.watch.record(batch, record);
        Ok(Step::On)
    }

    fn bad_record(&mut self, _: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step> {
        self.watch.bad_record(batch, record);
        Ok(Step::On)
    }

    fn batch_end(&mut self, _: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step> {
        self.watch.batch_end(batch, body);
        Ok(Step::On)
    }
}
