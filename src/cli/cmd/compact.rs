//! `compact`: what the broker's own cleaner would leave, in a new folder.

use super::Outcome;
use super::new_log::{Report, check_numbers, create, files, interrupt, publish, read_other, refuse_inside};
use crate::cli::Usage;
use crate::cli::args::CompactArgs;
use crate::cli::input::{self, Partition};
use crate::cli::render::compact::{Told, objects};
use crate::cli::render::compact_text;
use crate::cli::talk::Context;
use crate::cli::time;
use crate::log::dir::OtherKind;
use crate::log::log_dir::{Lock, LogDirFiles};
use crate::log::{DEFAULT_MAX_INFLATED, Segment};
use crate::model::load::log_start;
use crate::rewrite::compact::carry_out::{Nowhere, SideFiles, carry_out};
use crate::rewrite::compact::clean::clean;
use crate::rewrite::compact::survey::{Survey, survey};
use crate::rewrite::compact::{Aim, BeyondOpen, Extent};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::out::OutDir;
use crate::words::counted;
use anyhow::{Context as _, Result, bail};

/// Runs it.
pub fn run(args: &CompactArgs, context: &mut Context) -> Result<Outcome> {
    let partitions = input::open(&args.input, context)?;
    check_numbers(&partitions)?;
    if args.include_active {
        partitions.iter().try_for_each(refuse_running)?;
    }
    let interrupt = interrupt()?;
    let out = match &args.out {
        Some(path) if !args.dry_run => {
            refuse_inside(path, args.input.paths.iter(), partitions.iter())?;
            Some(create(path, context)?)
        }
        _ => None,
    };
    let now = args.clock.now.map_or_else(time::now, |moment| moment.millis(time::now()));
    let mut report = Report::new("compact", args.format, out.as_ref())?;
    // Each is read twice.
    context.begin(partitions.iter().map(|it| 2 * it.bytes()).sum());
    let mut work = Work { args, now, interrupt, context, before: 0 };
    let mut outcome = Outcome::Clean;
    for partition in &partitions {
        if work.partition(partition, out.as_ref(), &mut report)? {
            outcome = Outcome::Findings;
        }
    }
    let Work { interrupt, context, .. } = work;
    let stdout = report.finish()?;
    interrupt.check()?;
    if let Some(out) = out {
        publish(out, context)?;
    }
    context.end();
    context.out.all(&stdout)?;
    Ok(outcome)
}

/// What a running broker writes meanwhile would be lost.
fn refuse_running(partition: &Partition) -> Result<()> {
    let Some(folder) = partition.folder().and_then(|folder| std::path::absolute(folder).ok()) else { return Ok(()) };
    let Some(log_dir) = folder.parent() else { return Ok(()) };
    match LogDirFiles::of(log_dir) {
        Ok(Some(files)) if matches!(files.lock, Lock::Held { .. }) => Err(Usage(format!(
            "{}: a broker is running on it, and goes on writing the last segment; stop it, or leave out --include-active",
            log_dir.display()
        ))
        .into()),
        _ => Ok(()),
    }
}

struct Work<'w> {
    args: &'w CompactArgs,
    now: i64,
    interrupt: Interrupt,
    context: &'w mut Context,
    /// Bytes of the partitions that are done, twice.
    before: u64,
}

impl Work<'_> {
    /// Compacts a partition; whether it is damaged.
    fn partition(&mut self, partition: &Partition, out: Option<&OutDir>, report: &mut Report) -> Result<bool> {
        let number = partition.number.unwrap_or_default();
        let segments = open_all(partition)?;
        let aim = self.aim(partition);
        let (before, context) = (self.before, &*self.context);
        let survey = survey(&segments, &aim, &self.interrupt, &mut |bytes| context.at(before + bytes))?;
        if !self.args.skip_damage {
            refuse_damaged(&segments, &survey)?;
        }
        let before = before + partition.bytes();
        let progress = &mut |bytes| context.at(before + bytes);
        let (cleaned, written, new_segments) = match out {
            Some(out) => {
                let to = out.partition(number)?;
                let side_files = self.side_files(partition, number)?;
                let (cleaned, done) = carry_out(&segments, &survey, &aim, &side_files, to, &self.interrupt, progress)?;
                let segments = done.segments.len() as u64;
                (cleaned, true, segments)
            }
            None => {
                let mut nowhere = Nowhere::default();
                let cleaned = clean(&segments, &survey, &aim, &self.interrupt, &mut nowhere, progress)?;
                (cleaned, false, nowhere.segments)
            }
        };
        self.before = before + partition.bytes();
        let path = partition.path();
        let told = Told {
            partition: number,
            path,
            segments: &segments,
            aim: &aim,
            survey: &survey,
            cleaned: &cleaned,
            written,
            new_segments,
        };
        report.text(|to| compact_text::write(&told, to))?;
        objects(&told).iter().try_for_each(|object| report.object(object))?;
        Ok(survey.damage_in_all > 0)
    }

    fn aim(&self, partition: &Partition) -> Aim {
        let args = self.args;
        let start = partition.dir.as_ref().and_then(|dir| log_start(&dir.path, partition.number?));
        Aim {
            now: self.now,
            delete_retention_ms: args.delete_retention,
            segment_bytes: args.segment_bytes,
            extent: if args.include_active { Extent::All } else { Extent::Closed },
            beyond_open: if args.force_past_open_transactions { BeyondOpen::Forced } else { BeyondOpen::Never },
            log_start: start.filter(|start| *start > 0),
            max_inflated: args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED),
        }
    }

    fn side_files(&self, partition: &Partition, number: i32) -> Result<SideFiles> {
        let dir = partition.dir.as_ref();
        let metadata = read_other(dir, OtherKind::PartitionMetadata)?;
        if metadata.is_none() {
            self.context.note(&format!(
                "partition {number}: no partition.metadata, by which a broker knows the topic's id: it takes the new folder \
                 for a stray one unless you put the file in"
            ));
        }
        Ok(SideFiles { metadata, leader_epochs: read_other(dir, OtherKind::LeaderEpochs)? })
    }
}

fn open_all(partition: &Partition) -> Result<Vec<Segment>> {
    let open = |file: &crate::rewrite::salvage::FileIn| {
        Segment::open(&file.path).with_context(|| file.path.display().to_string())
    };
    files(partition).iter().map(open).collect()
}

fn refuse_damaged(segments: &[Segment], survey: &Survey) -> Result<()> {
    let Some(first) = survey.damage.first() else { return Ok(()) };
    let path = segments.get(first.place.0 as usize).map_or(String::new(), |it| it.path().display().to_string());
    let more = match survey.damage_in_all - 1 {
        0 => String::new(),
        more => format!(", and {} more", counted(more, "such place")),
    };
    bail!(
        "{path}: at byte {}: {}{more}; a damaged log is not compacted: 'grouplog salvage' makes a sound one and says what \
         is lost, or pass --skip-damage to leave the damaged stretches out",
        first.place.1,
        first.fault
    )
}
