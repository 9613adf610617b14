//! `dump`: every record, decoded, in the order of the log. Nothing is skipped silently.

use super::{Outcome, dump_side};
use crate::cli::args::{DumpArgs, DumpFormat};
use crate::cli::input::{self, Partition};
use crate::cli::render::batches::{BatchRows, JsonBatches};
use crate::cli::render::dump::{Render, Shown, Site, Soundness};
use crate::cli::render::jsonl::{Framing, JsonRecords, RawBytes};
use crate::cli::render::kafka_dump_log::DumpLogText;
use crate::cli::render::kafka_formatter::FormatterJson;
use crate::cli::render::records::{RecordRows, RowFormat};
use crate::cli::select::Selector;
use crate::cli::talk::Context;
use crate::cli::{Usage, time};
use crate::fault::{Fault, FaultKind};
use crate::log::{BadRecord, Batch, Hole, Inflater, Record, Segment};
use crate::model::ahead::CheckNow;
use crate::model::event::Subject;
use crate::model::walk::{Step, Visitor, walk_segment};
use crate::words::counted;
use anyhow::{Context as _, Result};
use std::io;
use std::ops::Range;

/// Runs it.
pub fn run(args: &DumpArgs, context: &mut Context) -> Result<Outcome> {
    if let Some(files) = dump_side::asked_for(args, context)? {
        return dump_side::run(&files, args, context);
    }
    let partitions = input::open(&args.input, context)?;
    let selector = Selector::new(&args.selection).map_err(Usage)?;
    let now = args.clock.now.map_or_else(time::now, |now| now.millis(time::now()));
    let stretch = Stretch::new(args, now)?;
    let render = renderer(args, context)?;
    let mut inflater = args.input.reading.inflater();
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let mut dump = Dump {
        context,
        render,
        everything: selector.is_all(),
        selector,
        stretch,
        what: if args.batches { What::Batches } else { What::Records },
        left: args.limit.unwrap_or(u64::MAX),
        site: Site::default(),
        batch_shown: false,
        at_sight: false,
        crc: None,
        faults: 0,
        untimed: 0,
        bytes_before: 0,
    };
    for partition in &partitions {
        dump.site.partition = partition.number;
        if dump.partition(partition, &mut inflater)? == Step::Stop {
            break;
        }
    }
    dump.end()
}

fn renderer(args: &DumpArgs, context: &Context) -> Result<Box<dyn Render>> {
    let raw = if args.raw { RawBytes::Shown } else { RawBytes::Hidden };
    Ok(match (args.format, args.batches) {
        (DumpFormat::Jsonl, false) => Box::new(JsonRecords::new(Framing::Lines, raw)),
        (DumpFormat::Json, false) => Box::new(JsonRecords::new(Framing::Array, raw)),
        (DumpFormat::Table, false) => Box::new(RecordRows::new(RowFormat::Text(context.looks()), raw)),
        (DumpFormat::Csv, false) => Box::new(RecordRows::new(RowFormat::Csv, raw)),
        (DumpFormat::Jsonl, true) => Box::new(JsonBatches::new(Framing::Lines)),
        (DumpFormat::Json, true) => Box::new(JsonBatches::new(Framing::Array)),
        (DumpFormat::Table, true) => Box::new(BatchRows::new(RowFormat::Text(context.looks()))),
        (DumpFormat::Csv, true) => Box::new(BatchRows::new(RowFormat::Csv)),
        (DumpFormat::KafkaDumpLog, _) => Box::new(DumpLogText::new()),
        (DumpFormat::KafkaFormatter, false) => Box::new(FormatterJson::new()),
        (DumpFormat::KafkaFormatter, true) => {
            return Err(
                Usage("Kafka's formatters show no batches: take another --format with --batches".to_owned()).into()
            );
        }
    })
}

/// Whether records or batches are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Records,
    Batches,
}

/// The stretch of the log that was asked for, in plain numbers.
struct Stretch {
    offsets: Range<i64>,
    times: Option<Range<i64>>,
}

impl Stretch {
    fn new(args: &DumpArgs, now: i64) -> Result<Self, Usage> {
        let millis = |moment: Option<time::Moment>, none| moment.map_or(none, |moment| moment.millis(now));
        let times = args.stretch.time.map(|range| millis(range.from, i64::MIN)..millis(range.until, i64::MAX));
        if let Some(times) = times.as_ref().filter(|times| times.start > times.end) {
            let (from, until) = (time::rfc3339(times.start), time::rfc3339(times.end));
            return Err(Usage(format!("--time: {from} is after {until}")));
        }
        let offsets = args.stretch.offset.map_or(i64::MIN..i64::MAX, |range| range.from..range.until);
        Ok(Stretch { offsets, times })
    }

    /// Whether a batch can hold anything of the stretch, as far as its header tells.
    #[inline]
    fn may_hold(&self, batch: &Batch<'_>) -> bool {
        let header = batch.header();
        header.last_offset >= self.offsets.start
            // The header of a magic 0 or 1 wrapper does not tell its first offset.
            && (header.magic < 2 || header.base_offset < self.offsets.end)
            && self.times.as_ref().is_none_or(|times| header.max_timestamp >= times.start || header.magic == 0)
    }

    #[inline]
    fn holds(&self, offset: i64, timestamp: i64) -> bool {
        self.offsets.contains(&offset) && self.times.as_ref().is_none_or(|times| times.contains(&timestamp))
    }
}

struct Dump<'c> {
    context: &'c mut Context,
    render: Box<dyn Render>,
    selector: Selector,
    /// Whether the selector asks for everything.
    everything: bool,
    stretch: Stretch,
    what: What,
    /// How many more records or batches may be shown.
    left: u64,
    site: Site,
    /// Whether the render was told of the present batch.
    batch_shown: bool,
    /// Whether records of the present batch may be shown before they are read.
    at_sight: bool,
    /// What is wrong with the present batch's CRC.
    crc: Option<Fault>,
    faults: u64,
    /// Records that a time range left out because they have no time.
    untimed: u64,
    /// Bytes of the segments that are done.
    bytes_before: u64,
}

impl Dump<'_> {
    fn partition(&mut self, partition: &Partition, inflater: &mut Inflater) -> Result<Step> {
        for (i, file) in partition.segments.iter().enumerate() {
            // File names tell where segments begin; the next one's tells where this one ends.
            let next = partition.segments.get(i + 1).and_then(|next| next.base_offset);
            let before = next.is_some_and(|next| next <= self.stretch.offsets.start);
            let behind = file.base_offset.is_some_and(|base| base >= self.stretch.offsets.end);
            if before || behind {
                continue;
            }
            let path = &file.path;
            let segment = Segment::open(path).with_context(|| path.display().to_string())?;
            let from = input::start_hint(file, &segment, &self.stretch.offsets, self.stretch.times.as_ref());
            let step = self.walk(&segment, from, inflater).with_context(|| path.display().to_string())?;
            if step == Step::Stop {
                return Ok(step);
            }
            self.bytes_before += segment.len();
        }
        Ok(Step::On)
    }

    fn walk(&mut self, segment: &Segment, from: u64, inflater: &mut Inflater) -> Result<Step> {
        if self.segment(segment)? == Step::Stop {
            return Ok(Step::Stop);
        }
        let spans = if from == 0 { segment.spans() } else { segment.spans_from(from) };
        let step = walk_segment(segment, spans, inflater, &mut CheckNow, self)?;
        self.render.segment_end(&self.site);
        Ok(step)
    }

    fn end(mut self) -> Result<Outcome> {
        self.render.end();
        self.context.out.rest(self.render.buffer())?;
        self.context.end();
        if self.untimed > 0 {
            let untimed = counted(self.untimed, "record");
            self.context.note(&format!("--time left out {untimed} without a time (magic 0)"));
        }
        if self.faults == 0 {
            return Ok(Outcome::Clean);
        }
        let faults = counted(self.faults, "fault");
        self.context.note(&format!("{faults}: {}", self.render.where_faults_stand()));
        Ok(Outcome::Findings)
    }

    /// Tells the render of the batch, once something of it is shown.
    #[inline]
    fn show_batch(&mut self, batch: &Batch<'_>) {
        if !self.batch_shown {
            self.batch_shown = true;
            self.render.batch(&self.site, batch, self.crc.as_ref().map(|fault| &fault.kind));
        }
    }

    /// Shows a record if it is asked for.
    #[inline(never)]
    fn show(&mut self, batch: &Batch<'_>, record: &Record<'_>) -> Option<Soundness> {
        let subject = Subject::of(batch, record);
        if !self.asked_for(&subject) {
            return None;
        }
        self.show_batch(batch);
        let shown = Shown { batch, record, subject: &subject, crc: self.crc.as_ref() };
        Some(self.render.record(&self.site, &shown))
    }

    #[inline]
    fn count(&mut self) -> io::Result<Step> {
        self.context.out.piece(self.render.buffer())?;
        self.left -= 1;
        Ok(if self.left == 0 { Step::Stop } else { Step::On })
    }

    #[inline]
    fn asked_for(&self, subject: &Subject<'_>) -> bool {
        match subject {
            Subject::Key(key) => self.selector.key(key),
            Subject::BadKey { number, .. } => self.selector.unreadable_key(*number),
            Subject::Control(_) => self.selector.control(),
        }
    }
}

impl Visitor for Dump<'_> {
    fn segment(&mut self, segment: &Segment) -> io::Result<Step> {
        self.site.segment = segment.name().to_owned();
        self.site.path = segment.path().display().to_string();
        self.site.length = segment.len();
        self.render.segment(&self.site);
        Ok(if self.left == 0 { Step::Stop } else { Step::On })
    }

    fn hole(&mut self, _: &Segment, hole: &Hole) -> io::Result<Step> {
        // Zeros to the end are what preallocation leaves; they are shown, but nothing is wrong.
        if hole.fault != FaultKind::ZeroTail {
            self.faults += 1;
        }
        self.render.hole(&self.site, hole);
        self.context.out.piece(self.render.buffer())?;
        Ok(Step::On)
    }

    #[inline]
    fn concerns(&mut self, batch: &Batch<'_>) -> bool {
        self.context.at(self.bytes_before + batch.position());
        self.stretch.may_hold(batch) && self.selector.producer(batch.header().producer_id)
    }

    #[inline]
    fn batch(&mut self, _: &Segment, batch: &Batch<'_>, crc: Option<&FaultKind>) -> io::Result<Step> {
        self.batch_shown = false;
        self.crc = crc.map(|kind| kind.clone().at(batch.position()));
        if self.what == What::Batches {
            self.show_batch(batch);
            self.faults += u64::from(crc.is_some());
            return self.count().map(|step| if step == Step::On { Step::Over } else { step });
        }
        self.at_sight = self.everything && crc.is_none();
        if self.everything {
            self.show_batch(batch);
        }
        Ok(Step::On)
    }

    #[inline]
    fn record(&mut self, _: &Segment, batch: &Batch<'_>, record: &Record<'_>) -> io::Result<Step> {
        if !self.stretch.holds(record.offset, record.timestamp) {
            self.untimed += u64::from(self.stretch.times.is_some() && record.timestamp == -1);
            return Ok(Step::On);
        }
        let soundness = match self.at_sight.then(|| self.render.record_at_sight(batch, record)).flatten() {
            Some(soundness) => soundness,
            None => match self.show(batch, record) {
                Some(soundness) => soundness,
                None => return Ok(Step::On),
            },
        };
        // A wrong CRC is one fault of the batch, however many records are shown with it.
        if soundness == Soundness::Faulty && self.crc.is_none() {
            self.faults += 1;
        }
        self.count()
    }

    fn bad_record(&mut self, _: &Segment, batch: &Batch<'_>, record: &BadRecord<'_>) -> io::Result<Step> {
        self.faults += 1;
        self.show_batch(batch);
        self.render.bad_record(&self.site, batch, record);
        self.count()
    }

    #[inline]
    fn batch_end(&mut self, _: &Segment, batch: &Batch<'_>, body: Option<&Fault>) -> io::Result<Step> {
        let crc = self.crc.take();
        if let Some(fault) = crc.as_ref().or(body) {
            self.faults += 1;
            self.show_batch(batch);
            self.render.batch_fault(&self.site, batch, fault);
        }
        Ok(Step::On)
    }
}
