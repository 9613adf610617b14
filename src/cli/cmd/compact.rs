//! `compact`: what the broker's own cleaner would leave, in a new folder.

use super::Outcome;
use super::new_log::{
    Metadata, OTHER_COPIES, OnDamage, Report, Seeking, check_numbers, create, files, find_sound, interrupt, open_whole,
    print, publish, read_other, refuse_inside,
};
use crate::cli::Usage;
use crate::cli::args::CompactArgs;
use crate::cli::input::Partition;
use crate::cli::render::compact::{Told, objects};
use crate::cli::render::compact_text;
use crate::cli::render::damage::Found;
use crate::cli::talk::Context;
use crate::cli::time;
use crate::log::dir::OtherKind;
use crate::log::log_dir::{Lock, LogDirFiles};
use crate::log::{DEFAULT_MAX_INFLATED, Segment};
use crate::model::load::log_start;
use crate::rewrite::apply;
use crate::rewrite::compact::carry_out::{Nowhere, SideFiles, carry_out};
use crate::rewrite::compact::clean::{Cleaned, clean};
use crate::rewrite::compact::survey::{Survey, survey};
use crate::rewrite::compact::{Aim, BeyondOpen, Extent};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::out::{OutDir, PartitionOut};
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;

/// A dry run that skips damage fills the system's folder for temporary files with no more bytes.
const MOST_IN_TEMPORARY: u64 = 1 << 30;

/// Runs it.
pub fn run(args: &CompactArgs, context: &mut Context) -> Result<Outcome> {
    let partitions = open_whole(&args.input, OnDamage::asked(args.skip_damage), context)?;
    check_numbers(&partitions, OTHER_COPIES)?;
    if args.include_active {
        partitions.iter().try_for_each(refuse_running)?;
    }
    let interrupt = interrupt()?;
    if let Some(path) = &args.out {
        refuse_inside(path, args.input.paths.iter(), partitions.iter())?;
        OutDir::check(path)?;
    }
    let out = args.out.as_deref().filter(|_| !args.dry_run).map(|path| create(path, context)).transpose()?;
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
    let stands = out.as_ref().map(|out| out.path().to_owned());
    if let Some(out) = out {
        publish(out, context)?;
    }
    context.end();
    print(&stdout, stands.as_deref(), context)?;
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

/// What both passes came to.
struct Compacted {
    survey: Survey,
    cleaned: Cleaned,
    new_segments: u64,
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
    /// Compacts a partition; whether there is anything to tell of its state.
    fn partition(&mut self, partition: &Partition, out: Option<&OutDir>, report: &mut Report) -> Result<bool> {
        let number = partition.number.unwrap_or_default();
        let segments = open_all(partition)?;
        let aim = self.aim(partition);
        let (before, context) = (self.before, &*self.context);
        let at = |bytes| context.at(before + bytes);
        let survey = survey(&segments, &aim, &self.interrupt, &mut { at })?;
        let torn = survey.torn.is_some();
        let (compacted, found) = match survey.damage_in_all {
            0 => (self.compact(partition, (&segments, survey, &aim), out)?, Found::default()),
            _ => self.compact_what_is_sound(partition, &aim, out)?,
        };
        self.before += 2 * partition.bytes();
        let Compacted { survey, cleaned, new_segments } = &compacted;
        let told = Told {
            partition: number,
            path: partition.path(),
            old_segments: segments.len() as u64,
            aim: &aim,
            survey,
            cleaned,
            found: &found,
            torn,
            written: out.is_some(),
            new_segments: *new_segments,
        };
        report.text(|to| compact_text::write(&told, to))?;
        objects(&told, &mut |object| report.object(&object))?;
        Ok(found.is_any())
    }

    /// The second pass, over what the first one found.
    fn compact(
        &self,
        partition: &Partition,
        (segments, survey, aim): (&[Segment], Survey, &Aim),
        out: Option<&OutDir>,
    ) -> Result<Compacted> {
        let before = self.before + partition.bytes();
        let progress = &mut |bytes| self.context.at(before + bytes);
        let number = partition.number.unwrap_or_default();
        let side_files = self.side_files(partition, number)?;
        let Some(out) = out else {
            let mut nowhere = Nowhere::default();
            let cleaned = clean(segments, &survey, aim, &self.interrupt, &mut nowhere, progress)?;
            return Ok(Compacted { survey, cleaned, new_segments: nowhere.segments });
        };
        let to = out.partition(number)?;
        let (cleaned, done) = carry_out(segments, &survey, aim, &side_files, to, &self.interrupt, progress)?;
        Ok(Compacted { survey, cleaned, new_segments: done.segments.len() as u64 })
    }

    /// Of a damaged log, what is sound is written to a folder that goes again, and that is compacted: so that the same is
    /// left out as by `rewrite` and `salvage`, whatever the damage is.
    fn compact_what_is_sound(
        &self,
        partition: &Partition,
        aim: &Aim,
        out: Option<&OutDir>,
    ) -> Result<(Compacted, Found)> {
        let temporary = std::env::temp_dir();
        if out.is_none() && self.args.skip_damage && partition.bytes() > MOST_IN_TEMPORARY {
            bail!(
                "{}: a dry run that skips damage needs room for a copy of what is sound, and {} is not filled with more than \
                 {} bytes: pass --out, or 'grouplog salvage --out' and a dry run on what that makes",
                partition.path().display(),
                temporary.display(),
                MOST_IN_TEMPORARY
            );
        }
        let seeking = Seeking {
            log_start: aim.log_start,
            max_inflated: aim.max_inflated,
            on_damage: OnDamage::asked(self.args.skip_damage),
            interrupt: &self.interrupt,
        };
        let (mut salvage, found) = find_sound(partition, &seeking, &mut |_| {})?;
        let elsewhere = match out {
            Some(_) => None,
            None => Some(OutDir::create(&temporary.join("grouplog-compact-dry-run"))?),
        };
        let scratch = out.or(elsewhere.as_ref()).context("no folder for what is sound")?;
        let number = partition.number.unwrap_or_default();
        let folder = scratch.scratch(number)?;
        let path = folder.path().to_owned();
        let plan = salvage.plan(None, None);
        let done = apply::write(&plan, &mut salvage.sources, folder, aim.max_inflated, &self.interrupt, &mut |_| {})?;
        let open = |path: &PathBuf| Segment::open(path).with_context(|| path.display().to_string());
        let segments = done.segments.iter().map(|it| open(&it.path)).collect::<Result<Vec<_>>>()?;
        let survey = survey(&segments, aim, &self.interrupt, &mut |_| {})?;
        if let Some(damage) = survey.damage.first() {
            bail!("{}: {}, although what is damaged was left out", partition.path().display(), damage.fault);
        }
        let compacted = self.compact(partition, (&segments, survey, aim), out)?;
        drop(segments);
        PartitionOut::remove(&path)?;
        Ok((compacted, found))
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
        let metadata = Metadata::sound(partition, self.context);
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
