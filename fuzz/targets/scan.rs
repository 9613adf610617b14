//! Bytes as a segment file: spans, batches, records, and the lines that `dump` writes.
//!
//! Must not know: what is made of the records.

use super::{MAX_INFLATED, assert_json};
use grouplog::cli::render::dump::{Render, Shown, Site};
use grouplog::cli::render::jsonl::{Framing, JsonRecords, RawBytes};
use grouplog::log::{Batch, Control, Inflater, Span, Spans};
use grouplog::model::event::Subject;

/// Is shown a record's key and value.
pub type Each<'e> = &'e mut dyn for<'r> FnMut(Option<&'r [u8]>, Option<&'r [u8]>);

/// What was met, for statistics.
#[derive(Debug, Default, Clone, Copy)]
pub struct Met {
    pub sound_batches: u64,
    pub records: u64,
    pub bad_records: u64,
    pub holes: u64,
}

impl std::ops::AddAssign for Met {
    fn add_assign(&mut self, more: Met) {
        self.sound_batches += more.sound_batches;
        self.records += more.records;
        self.bad_records += more.bad_records;
        self.holes += more.holes;
    }
}

/// Scans them, and shows each record's key and value to `each`.
pub fn run(bytes: &[u8], base: Option<i64>, each: Each<'_>) -> Met {
    let mut met = Met::default();
    let mut inflater = Inflater::with_limit(MAX_INFLATED);
    let mut render = JsonRecords::new(Framing::Lines, RawBytes::Shown);
    let site = Site { partition: Some(0), segment: "0.log".into(), path: "0.log".into(), length: bytes.len() as u64 };
    render.segment(&site);
    let mut at = 0;
    for span in Spans::over(bytes, 0, base) {
        let (position, length) = match &span {
            Span::Batch(batch) => (batch.position(), batch.len()),
            Span::Hole(hole) => (hole.position, hole.length),
        };
        assert!(position == at && length > 0, "untiled: {span:?} behind {at}");
        at += length;
        match &span {
            Span::Hole(hole) => {
                met.holes += 1;
                render.hole(&site, hole);
                let mended = hole.mended(bytes);
                assert_eq!(mended.is_some(), hole.is_whole_batch, "{hole:?}");
                if let Some(mended) = mended {
                    assert_eq!(mended.len() as u64, hole.length);
                    assert!(Batch::new(&mended, position).is_some_and(|batch| batch.check_crc().is_ok()));
                }
            }
            Span::Batch(batch) => show(batch, &mut inflater, &mut render, &site, &mut met, each),
        }
    }
    assert_eq!(at, bytes.len() as u64, "untiled: the spans end early");
    render.end();
    for line in render.buffer().bytes().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert_json(line);
    }
    met
}

fn show(
    batch: &Batch<'_>,
    inflater: &mut Inflater,
    render: &mut JsonRecords,
    site: &Site,
    met: &mut Met,
    each: Each<'_>,
) {
    let header = batch.header();
    let crc = batch.check_crc().err();
    met.sound_batches += u64::from(crc.is_none());
    let _ = (batch.first_offset(inflater), header.last_sequence());
    render.batch(site, batch, crc.as_ref());
    let crc = crc.map(|kind| kind.at(batch.position()));
    let mut records = batch.records(inflater);
    let mut bytes = 0;
    for item in records.by_ref() {
        match item {
            Ok(record) => {
                met.records += 1;
                bytes += record.size();
                let _ = (record.legacy_crc_valid(), record.headers.iter().count());
                let subject = Subject::of(batch, &record);
                if header.control {
                    let _ = Control::parse(&record).map(|control| (control.name(), control.number()));
                }
                let at_sight = if crc.is_none() { render.record_at_sight(batch, &record) } else { None };
                if at_sight.is_none() {
                    render.record(site, &Shown { batch, record: &record, subject: &subject, crc: crc.as_ref() });
                }
                each(record.key, record.value);
            }
            Err(bad) => {
                met.bad_records += 1;
                bytes += bad.raw.len();
                render.bad_record(site, batch, &bad);
                if bad.key.is_some() {
                    each(bad.key, bad.value);
                }
            }
        }
    }
    assert!(bytes <= records.body_length(), "records of {bytes} bytes in a body of {}", records.body_length());
    assert!(records.body_length() as u64 <= batch.len().max(MAX_INFLATED as u64));
    if let Some(fault) = crc.as_ref().or(records.fault()) {
        render.batch_fault(site, batch, fault);
    }
}
