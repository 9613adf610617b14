//! `salvage`: a loadable copy of a damaged log, and exactly what was lost.

use super::Outcome;
use super::new_log::{
    Metadata, Report, check_numbers, create, files, interrupt, print, publish, read_other, refuse_inside,
};
use super::origin;
use crate::cli::Usage;
use crate::cli::args::SalvageArgs;
use crate::cli::input::{self, Partition};
use crate::cli::render::salvage::{Told, objects};
use crate::cli::render::salvage_text;
use crate::cli::talk::{Context, EmptyFolders};
use crate::log::dir::OtherKind;
use crate::log::{DEFAULT_MAX_INFLATED, checkpoint};
use crate::model::load::log_start;
use crate::model::preflight::{Coordinator, Verdict, preflight};
use crate::model::rules::Release;
use crate::rewrite::apply::{self, Done};
use crate::rewrite::epochs::at_odds;
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::out::{OutDir, PartitionOut};
use crate::rewrite::reached::{Proof, proofs};
use crate::rewrite::salvage::{FileIn, Manner, Replica, Salvage, Sides, Wreck, sides, survey};
use crate::rewrite::survey::Wishes;
use crate::rewrite::union::Take;
use crate::words::counted;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Why what has the name of a segment is none.
const NO_FILE: &str = "no file that can be read";
/// Taking out a record can make another one unloadable: after so many rounds it is given up.
const MOST_ROUNDS: usize = 100;

/// Runs it.
pub fn run(args: &SalvageArgs, context: &mut Context) -> Result<Outcome> {
    let reading = &args.input.reading;
    let empty = if args.include_leftovers { EmptyFolders::KeptWithLeftovers } else { EmptyFolders::Kept };
    context.keep_empty_folders(empty);
    context.keep_unreadable_folders();
    let partitions = input::open(&args.input, context)?;
    if partitions.iter().all(|partition| partition.unlisted.is_some()) && args.also.is_empty() {
        partitions.iter().try_for_each(Partition::check_listed)?;
    }
    check_numbers(&partitions, ", and the others with --also")?;
    let replicas = args
        .also
        .iter()
        .map(|path| {
            let mut copies = input::open_paths(std::slice::from_ref(path), reading, context)?;
            input::listed(&mut copies, context).map(|()| copies)
        })
        .collect::<Result<Vec<_>>>()?;
    check_copies(args, &partitions, &replicas)?;
    let interrupt = interrupt()?;
    if let Some(path) = &args.out {
        let given = args.input.paths.iter().chain(&args.also);
        refuse_inside(path, given, partitions.iter().chain(replicas.iter().flatten()))?;
        OutDir::check(path)?;
    }
    let out = args.out.as_deref().filter(|_| !args.dry_run).map(|path| create(path, context)).transpose()?;
    let mut report = Report::new("salvage", args.format, out.as_ref())?;
    let bytes: u64 = partitions.iter().map(Partition::bytes).sum();
    // Read once, and once more to write it.
    context.begin(if out.is_some() { bytes * 2 } else { bytes });
    let mut work = Work { args, interrupt, replicas, context, before: 0 };
    let mut outcome = Outcome::Clean;
    for partition in &partitions {
        if work.partition(partition, out.as_ref(), &mut report)? == Outcome::Findings {
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

/// What the files beside a copy's segments prove.
fn proven(copy: &Partition) -> Vec<Proof> {
    copy.dir.as_ref().map(proofs).unwrap_or_default()
}

/// Every other copy must hold one of the partitions, or it would be of no use and nobody would know; and it must not be of
/// another log.
fn check_copies(args: &SalvageArgs, partitions: &[Partition], replicas: &[Vec<Partition>]) -> Result<()> {
    let real = |partition: &Partition| partition.path().canonicalize().ok();
    for (path, held) in args.also.iter().zip(replicas) {
        if let Some(same) =
            held.iter().find(|copy| partitions.iter().any(|own| real(own).is_some() && real(own) == real(copy)))
        {
            let (path, same) = (path.display(), same.path().display());
            return Err(
                Usage(format!("{path}: {same} is what is salvaged itself; pass another copy with --also")).into()
            );
        }
        if held.iter().any(|copy| partitions.iter().any(|own| own.number == copy.number)) {
            continue;
        }
        let numbers = |all: &[Partition]| {
            let words: Vec<_> = (all.iter().take(10))
                .map(|it| it.number.map_or("one without a number".to_owned(), |number| number.to_string()))
                .collect();
            if words.is_empty() { "none".to_owned() } else { words.join(", ") }
        };
        return Err(Usage(format!(
            "{}: no copy of what is salvaged: it holds partition {}, and partition {} is salvaged",
            path.display(),
            numbers(held),
            numbers(partitions),
        ))
        .into());
    }
    for own in partitions {
        let copies: Vec<_> = replicas.iter().flatten().filter(|copy| copy.number == own.number).collect();
        origin::check(own, &copies)?;
    }
    Ok(())
}

struct Work<'w> {
    args: &'w SalvageArgs,
    interrupt: Interrupt,
    /// The partitions of each replica.
    replicas: Vec<Vec<Partition>>,
    context: &'w mut Context,
    /// Bytes of the partitions that are done.
    before: u64,
}

impl Work<'_> {
    fn partition(&mut self, partition: &Partition, out: Option<&OutDir>, report: &mut Report) -> Result<Outcome> {
        let number = partition.number.unwrap_or_default();
        let mut unreadable: Vec<_> =
            partition.unreadable_names().map(|it| (partition.path().join(it), NO_FILE.to_owned())).collect();
        let mut sides = self.sides(partition)?;
        self.note_set_aside(partition, &sides);
        let (set_aside, back) = (std::mem::take(&mut sides.set_aside), std::mem::take(&mut sides.back));
        let wreck = self.wreck(partition, sides, &mut unreadable)?;
        // An empty folder would say that there was nothing.
        let is_known = partition.unlisted.is_none() && unreadable.is_empty();
        let out = out.filter(|_| is_known || wreck.has_files());
        let own: Vec<_> = wreck.own.iter().map(|file| file.path.clone()).collect();
        let manner = self.manner();
        let (before, context) = (self.before, &*self.context);
        let mut salvage = survey(&wreck, &manner, &self.interrupt, &mut |bytes| context.at(before + bytes))?;
        self.before += partition.bytes();
        let (mut done, mut verdict) = (None, None);
        match (out, self.args.drop_unloadable) {
            (Some(out), _) => {
                let (written, judged) = self.write(partition, &mut salvage, out, number)?;
                (done, verdict) = (Some(written), Some(judged));
                self.before += partition.bytes();
            }
            (None, Some(broker)) => {
                // Once, on the old files: what shows only when something is taken out, shows only when it is done.
                let judged = self.judge(&own, broker)?;
                salvage.drop_records(&refused(&judged))?;
            }
            // What is damaged shows only when it is written without that.
            (None, None) if salvage.is_damaged() => {}
            (None, None) => {
                let judged = self.judge(&own, newest()?)?;
                self.note_refused(number, &judged);
                verdict = Some(judged);
            }
        }
        salvage.settle_losses(&self.interrupt)?;
        let told = Told {
            partition: number,
            path: partition.path(),
            salvage: &salvage,
            unlisted: partition.unlisted.as_deref(),
            broken: broken(partition, &salvage),
            set_aside,
            back,
            unreadable,
            done,
            verdict,
        };
        report.text(|to| salvage_text::write(&told, to))?;
        objects(&told, &mut |object| report.object(object))?;
        let is_refused = told.verdict.as_ref().is_some_and(|it| !it.loads());
        let is_of_no_use = is_refused && !self.loads_somewhere(&own)?;
        Ok(if told.is_whole() && !is_of_no_use { Outcome::Clean } else { Outcome::Findings })
    }

    fn judge(&self, segments: &[PathBuf], broker: Coordinator) -> Result<Verdict> {
        let verdicts = preflight(segments, &[broker], None, self.manner().max_inflated, &mut |_| {})?;
        self.interrupt.check()?;
        verdicts.into_iter().next().context("no verdict")
    }

    /// Whether any release would load it.
    fn loads_somewhere(&self, segments: &[PathBuf]) -> Result<bool> {
        let verdicts = preflight(segments, &Coordinator::all(), None, self.manner().max_inflated, &mut |_| {})?;
        Ok(verdicts.iter().any(Verdict::loads))
    }

    /// Writes a partition; where that is asked for, again and again without the records that a broker refuses.
    fn write(
        &self,
        partition: &Partition,
        salvage: &mut Salvage,
        out: &OutDir,
        number: i32,
    ) -> Result<(Done, Verdict)> {
        let metadata = self.metadata(partition, number);
        if metadata.is_none() {
            self.context.note(&format!(
                "partition {number}: no partition.metadata, by which a broker knows the topic's id: it takes the new folder \
                 for a stray one unless you put the file in"
            ));
        }
        // What of it cannot be read is made anew.
        let leader_epochs = read_other(partition.dir.as_ref(), OtherKind::LeaderEpochs).unwrap_or_default();
        let broker = match self.args.drop_unloadable {
            Some(broker) => broker,
            None => newest()?,
        };
        for _ in 0..MOST_ROUNDS {
            let plan = salvage.plan(metadata.clone(), leader_epochs.clone());
            let to = out.partition(number)?;
            let folder = to.path().to_owned();
            let max_inflated = self.manner().max_inflated;
            let mut at = self.before;
            let done = apply::write(&plan, &mut salvage.sources, to, max_inflated, &self.interrupt, &mut |bytes| {
                at += bytes;
                self.context.at(at);
            })?;
            let paths: Vec<_> = done.segments.iter().map(|segment| segment.path.clone()).collect();
            let verdict = self.judge(&paths, broker)?;
            if verdict.loads() || self.args.drop_unloadable.is_none() {
                self.note_refused(number, &verdict);
                return Ok((done, verdict));
            }
            let before = salvage.log.incidents.len();
            salvage.drop_records(&refused(&verdict))?;
            if salvage.log.incidents.len() == before {
                break;
            }
            PartitionOut::remove(&folder)?;
        }
        bail!(
            "partition {number}: {broker} would still not load it after {MOST_ROUNDS} rounds of taking out what it refuses"
        )
    }

    fn note_refused(&self, number: i32, verdict: &Verdict) {
        let Some(first) = verdict.refusals.first() else { return };
        self.context.note(&format!(
            "partition {number}: {} would not load it, because of {} (the first at offset {}: {}); --drop-unloadable {} \
             takes them out",
            verdict.coordinator,
            counted(verdict.refused, "record"),
            first.at.offset,
            first.reason,
            verdict.coordinator,
        ));
    }

    fn manner(&self) -> Manner {
        let args = self.args;
        Manner {
            wishes: Wishes { keep_doubtful: args.keep_doubtful, mend: args.mend },
            leftovers: if args.include_leftovers { Take::Everything } else { Take::Lost },
            max_inflated: args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED),
        }
    }

    /// Which files of a partition count.
    fn sides(&self, partition: &Partition) -> Result<Sides> {
        let Some(dir) = &partition.dir else { return Ok(Sides { own: files(partition), ..Sides::default() }) };
        Ok(sides(dir, start_of(partition).unwrap_or(0), self.manner().max_inflated)?)
    }

    /// The files of a partition and its copies. Of those that cannot be opened the path and the reason are added to
    /// `unreadable`.
    fn wreck(&self, partition: &Partition, sides: Sides, unreadable: &mut Vec<(PathBuf, String)>) -> Result<Wreck> {
        let start = start_of(partition);
        let mut opened =
            |files: Vec<FileIn>| files.into_iter().filter(|file| can_be_opened(file, unreadable)).collect();
        Ok(Wreck {
            own: opened(sides.own),
            folder: partition.dir.as_ref().filter(|_| partition.unlisted.is_none()).map(|dir| dir.path.clone()),
            leftovers: opened(sides.leftovers),
            replicas: self
                .copies(partition.number)
                .map(|copy| Replica { files: opened(files(copy)), proofs: proven(copy) })
                .collect(),
            log_start: start.filter(|start| *start > 0),
            proofs: proven(partition),
        })
    }

    fn note_set_aside(&self, partition: &Partition, sides: &Sides) {
        if sides.set_aside.is_empty() {
            return;
        }
        let instead = match sides.back.is_empty() {
            true => "of which a broker would make an empty segment".to_owned(),
            false => format!("and what a broker would put it in the place of is read: {}", sides.back.join(", ")),
        };
        let (number, aside) = (partition.number.unwrap_or_default(), sides.set_aside.join(", "));
        self.context.note(&format!("partition {number}: set aside: {aside}, {instead}"));
    }

    /// The other copies of a partition.
    fn copies(&self, number: Option<i32>) -> impl Iterator<Item = &Partition> {
        self.replicas.iter().flatten().filter(move |replica| replica.number == number)
    }

    /// The first that a broker would take.
    fn metadata(&self, partition: &Partition, number: i32) -> Option<Vec<u8>> {
        let mut copies = std::iter::once(partition).chain(self.copies(Some(number)));
        copies.find_map(|copy| match Metadata::of(copy) {
            Metadata::Sound(bytes) => Some(bytes),
            _ => None,
        })
    }
}

/// The first offset that counts, if the log dir names one.
fn start_of(partition: &Partition) -> Option<i64> {
    log_start(&partition.dir.as_ref()?.path, partition.number?)
}

/// Whether a file can be opened; else its path and the reason go to a list.
fn can_be_opened(file: &FileIn, unreadable: &mut Vec<(PathBuf, String)>) -> bool {
    match std::fs::File::open(&file.path) {
        Ok(_) => true,
        Err(error) => {
            unreadable.push((file.path.clone(), error.to_string()));
            false
        }
    }
}

/// Files beside the segments that are not carried over.
fn broken(partition: &Partition, salvage: &Salvage) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    if let Metadata::Broken(why) = Metadata::of(partition) {
        all.push(("partition.metadata", why));
    }
    match read_other(partition.dir.as_ref(), OtherKind::LeaderEpochs) {
        Ok(bytes) => {
            let read = bytes.map(|bytes| checkpoint::leader_epochs(&bytes));
            let odd = read.as_ref().and_then(|it| it.oddities.iter().find(|odd| odd.stops_a_broker()));
            all.extend(odd.map(|odd| ("leader-epoch-checkpoint", format!("a broker stops at it: {odd}"))));
            let sound = read.filter(|it| it.oddities.is_empty());
            let of_own = salvage.own_epochs();
            let at_odds = sound.and_then(|it| at_odds(&it.entries, of_own)).map(|it| {
                let file = it.file.map_or("none".to_owned(), |epoch| epoch.to_string());
                format!(
                    "at offset {} the batch names leader epoch {}, and the file {file}; no CRC covers that of the batch, \
                     which is copied as it is",
                    it.offset, it.batch
                )
            });
            all.extend(at_odds.map(|why| ("leader-epoch-checkpoint", why)));
        }
        Err(error) => all.push(("leader-epoch-checkpoint", error.root_cause().to_string())),
    }
    all
}

/// The newest coordinator that is known.
fn newest() -> Result<Coordinator> {
    Release::NEWEST.to_string().parse().map_err(anyhow::Error::msg)
}

/// The records that a broker refuses, by offset, and why.
fn refused(verdict: &Verdict) -> BTreeMap<i64, String> {
    let why = |reason| format!("{} refuses it: {reason}", verdict.coordinator);
    verdict.refusals.iter().map(|refusal| (refusal.at.offset, why(&refusal.reason))).collect()
}
