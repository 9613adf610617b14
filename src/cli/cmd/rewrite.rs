//! `rewrite`: an edited copy.

mod edits;
mod listing;
mod logs;
pub mod selectors;

use super::Outcome;
use super::new_log::{
    OTHER_COPIES, OnDamage, Report, check_numbers, create, interrupt, open_whole, print, publish, refuse_inside,
};
use super::origin::refuse_copies;
use crate::cli::Usage;
use crate::cli::args::RewriteArgs;
use crate::cli::input::Partition;
use crate::cli::render::damage::Found;
use crate::cli::render::name::{visible, visible_path};
use crate::cli::render::rewrite::{Told, Wrote, misplaced_words, objects, text, unmet_json, unmet_text};
use crate::cli::talk::Context;
use crate::cli::time;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::log::place::{Place, classify};
use crate::model::partitioner::{DEFAULT_PARTITIONS, partition_of};
use crate::model::preflight::Coordinator;
use crate::model::rules::Release;
use crate::rewrite::edit::feed::Feed;
use crate::rewrite::edit::reframe::Shape;
use crate::rewrite::edit::run::copies::Misplaced;
use crate::rewrite::edit::run::{How, Routing, last_of};
use crate::rewrite::edit::write::{self, Refused, Work, carry_out};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::out::OutDir;
use crate::rewrite::out_file::SingleFile;
use crate::rewrite::salvage::Salvage;
use crate::schema::names::Kind;
use crate::words::counted;
use anyhow::{Context as _, Result};
use listing::Listing;
use selectors::{Selectors, Unmet, refuse_contradictions};
use std::collections::BTreeSet;
use std::path::Path;

/// Runs it.
pub fn run(args: &RewriteArgs, context: &mut Context) -> Result<Outcome> {
    let partitions = open_whole(&args.input, OnDamage::asked(args.skip_damage), context)?;
    check(args, &partitions, context)?;
    let interrupt = interrupt()?;
    if args.framing.topic_id.is_some() && !args.naming.new_cluster {
        context.note(
            "--topic-id: if that is another cluster, add --new-cluster: with the topic ids and leader epochs of the old one, \
             consumers find no offset or wait for ever, and followers copy nothing",
        );
    }
    if let Some(path) = &args.out {
        refuse_inside(path, args.input.paths.iter(), partitions.iter())?;
        OutDir::check(path)?;
    }
    let out = args.out.as_deref().filter(|_| !args.dry_run).map(|path| create(path, context)).transpose()?;
    if let Some(path) = &args.log {
        refuse_inside(path, args.input.paths.iter(), partitions.iter())?;
    }
    let log = args.log.as_deref().map(SingleFile::create).transpose()?;
    let report = Report::new("rewrite", args.format, out.as_ref())?;
    let bytes: u64 = partitions.iter().map(Partition::bytes).sum();
    context.begin(bytes * 3);
    let (selectors, unmet) = (Selectors::default(), Vec::new());
    let mut job = Job { args, interrupt: &interrupt, context, before: 0, log, report, selectors, unmet };
    let outcome = job.all(&partitions, out.as_ref())?;
    let Job { context, mut log, report, .. } = job;
    let stdout = report.finish()?;
    interrupt.check()?;
    let stands = out.as_ref().map(|out| out.path().to_owned());
    if let Some(log) = &mut log {
        log.flush()?;
    }
    if let Some(out) = out {
        publish(out, context)?;
    }
    let list = log.map(SingleFile::publish).transpose();
    list.with_context(|| match &stands {
        Some(path) => format!("{}: complete and in its place, but not the list of edits", path.display()),
        None => "the list of edits".to_owned(),
    })?;
    context.end();
    print(&stdout, stands.as_deref(), context)?;
    Ok(outcome)
}

fn check(args: &RewriteArgs, partitions: &[Partition], context: &Context) -> Result<()> {
    refuse_contradictions(args)?;
    if args.framing.partitions.is_none() {
        return check_numbers(partitions, OTHER_COPIES);
    }
    match partitions.iter().find(|it| it.number.is_none()) {
        Some(it) => {
            Err(Usage(format!("{}: no partition in the folder's name, which --partitions needs", it.path().display()))
                .into())
        }
        None => refuse_copies(partitions, context),
    }
}

struct Job<'j> {
    args: &'j RewriteArgs,
    interrupt: &'j Interrupt,
    context: &'j mut Context,
    /// Bytes that are read.
    before: u64,
    log: Option<SingleFile>,
    report: Report,
    /// What options name.
    selectors: Selectors,
    /// Options that met nothing.
    unmet: Vec<Unmet>,
}

/// Partitions that are read together, each with its place among all.
type Unit<'u> = [(usize, &'u Partition)];

impl<'j> Job<'j> {
    fn max_inflated(&self) -> usize {
        self.args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED)
    }

    fn now(&self) -> i64 {
        let now = time::now();
        self.args.clock.now.map_or(now, |moment| moment.millis(now))
    }

    fn all(&mut self, partitions: &[Partition], out: Option<&OutDir>) -> Result<Outcome> {
        self.note_names(partitions);
        let mut how = self.how(partitions)?;
        let all: Vec<_> = partitions.iter().enumerate().collect();
        let together = if self.args.framing.partitions.is_some() { all.len().max(1) } else { 1 };
        let mut outcome = Outcome::Clean;
        let mut has_metadata = true;
        for unit in all.chunks(together) {
            let (mut work, found) = self.work(unit)?;
            has_metadata &= work.new.iter().all(|it| it.metadata.is_some());
            if self.unit(unit, &mut work, &mut how, &found, out)? == Outcome::Findings {
                outcome = Outcome::Findings;
            }
        }
        if self.tell_unmet()? == Outcome::Findings {
            outcome = Outcome::Findings;
        }
        if !has_metadata && out.is_some() {
            self.context.note(
                "no partition.metadata, by which a broker knows the topic's id: it takes a new folder for a stray one \
                 unless you put the file in; --topic-id writes it",
            );
        }
        Ok(outcome)
    }

    /// Tells of options that met nothing. With none of the groups to be kept nothing would be left, which nobody wants.
    fn tell_unmet(&mut self) -> Result<Outcome> {
        self.unmet.extend(self.selectors.unmet());
        if self.selectors.all_unmet("--keep-group") {
            let text = "--keep-group: none of the groups it names is in the log, and nothing would be left; nothing was written";
            return Err(Usage(text.to_owned()).into());
        }
        for it in &mut self.unmet {
            self.context.note(&it.message);
            if self.args.redact {
                (it.value, it.message) = (String::new(), format!("{}: {}", it.option, it.kind));
            }
        }
        let Job { report, unmet, .. } = self;
        report.text(|to| unmet_text(unmet, to))?;
        unmet.iter().try_for_each(|it| report.object(&unmet_json(it)))?;
        Ok(if self.unmet.is_empty() { Outcome::Clean } else { Outcome::Findings })
    }

    fn how(&mut self, partitions: &[Partition]) -> Result<How<'j>> {
        let framing = &self.args.framing;
        Ok(How {
            edits: self.edits(partitions)?,
            shape: Shape { codec: framing.codec.map(Into::into), upgrade: framing.upgrade, renumber: framing.renumber },
            routing: framing.partitions.map_or(Routing::Stay, Routing::Shard),
            max_inflated: self.max_inflated(),
            interrupt: self.interrupt,
        })
    }

    /// Looks through some logs, and says what they are to become; and what of them is damaged.
    fn work(&mut self, unit: &Unit<'_>) -> Result<(Work, Found)> {
        let (mut feeds, mut all_found) = (Vec::new(), Found::default());
        for (place, partition) in unit {
            let number = partition.number.unwrap_or_default();
            let (salvage, found) = self.survey(partition)?;
            all_found.extend(found);
            let end = salvage.end();
            let Salvage { sources, log, .. } = salvage;
            let pieces = log.parts.into_iter().map(|part| part.piece).collect();
            feeds.push(Feed::new(*place, number, end, sources, pieces, self.max_inflated()));
        }
        let newest = || Release::NEWEST.to_string().parse::<Coordinator>().map_err(anyhow::Error::msg);
        let asked = self.args.framing.target.or(self.args.dropping.drop_unloadable);
        let work = Work {
            feeds,
            new: self.new_logs(unit)?,
            segment_bytes: self.segment_bytes(),
            broker: asked.map_or_else(newest, Ok)?,
            refused: if asked.is_some() { Refused::Go } else { Refused::Stay },
        };
        Ok((work, all_found))
    }

    /// Makes some logs what they are to become, and tells of it.
    fn unit(
        &mut self,
        unit: &Unit<'_>,
        work: &mut Work,
        how: &mut How<'_>,
        found: &Found,
        out: Option<&OutDir>,
    ) -> Result<Outcome> {
        let mut listing =
            Listing { log: self.log.as_mut(), context: self.context, before: self.before, read: 0, broken: None };
        let done = carry_out(work, how, out, &mut listing);
        if let Some(error) = listing.broken.take() {
            return Err(error.into());
        }
        let done = done.with_context(|| match unit {
            [(_, one)] => one.path().display().to_string(),
            _ => format!("{} partitions", unit.len()),
        })?;
        self.before += unit.iter().map(|(_, partition)| partition.bytes()).sum::<u64>();
        let misplaced = self.misplaced(unit, work, how, &done)?;
        let wrote = work.new.iter().zip(&done.ran.ends).enumerate().map(|(i, (new, end))| Wrote {
            partition: new.partition,
            done: done.done.get(i),
            end: *end,
            verdict: done.verdicts.get(i),
        });
        let told = Told {
            partition: match how.routing {
                Routing::Shard(_) => None,
                Routing::Stay => unit.first().and_then(|(_, partition)| partition.number),
            },
            paths: unit.iter().map(|(_, partition)| self.named(partition)).collect(),
            tally: &done.ran.tally,
            found,
            misplaced: &misplaced,
            written: wrote.collect(),
        };
        self.note_refused(&told);
        self.report.text(|to| text(&told, to))?;
        objects(&told, &mut |object| self.report.object(&object))?;
        Ok(if found.is_any() || !misplaced.is_empty() { Outcome::Findings } else { Outcome::Clean })
    }

    /// Groups that stood where they do not hash to, and came to where they do.
    fn misplaced(
        &self,
        unit: &Unit<'_>,
        work: &mut Work,
        how: &How<'_>,
        done: &write::Outcome,
    ) -> Result<Vec<Misplaced>> {
        if how.routing == Routing::Stay {
            return Ok(Vec::new());
        }
        let partitions: Vec<_> = unit.iter().map(|(_, partition)| partition.number.unwrap_or_default()).collect();
        let numbers: BTreeSet<_> = partitions.iter().copied().collect();
        let last_of = last_of(&mut work.feeds, how, done.ran.copies.in_several())?;
        let count = partition_count_of(numbers, unit.iter().map(|(_, partition)| *partition));
        let mut misplaced = done.ran.copies.misplaced(&partitions, count, &last_of);
        for it in &mut misplaced {
            it.group = match &how.edits.redact {
                Some(redact) => redact.name(Kind::Group, &it.group),
                None => how.edits.renames.group(&it.group).to_vec(),
            };
        }
        if let Some(first) = misplaced.first() {
            let more = match misplaced.len() - 1 {
                0 => String::new(),
                more => format!(" (and {})", counted(more as u64, "more such group")),
            };
            self.context.note(&format!("{}{more}", misplaced_words(first)));
        }
        Ok(misplaced)
    }

    /// What is told of where a partition was: a redacted log does not say in which folders.
    fn named(&self, partition: &Partition) -> String {
        let path = partition.path();
        let name = if self.args.redact { path.file_name().map(Path::new) } else { None };
        visible_path(name.unwrap_or(path))
    }

    /// Groups whose new names hash elsewhere.
    fn note_names(&self, partitions: &[Partition]) {
        if self.args.framing.partitions.is_some() {
            return;
        }
        if self.args.redact {
            self.context.note(
                "groups keep their partitions, to which their new names do not hash: a broker loads them, but answers for \
                 none",
            );
        }
        let n = partition_count(partitions);
        for (old, new) in &self.args.naming.rename_group {
            let (from, to) = (partition_of(old, n), partition_of(new, n));
            if from != to {
                self.context.note(&format!(
                    "group '{}' hashes to partition {to} of {n}, but its records stay where those of '{}' are ({from}), \
                     where a broker does not look for them: add --partitions {n}, with all of the log dir",
                    visible(new),
                    visible(old)
                ));
            }
        }
    }

    fn note_refused(&self, told: &Told<'_>) {
        for wrote in &told.written {
            let Some(verdict) = wrote.verdict else { continue };
            let Some(first) = verdict.refusals.first() else { continue };
            self.context.note(&format!(
                "partition {}: {} would not load it (offset {}: {}); --target {} makes it loadable",
                wrote.partition, verdict.coordinator, first.at.offset, first.reason, verdict.coordinator
            ));
        }
    }
}

/// How many partitions the topic has: as many as there are, here or beside what was given, if they are all there; else as
/// it has by default, if that is enough.
fn partition_count(partitions: &[Partition]) -> i32 {
    let numbers = partitions.iter().filter_map(|partition| partition.number).collect();
    partition_count_of(numbers, partitions.iter())
}

fn partition_count_of<'p>(mut numbers: BTreeSet<i32>, partitions: impl Iterator<Item = &'p Partition>) -> i32 {
    let log_dirs: BTreeSet<_> =
        partitions.filter_map(|it| it.dir.as_ref()).filter_map(|dir| dir.path.parent()).collect();
    for log_dir in log_dirs {
        if let Ok(Place::LogDir(all)) = classify(log_dir) {
            numbers.extend(all.partitions.iter().map(|place| place.partition));
        }
    }
    let n = i32::try_from(numbers.len()).unwrap_or(0);
    let least = numbers.last().map_or(0, |greatest| greatest.saturating_add(1));
    if n > 1 && least == n { n } else { least.max(DEFAULT_PARTITIONS) }
}
