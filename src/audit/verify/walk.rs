//! The walk over a partition: looks at what the loop shows, and notes what is odd with its place.
//!
//! Must not know: how a head or a record is judged.

use super::batches::{Met, Order, Row};
use super::lost::Lost;
use super::{Counts, Depth, Verified, Verifying};
use super::{records, swaps};
use crate::audit::side::SideFacts;
use crate::audit::{Code, Finding, List, Severity};
use crate::fault::{Fault, FaultKind};
use crate::log::dir::{OtherFile, PartitionDir};
use crate::log::mend::Change;
use crate::log::segment::{MOST_BYTES, base_offset_of_name};
use crate::log::{BadRecord, Batch, Codec, Header, Hole, Record, Segment, TimestampType};
use crate::model::walk::{Step, Visitor};
use crate::words::counted;
use std::io;
use std::path::{Path, PathBuf};

/// A segment's offsets reach this far above its base: indexes keep them in 31 bits.
const FARTHEST: i64 = i32::MAX as i64;

/// Of a segment, so many batches outside of its range are told one by one.
const MOST_OUTSIDE: u64 = 3;

/// Progress is told of so many bytes at a time.
const PROGRESS_STEP: u64 = 1 << 20;

pub(super) struct Walk<'w, 'd> {
    depth: Depth,
    dir: Option<&'d PartitionDir>,
    list: List<'static>,
    counts: Counts,
    lost: Lost,
    /// What the files beside the segments must agree with; none if they are not looked at.
    side: Option<SideFacts<'d>>,
    progress: &'w mut dyn FnMut(u64),
    /// The byte of the segment at which it is told next.
    next_progress: u64,
    /// Of the segment at hand.
    range: Range,
    /// Its batches with offsets outside of that.
    outside: u64,
    row: Row,
    /// Of the batch at hand.
    inside: Inside,
}

/// The offsets that a segment may hold.
#[derive(Debug, Clone, Copy)]
struct Range {
    from: i64,
    to: i64,
    is_last: bool,
}

/// The batch at hand, as far as its records must agree with it.
#[derive(Debug, Clone, Copy)]
struct Inside {
    control: bool,
    producer_id: i64,
    last_offset: i64,
    /// The greatest offset met so far.
    met: i64,
    /// The greatest time met so far.
    latest: i64,
}

impl<'w, 'd> Walk<'w, 'd> {
    pub(super) fn new(how: &Verifying<'d>, progress: &'w mut dyn FnMut(u64)) -> Self {
        Walk {
            depth: how.depth,
            dir: how.dir,
            list: List::of(how.partition),
            counts: Counts::default(),
            lost: Lost::new(how.max_inflated),
            side: how.dir.filter(|_| how.depth == Depth::Records).map(SideFacts::new),
            progress,
            next_progress: 0,
            range: Range { from: i64::MIN, to: i64::MAX, is_last: true },
            outside: 0,
            row: Row::default(),
            inside: Inside { control: false, producer_id: -1, last_offset: 0, met: 0, latest: 0 },
        }
    }

    #[cold]
    fn tell(&mut self, position: u64) {
        self.next_progress = position + PROGRESS_STEP;
        (self.progress)(self.counts.bytes + position);
    }

    /// A segment could be opened, as so many before it.
    pub(super) fn begin(&mut self, segment: &Segment, number: usize, next: Option<&Path>) {
        self.lost.begin_segment(number as u64);
        self.next_progress = 0;
        self.outside = 0;
        self.counts.segments += 1;
        let next_base = next.and_then(|path| base_offset_of_name(&path.file_name()?.to_string_lossy()));
        self.range = Range {
            from: segment.base_offset().unwrap_or(i64::MIN),
            to: next_base.unwrap_or(i64::MAX),
            is_last: next.is_none(),
        };
        if segment.len() > MOST_BYTES {
            let message = format!("{} bytes, of which a broker takes at most {MOST_BYTES}", segment.len());
            self.list
                .push(Finding::new(Code::SegmentTooLarge, message).file(segment.name()).fact("bytes", segment.len()));
        }
    }

    pub(super) fn end(&mut self, segment: &Segment) {
        if let Some(more @ 1..) = self.outside.checked_sub(MOST_OUTSIDE) {
            let message = format!(
                "{} more of this segment have offsets outside of it: if none lies inside, the file has the wrong name",
                counted(more, "batch")
            );
            self.list.push(Finding::new(Code::OffsetRange, message).file(segment.name()).fact("batches", more));
        }
        self.counts.bytes += segment.len();
        if segment.was_cut() {
            let finding = Finding::new(Code::FileCut, "the file was cut while it was read").file(segment.name());
            self.list.push(finding);
        }
    }

    /// Files beside the segments are read before the segment is, so that they are not newer.
    pub(super) fn before(&mut self, number: usize) {
        let Some(side) = &mut self.side else { return };
        if let Some(file) = self.dir.and_then(|dir| dir.segments.get(number)) {
            side.segment(file);
        }
    }

    pub(super) fn no_segments(&mut self) {
        let left_out = self.dir.map_or(0, |dir| dir.left_out.len() + dir.others.len()) as u64;
        let message = format!("no segment that counts; {} of other kinds", counted(left_out, "file"));
        self.list.push(Finding::new(Code::NoSegments, message).fact("otherFiles", left_out));
    }

    #[cold]
    pub(super) fn unreadable(&mut self, path: &Path, error: &io::Error) {
        let finding = Finding::new(Code::SegmentUnreadable, format!("not read: {error}"));
        self.list.push(finding.file(path.file_name().unwrap_or_default().to_string_lossy()));
    }

    #[cold]
    fn tell_side_of_hole(&mut self, hole: &Hole) {
        let Some(side) = &mut self.side else { return };
        match hole.fault {
            FaultKind::ZeroTail => side.zero_tail(hole.length),
            _ => side.damage(hole.position..hole.position + hole.length),
        }
    }

    pub(super) fn finish(mut self, segments: &[PathBuf], how: &Verifying<'_>) -> io::Result<Verified> {
        self.list.extend(self.lost.finish(segments, how.max_inflated)?);
        let others = self.dir.into_iter().flat_map(|dir| &dir.others);
        self.list.extend(others.filter(|it| it.is_named_segment()).map(no_segment));
        let swaps = how.dir.map_or(Ok(Vec::new()), |dir| swaps::check(dir, how.log_start(), how.max_inflated))?;
        if let Some(side) = self.side.take() {
            self.list.extend(side.finish(how.log_dir).into_iter().filter(|it| !swaps::is_told(&swaps, it)));
        }
        self.list.extend(swaps);
        let Row { gaps, missing, empty, .. } = self.row;
        if gaps > 0 {
            let message = format!(
                "{} between batches, {} in all: normal after compaction",
                counted(gaps, "gap"),
                counted(missing, "offset")
            );
            self.list.push(Finding::new(Code::OffsetGap, message).fact("gaps", gaps).fact("offsets", missing));
        }
        if empty > 0 {
            let message = format!("{} without records: the cleaner keeps them", counted(empty, "batch"));
            self.list.push(Finding::new(Code::EmptyBatch, message).fact("batches", empty));
        }
        Ok(Verified { findings: self.list.finish(), counts: self.counts })
    }

    #[cold]
    fn odd_batch(&mut self, segment: &Segment, batch: Batch<'_>, finding: Finding) {
        let header = batch.header();
        let finding = finding.file(segment.name()).position(batch.position()).offset(header.base_offset);
        let finding = finding.fact("baseOffset", header.base_offset).fact("lastOffset", header.last_offset);
        self.list.push(finding.fact("length", header.length).fact("leaderEpoch", header.partition_leader_epoch));
    }

    #[cold]
    fn odd_record(&mut self, segment: &Segment, batch: Batch<'_>, finding: Finding) {
        self.list.push(finding.file(segment.name()).position(batch.position()));
    }

    #[cold]
    fn diagnose(&mut self, segment: &Segment, batch: Batch<'_>, record: Record<'_>) {
        let finding = match self.inside.control {
            false => Some(records::diagnose(&record)),
            true => records::check_control(&record, self.inside.producer_id),
        };
        if let Some(finding) = finding {
            self.odd_record(segment, batch, *finding);
        }
    }

    #[cold]
    fn wrong_crc(&mut self, segment: &Segment, batch: Batch<'_>, fault: &FaultKind) {
        if let Some(side) = &mut self.side {
            side.damage(batch.position()..batch.position() + batch.len());
        }
        let ((readable, unreadable), change) = self.lost.damaged_batch(&batch);
        let mut message = match unreadable {
            0 => format!("{fault}; {} can be read all the same", counted(readable, "record")),
            _ => format!("{fault}; {} can be read all the same, {unreadable} cannot", counted(readable, "record")),
        };
        match change {
            Some(Change { at, old, new }) => {
                let at = batch.position() + u64::from(at);
                message.push_str(&format!(
                    "; by the CRC only byte {at} was changed, from {new:#04x} to {old:#04x}: 'grouplog salvage --mend' puts \
                     it back"
                ));
            }
            None => message.push_str(", as far as damaged bytes can be believed"),
        }
        let mut finding = Finding::new(Code::CrcMismatch, message);
        if let FaultKind::CrcMismatch { stored, computed } = fault {
            finding = finding.fact("stored", *stored).fact("computed", *computed);
        }
        let finding = finding.fact("readableRecords", readable).fact("unreadableRecords", unreadable);
        let finding = match change {
            Some(Change { at, old, new }) => finding
                .fact("changedByte", batch.position() + u64::from(at))
                .fact("was", u32::from(new))
                .fact("is", u32::from(old)),
            None => finding,
        };
        self.odd_batch(segment, batch, finding);
    }

    /// A batch whose CRC is right.
    #[inline(always)]
    fn sound_batch(&mut self, segment: &Segment, batch: &Batch<'_>, header: &Header) -> io::Result<Step> {
        let first = self.range.from.saturating_sub(1);
        let met = self.row.last().map_or(first, |last| last.last_offset.max(first));
        self.head(segment, batch, header);
        if self.depth == Depth::Batches {
            return Ok(Step::Over);
        }
        if let Some(side) = &mut self.side {
            side.batch(batch, header);
        }
        if records::all_sound(batch, header) {
            self.counts.records += header.count as u64;
            return Ok(Step::Over);
        }
        self.inside = Inside {
            control: header.control,
            producer_id: header.producer_id,
            last_offset: header.last_offset,
            // Of a wrapper only the last offset is known; its first must lie behind the batch before.
            met: if header.magic >= 2 { header.base_offset.saturating_sub(1) } else { met },
            latest: i64::MIN,
        };
        Ok(Step::On)
    }

    #[inline(never)]
    fn old_batch(&mut self, segment: &Segment, batch: Batch<'_>) -> io::Result<Step> {
        self.sound_batch(segment, &batch, &batch.header())
    }

    /// Whether offsets and epoch follow those before, and lie in the segment's range.
    #[inline(always)]
    fn head(&mut self, segment: &Segment, batch: &Batch<'_>, header: &Header) {
        let order = self.row.order(header);
        if order != Order::Ascends {
            self.offset_order(segment, *batch, order);
        }
        let epoch_order = self.row.epoch_order(header);
        if epoch_order != Order::Ascends {
            self.epoch_order(segment, *batch, epoch_order);
        }
        let within = header.base_offset >= self.range.from
            && header.last_offset < self.range.to
            && header.last_offset >= header.base_offset;
        if !within || header.last_offset.wrapping_sub(self.range.from) > FARTHEST {
            self.out_of_range(segment, *batch);
        }
        self.row.add(batch, header, order);
    }

    #[cold]
    fn offset_order(&mut self, segment: &Segment, batch: Batch<'_>, order: Order) {
        let header = batch.header();
        let Some(last) = self.row.last() else { return };
        let (base, Met { base_offset, last_offset, position, .. }) = (header.base_offset, last);
        let finding = if order == Order::BeforeWasOutlier {
            let message = format!(
                "offsets {base_offset} to {last_offset} of the batch at byte {position} stand before offset {base}: its \
                 base offset is wrong, or the range was written twice"
            );
            Finding::new(Code::OffsetOrder, message).fact("outlier", position)
        } else {
            Finding::new(Code::OffsetOrder, format!("offset {base} stands behind offset {last_offset}"))
        };
        self.odd_batch(segment, batch, finding.fact("previous", last_offset));
    }

    #[cold]
    fn epoch_order(&mut self, segment: &Segment, batch: Batch<'_>, order: Order) {
        let header = batch.header();
        let Some(last) = self.row.last() else { return };
        // Old messages behind new ones: an epoch of -1 says nothing.
        if header.partition_leader_epoch < 0 && header.magic < 2 {
            return;
        }
        let epoch = header.partition_leader_epoch;
        let message = match order {
            Order::BeforeWasOutlier => {
                format!("leader epoch {} of the batch at byte {} stands before {epoch}", last.epoch, last.position)
            }
            _ => format!("leader epoch {epoch} stands behind {}", last.epoch),
        };
        let finding = Finding::new(Code::EpochOrder, message);
        let finding = match order {
            Order::BeforeWasOutlier => finding.fact("outlier", last.position),
            _ => finding,
        };
        self.odd_batch(segment, batch, finding.fact("previous", last.epoch));
    }

    #[cold]
    fn out_of_range(&mut self, segment: &Segment, batch: Batch<'_>) {
        let header = batch.header();
        self.outside += 1;
        if self.outside > MOST_OUTSIDE {
            return;
        }
        let Range { from, to, .. } = self.range;
        let (base, last) = (header.base_offset, header.last_offset);
        let message = if base < from {
            format!("offset {base} is below the segment's first, {from}")
        } else if last >= to {
            format!("offset {last} is not below the next segment's first, {to}")
        } else if last < base {
            format!("the batch's last offset, {last}, is below its first, {base}")
        } else if from != i64::MIN {
            format!("offset {last} is more than 31 bits above the segment's first, {from}: a broker splits the segment")
        } else {
            return;
        };
        let severity = if base < from || last >= to || last < base { Severity::Error } else { Severity::Warning };
        self.odd_batch(segment, batch, Finding::new(Code::OffsetRange, message).severity(severity));
    }

    #[cold]
    fn odd_time(&mut self, segment: &Segment, batch: Batch<'_>) {
        let header = batch.header();
        let (latest, says) = (self.inside.latest, header.max_timestamp);
        let message = format!("the header's greatest timestamp is {says}, that of the records {latest}");
        let finding = Finding::new(Code::BadTimestamps, message).fact("header", says).fact("records", latest);
        self.odd_batch(segment, batch, finding);
    }

    #[cold]
    fn odd_offset(&mut self, segment: &Segment, batch: Batch<'_>, record: Record<'_>) {
        let Inside { met, last_offset, .. } = self.inside;
        let message = if record.offset <= met {
            format!("the record's offset {} does not lie above {met}, which stands before it", record.offset)
        } else {
            format!("the record's offset {} lies above the batch's last, {last_offset}", record.offset)
        };
        let finding = Finding::new(Code::OffsetOrder, message).offset(record.offset).fact("previous", met);
        self.odd_record(segment, batch, finding);
    }
}

/// A folder, a pipe or the like in the place of a segment.
fn no_segment(other: &OtherFile) -> Finding {
    let why = format!("{}: it has the name of a segment, and is no file that can be read", other.name);
    Finding::new(Code::SegmentUnreadable, why).file(&other.name).fact("bytes", other.len)
}

impl Visitor for Walk<'_, '_> {
    fn segment(&mut self, _: &Segment) -> io::Result<Step> {
        Ok(Step::On)
    }

    fn hole(&mut self, segment: &Segment, hole: &Hole) -> io::Result<Step> {
        // Of the last segment, what an unclean stop leaves at the end is no damage.
        let is_end = self.range.is_last && hole.position + hole.length == segment.len();
        let torn = hole.is_torn_write();
        let zeros = hole.fault == FaultKind::ZeroTail;
        let normal = zeros || torn && is_end;
        self.tell_side_of_hole(hole);
        let mut misfit = None;
        if hole.is_whole_batch
            && let Some(mended) = hole.mended(segment.bytes())
            && let Some(batch) = Batch::new(&mended, hole.position)
        {
            self.lost.batch(&batch);
            let base = batch.header().base_offset;
            let behind = self.row.last().is_some_and(|last| base <= last.last_offset);
            let is_outside =
                base < self.range.from || base >= self.range.to || base.saturating_sub(self.range.from) > FARTHEST;
            // Only magic 2 begins with its first offset.
            misfit = (behind || is_outside).then_some(base).filter(|_| batch.header().magic >= 2);
        }
        let length = hole.length;
        let message = match &hole.fault {
            FaultKind::ZeroTail if !self.range.is_last => {
                format!("{length} zeros at the end of a segment that others follow: a broker's reader stops there")
            }
            FaultKind::ZeroTail => format!("{length} zeros to the end of the file: allocated in advance"),
            fault if normal => format!("{length} bytes of a write that a stop cut short: {fault}"),
            fault if hole.is_whole_batch => {
                let mut message = format!("{fault}, but the CRC is right: the records are sound");
                if let Some(base) = misfit {
                    message
                        .push_str(&format!("; base offset {base}, which the CRC does not cover, does not fit either"));
                }
                message
            }
            fault => format!("{length} bytes: {fault}; whose records they held cannot be read"),
        };
        let code = Code::of_fault(&hole.fault);
        let mut finding = Finding::new(code, message).file(segment.name()).position(hole.position);
        finding.offset = hole.base_offset;
        if normal {
            let followed = zeros && !self.range.is_last;
            finding.severity = if followed { Severity::Warning } else { Severity::Info };
        }
        let last = self.row.last().map(|last| last.last_offset);
        let finding = finding.fact("length", length).fact("lastOffsetBefore", last);
        self.list.push(finding.fact("isWholeBatch", hole.is_whole_batch));
        Ok(Step::On)
    }

    #[inline(always)]
    fn batch(&mut self, segment: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        self.counts.batches += 1;
        if batch.position() >= self.next_progress {
            self.tell(batch.position());
        }
        if let Some(fault) = crc {
            self.wrong_crc(segment, *batch, fault);
            return Ok(Step::Over);
        }
        match batch.header_magic2() {
            Some(header) => self.sound_batch(segment, batch, &header),
            None => self.old_batch(segment, *batch),
        }
    }

    #[inline(always)]
    fn record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        self.counts.records += 1;
        if record.offset <= self.inside.met || record.offset > self.inside.last_offset {
            self.odd_offset(segment, *batch, *record);
        }
        self.inside.met = record.offset;
        self.inside.latest = self.inside.latest.max(record.timestamp);
        if self.inside.control || !records::is_sound(record.key, record.value) {
            // Copied, so that only here it takes a place in memory.
            self.diagnose(segment, *batch, *record);
        }
        Ok(Step::On)
    }

    fn bad_record(&mut self, segment: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step> {
        if record.fault.kind.is_limit() {
            return Ok(Step::On); // Told at the end of the batch.
        }
        self.lost.record(batch, record);
        let mut finding = Finding::new(Code::BadRecord, record.fault.kind.to_string());
        finding.offset = record.offset;
        let finding = finding.fact("at", record.fault.at).fact("fault", record.fault.kind.code());
        self.odd_record(segment, *batch, finding);
        Ok(Step::On)
    }

    #[inline(always)]
    fn batch_end(&mut self, segment: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step> {
        let header = batch.header();
        if let Some(fault) = body {
            let finding = Finding::new(Code::of_fault(&fault.kind), fault.kind.to_string());
            self.odd_batch(segment, *batch, finding);
        } else if self.inside.latest != header.max_timestamp
            && self.inside.latest != i64::MIN
            && header.timestamp_type == TimestampType::CreateTime
            && (header.magic >= 2 || header.codec != Codec::None)
        {
            self.odd_time(segment, *batch);
        }
        Ok(Step::On)
    }
}
