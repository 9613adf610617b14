//! What a record must be like: its key and its value are checked to the last field, and nothing is made of them.
//!
//! Must not know: what groups are.

use crate::audit::{Code, Finding};
use crate::bytes::is_ascii;
use crate::fault::{Fault, FaultKind};
use crate::log::plain::{Look, PlainRecord};
use crate::log::{Batch, Control, Header, Record, TimestampType};
use crate::schema::{Key, RecordType};

/// Whether a batch holds nothing but sound records, in the order and up to the time that its head says. Where it does not,
/// or is compressed, old or a marker, the long way says what is wrong, if anything is.
#[inline(always)]
pub(super) fn all_sound(batch: &Batch<'_>, header: &Header) -> bool {
    let mut all = All { met: -1, latest: i64::MIN };
    let sound = batch.all_plain(&mut all);
    let All { met, latest } = all;
    sound
        && !header.control
        && i64::from(met) <= header.last_offset.wrapping_sub(header.base_offset)
        && (header.count == 0
            || header.timestamp_type == TimestampType::LogAppendTime
            || header.base_timestamp.wrapping_add(latest) == header.max_timestamp)
}

/// What the records of a batch come to.
struct All {
    /// The greatest offset delta.
    met: i32,
    /// The greatest timestamp delta.
    latest: i64,
}

impl<'s> Look<'s> for All {
    #[inline(always)]
    fn look(&mut self, record: PlainRecord<'s>) -> bool {
        let follows = record.offset_delta > self.met;
        self.met = record.offset_delta;
        self.latest = self.latest.max(record.timestamp_delta);
        follows && is_sound(record.key, record.value)
    }
}

/// Whether nothing is wrong with a data record. If something is, [`diagnose`] says what.
#[inline(always)]
pub(super) fn is_sound(key: Option<&[u8]>, value: Option<&[u8]>) -> bool {
    let Some(key) = key else { return false };
    let Some(record_type) = Key::type_of_whole(key) else { return false };
    let is_whole = match value {
        Some(value) => record_type.is_whole_value(value),
        None => true,
    };
    is_whole && is_utf8(record_type, key)
}

/// The number of a partition at the end of a commit's key is no text.
#[inline(always)]
fn is_utf8(record_type: RecordType, key: &[u8]) -> bool {
    let texts = match record_type {
        RecordType::OffsetCommit | RecordType::LegacyOffsetCommit => {
            key.split_last_chunk::<4>().map(|(texts, _)| texts)
        }
        _ => None,
    };
    is_ascii(texts.unwrap_or(key)) || Key::decode(key).is_ok_and(|key| key.is_utf8())
}

/// What is wrong with a record of a control batch, if anything.
#[inline]
pub(super) fn check_control(record: &Record<'_>, producer_id: i64) -> Option<Box<Finding>> {
    match Control::parse(record) {
        Ok(Control::Commit(_) | Control::Abort(_)) => None,
        Ok(control) if producer_id == -1 || control.name() != "UNKNOWN" => None,
        Ok(control) => {
            let message = format!("a control record of type {}, of a producer", control.number());
            Some(at(record, Finding::new(Code::BadControlRecord, message)))
        }
        Err(fault) => Some(at(record, of_fault(Code::BadControlRecord, "key", &fault))),
    }
}

/// Reads a record again, slowly, to say what is wrong with it.
#[cold]
#[inline(never)]
pub(super) fn diagnose(record: &Record<'_>) -> Box<Finding> {
    let Some(bytes) = record.key else {
        return at(record, of_fault(Code::NullKey, "key", &FaultKind::NullKey.at(0)));
    };
    let key = match Key::decode(bytes) {
        Ok(key) => key,
        Err(bad) => {
            let code = match bad.fault.kind {
                FaultKind::UnknownType(_) => Code::UnknownType,
                _ => Code::BadKey,
            };
            return at(record, of_fault(code, "key", &bad.fault).fact("type", bad.number.map(i32::from)));
        }
    };
    let fault = |code, piece, fault: &Fault| of_record(record, &key, of_fault(code, piece, fault));
    if !key.trailing.is_empty() {
        let at = bytes.len() - key.trailing.len();
        return fault(Code::TrailingBytes, "key", &FaultKind::TrailingBytes(key.trailing.len() as u64).at(at as u64));
    }
    if let Some(value) = record.value {
        match key.record_type.check_value(value) {
            Ok(0) => {}
            Ok(left) => {
                let kind = FaultKind::TrailingBytes(left as u64);
                return fault(Code::TrailingBytes, "value", &kind.at((value.len() - left) as u64));
            }
            Err(bad) => {
                let code = match bad.kind {
                    FaultKind::UnknownVersion(_) => Code::UnknownVersion,
                    _ => Code::BadValue,
                };
                return fault(code, "value", &bad);
            }
        }
    }
    fault(Code::NotUtf8, "key", &FaultKind::NotUtf8.at(0))
}

fn of_fault(code: Code, piece: &'static str, fault: &Fault) -> Finding {
    let message = match fault.kind {
        FaultKind::NullKey => "a record without a key".to_owned(),
        _ => format!("{piece}: {fault}"),
    };
    Finding::new(code, message).fact("in", piece).fact("at", fault.at).fact("fault", fault.kind.code())
}

fn at(record: &Record<'_>, finding: Finding) -> Box<Finding> {
    Box::new(finding.offset(record.offset).fact("timestamp", record.timestamp))
}

fn of_record(record: &Record<'_>, key: &Key<'_>, finding: Finding) -> Box<Finding> {
    let record_type: RecordType = key.record_type;
    let finding = finding.group(key.group()).fact("type", i64::from(record_type.number()));
    at(record, finding.fact("name", record_type.name()))
}
