//! `rewrite`: an edited copy.

use super::Outcome;
use super::salvage::{check_numbers, files, interrupt, read_other, refuse_inside};
use crate::cli::Usage;
use crate::cli::args::{ReportFormat, RewriteArgs};
use crate::cli::input::{self, Partition};
use crate::cli::render::name::visible;
use crate::cli::render::rewrite::{Damage, Told, Wrote, edit, objects, text};
use crate::cli::select::GroupPattern;
use crate::cli::talk::Context;
use crate::cli::time;
use crate::log::DEFAULT_MAX_INFLATED;
use crate::log::checkpoint::partition_metadata;
use crate::log::dir::OtherKind;
use crate::model::load::{Loading, Until, load, log_start};
use crate::model::partitioner::{DEFAULT_PARTITIONS, partition_of};
use crate::model::preflight::Coordinator;
use crate::model::replay::{Helper, State};
use crate::model::rules::{Release, Rules};
use crate::model::topics::Topics;
use crate::rewrite::apply::SEGMENT_BYTES;
use crate::rewrite::edit::Edits;
use crate::rewrite::edit::drops::{Drops, Expired, Names};
use crate::rewrite::edit::feed::Feed;
use crate::rewrite::edit::redact::Redact;
use crate::rewrite::edit::reframe::Shape;
use crate::rewrite::edit::rename::Renames;
use crate::rewrite::edit::run::Routing;
use crate::rewrite::edit::set_offset::{Wish, Wishes};
use crate::rewrite::edit::tally::Edited;
use crate::rewrite::edit::target::Target;
use crate::rewrite::edit::write::{self, Listener, NewLog, Refused, Work};
use crate::rewrite::interrupt::Interrupt;
use crate::rewrite::out::{FileOut, OutDir};
use crate::rewrite::out_file::SingleFile;
use crate::rewrite::salvage::{Manner, Salvage, Wreck, survey};
use crate::rewrite::survey::Wishes as SurveyWishes;
use crate::rewrite::union::Take;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// Where logs are merged or numbered anew, segments grow to so many bytes, as those of this topic do.
const TOPIC_SEGMENT_BYTES: u64 = 100 << 20;

/// Runs it.
pub fn run(args: &RewriteArgs, context: &mut Context) -> Result<Outcome> {
    let partitions = input::open(&args.input, context)?;
    check(args, &partitions)?;
    let interrupt = interrupt()?;
    let out = match &args.out {
        Some(path) if !args.dry_run => {
            refuse_inside(path, args.input.paths.iter(), partitions.iter())?;
            let old = OutDir::left_behind(path);
            let out = OutDir::create(path)?;
            old.iter().for_each(|path| {
                context.note(&format!("{}: left by a run that was killed; it can be removed", path.display()));
            });
            Some(out)
        }
        _ => None,
    };
    let log = args.log.as_deref().map(SingleFile::create).transpose()?;
    let mut report = Report::new(args.format, out.as_ref())?;
    let bytes: u64 = partitions.iter().map(Partition::bytes).sum();
    context.begin(bytes * 3);
    let mut job = Job { args, interrupt, context, before: 0, log };
    let mut edits = job.edits(&partitions)?;
    let outcome = job.all(&partitions, &mut edits, out.as_ref(), &mut report)?;
    let Job { interrupt, context, log, .. } = job;
    let stdout = report.finish()?;
    interrupt.check()?;
    if let Some(out) = out {
        let path = out.path().to_owned();
        out.publish()?;
        context.end();
        context.note(&format!("{}: written, read back and flushed to disk", path.display()));
    }
    log.map(SingleFile::publish).transpose()?;
    context.end();
    context.out.all(&stdout)?;
    Ok(outcome)
}

fn check(args: &RewriteArgs, partitions: &[Partition]) -> Result<()> {
    if args.framing.partitions.is_none() {
        return check_numbers(partitions);
    }
    match partitions.iter().find(|it| it.number.is_none()) {
        Some(it) => {
            Err(Usage(format!("{}: no partition in the folder's name, which --partitions needs", it.path().display()))
                .into())
        }
        None => Ok(()),
    }
}

struct Job<'j> {
    args: &'j RewriteArgs,
    interrupt: Interrupt,
    context: &'j mut Context,
    /// Bytes that are read.
    before: u64,
    log: Option<SingleFile>,
}

impl Job<'_> {
    fn max_inflated(&self) -> usize {
        self.args.input.reading.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED)
    }

    fn now(&self) -> i64 {
        let now = time::now();
        self.args.clock.now.map_or(now, |moment| moment.millis(now))
    }

    fn log_start(&self, partition: &Partition) -> Option<i64> {
        if self.args.ignore_log_start {
            return None;
        }
        log_start(&partition.dir.as_ref()?.path, partition.number?).filter(|start| *start > 0)
    }

    /// All edits of records: what they depend on is looked up in the logs.
    fn edits(&mut self, partitions: &[Partition]) -> Result<Edits> {
        let args = self.args;
        let dropping = &args.dropping;
        let renames = Renames::new(args.naming.rename_group.clone(), args.naming.rename_topic.clone());
        let mut edits = Edits {
            drops: Drops {
                groups: names(&dropping.drop_group)?,
                keep: names(&dropping.keep_group)?,
                topics: dropping.drop_topic.iter().map(|topic| topic.as_encoded_bytes().to_vec()).collect(),
                types: dropping.drop_type.iter().copied().collect(),
                log_starts: partitions.iter().map(|partition| self.log_start(partition)).collect(),
                ..Drops::default()
            },
            renames: renames.map_err(Usage)?,
            target: args.framing.target.map(Target),
            redact: self.redact()?,
            ..Edits::default()
        };
        let mut wishes = Wishes::new(self.wishes()?);
        if !dropping.drop_expired && wishes.is_empty() {
            self.before += partitions.iter().map(Partition::bytes).sum::<u64>();
            return Ok(edits);
        }
        for (feed, partition) in partitions.iter().enumerate() {
            let state = self.state(partition, &edits, &wishes)?;
            if dropping.drop_expired {
                edits.drops.expired.push(self.expired(partition, &state));
            }
            wishes.look(feed, &state, &edits.drops, &edits.renames);
        }
        for wish in &wishes.pending {
            self.context.note(&format!(
                "group '{}', {}/{}: a transaction that has not ended holds a commit; if it is committed, that replaces the \
                 offset {} that is set",
                visible(&wish.group),
                visible(&wish.topic),
                wish.partition,
                wish.offset
            ));
        }
        let count = self.args.framing.partitions;
        edits.set_offsets = wishes.settle(self.now(), |group| match count {
            Some(_) => Ok(0),
            None => home(group, partitions),
        })?;
        Ok(edits)
    }

    fn redact(&self) -> Result<Option<Redact>> {
        if !self.args.redact {
            return Ok(None);
        }
        Ok(Some(Redact::new(
            match &self.args.seed {
                Some(seed) => seed.as_bytes().to_vec(),
                None => random()?,
            }
            .as_slice(),
        )))
    }

    fn wishes(&self) -> Result<Vec<Wish>> {
        let naming = &self.args.naming;
        let mut wishes = Vec::new();
        if let Some(path) = &naming.offsets_from {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            wishes.extend(Wish::read_all(&text).map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?);
        }
        // What stands on the command line overrules the file.
        wishes.extend(naming.set_offset.iter().cloned());
        Ok(wishes)
    }

    fn state(&mut self, partition: &Partition, edits: &Edits, wishes: &Wishes) -> Result<State> {
        let all = self.args.dropping.drop_expired;
        let wanted = |group: &[u8]| all || wishes.has_group(edits.renames.group(group));
        let how = Loading {
            rules: Rules::of(Release::NEWEST),
            until: Until::End,
            log_start: self.log_start(partition),
            max_inflated: self.max_inflated(),
            helper: Helper::None,
            wanted: &wanted,
        };
        let (before, context) = (self.before, &*self.context);
        let state = load(&partition.paths(), &how, &mut |bytes| context.at(before + bytes))
            .with_context(|| partition.path().display().to_string())?;
        self.before += partition.bytes();
        self.interrupt.check()?;
        Ok(state)
    }

    fn expired(&self, partition: &Partition, state: &State) -> Expired {
        let mut topics = Topics::default();
        if let Some(log_dir) = partition.folder().and_then(|folder| folder.parent()) {
            topics.learn_from_log_dir(log_dir);
        }
        crate::model::assemble::Groups::of(state).learn_topics(&mut topics);
        Expired::of(state, &topics, self.args.dropping.retention, self.now())
    }

    fn all(
        &mut self,
        partitions: &[Partition],
        edits: &mut Edits,
        out: Option<&OutDir>,
        report: &mut Report,
    ) -> Result<Outcome> {
        self.note_names(partitions);
        let units: Vec<Vec<usize>> = match self.args.framing.partitions {
            Some(_) => vec![(0..partitions.len()).collect()],
            None => (0..partitions.len()).map(|i| vec![i]).collect(),
        };
        let mut outcome = Outcome::Clean;
        let mut without_metadata = 0;
        for unit in units {
            let read: Vec<_> = unit.iter().filter_map(|i| Some((*i, partitions.get(*i)?))).collect();
            let damaged = self.unit(&read, edits, out, report, &mut without_metadata)?;
            if damaged {
                outcome = Outcome::Findings;
            }
        }
        if without_metadata > 0 && out.is_some() {
            self.context.note(
                "no partition.metadata, by which a broker knows the topic's id: it takes a new folder for a stray one \
                 unless you put the file in; --topic-id writes it",
            );
        }
        Ok(outcome)
    }

    /// Reads some logs, and writes what they become. Says whether any was damaged.
    fn unit(
        &mut self,
        read: &[(usize, &Partition)],
        edits: &mut Edits,
        out: Option<&OutDir>,
        report: &mut Report,
        without_metadata: &mut usize,
    ) -> Result<bool> {
        let (mut feeds, mut damage) = (Vec::new(), Vec::new());
        for (place, partition) in read {
            let number = partition.number.unwrap_or_default();
            let salvage = self.survey(partition)?;
            damage.extend(Damage::of(number, &salvage.log.incidents, |source| salvage.sources.name(source)));
            self.refuse_damage(partition, &damage)?;
            let end = salvage.end();
            let Salvage { sources, log, .. } = salvage;
            let pieces = log.parts.into_iter().map(|part| part.piece).collect();
            feeds.push(Feed::new(*place, number, end, sources, pieces, self.max_inflated()));
        }
        let new = self.new_logs(read)?;
        *without_metadata += usize::from(new.iter().any(|it| it.metadata.is_none()));
        let newest = || Release::NEWEST.to_string().parse::<Coordinator>().map_err(anyhow::Error::msg);
        let asked = self.args.framing.target.or(self.args.dropping.drop_unloadable);
        let shape = self.shape();
        let mut work = Work {
            feeds,
            new,
            edits,
            shape,
            routing: self.args.framing.partitions.map_or(Routing::Stay, Routing::Shard),
            segment_bytes: self.segment_bytes(&shape),
            broker: asked.map_or_else(newest, Ok)?,
            refused: if asked.is_some() { Refused::Go } else { Refused::Stay },
            max_inflated: self.max_inflated(),
            interrupt: &self.interrupt,
        };
        let mut listing =
            Listing { log: self.log.as_mut(), context: self.context, before: self.before, read: 0, broken: None };
        let done = match out {
            Some(out) => write::write(&mut work, out, &mut listing),
            None => write::rehearse(&mut work, &mut listing),
        };
        if let Some(error) = listing.broken.take() {
            return Err(error.into());
        }
        let done = done.with_context(|| match read {
            [(_, one)] => one.path().display().to_string(),
            _ => format!("{} partitions", read.len()),
        })?;
        self.before += read.iter().map(|(_, partition)| partition.bytes()).sum::<u64>();
        let wrote = done.done.iter().zip(&work.new).enumerate().map(|(i, (written, new))| Wrote {
            partition: new.partition,
            done: written,
            end: done.ran.ends.get(i).copied().unwrap_or_default(),
            verdict: done.verdicts.get(i),
        });
        let told = Told {
            partition: match self.args.framing.partitions {
                Some(_) => None,
                None => read.first().and_then(|(_, partition)| partition.number),
            },
            paths: read.iter().map(|(_, partition)| self.named(partition)).collect(),
            tally: &done.ran.tally,
            damage: &damage,
            written: wrote.collect(),
        };
        self.note_refused(&told);
        report.told(&told)?;
        Ok(!damage.is_empty())
    }

    /// What is told of where a partition was: a redacted log does not say in which folders.
    fn named(&self, partition: &Partition) -> String {
        let path = partition.path();
        let name = if self.args.redact { path.file_name().map(Path::new) } else { None };
        name.unwrap_or(path).display().to_string()
    }

    fn survey(&mut self, partition: &Partition) -> Result<Salvage> {
        let wreck = Wreck { own: files(partition), log_start: self.log_start(partition), ..Wreck::default() };
        let manner = Manner {
            wishes: SurveyWishes { keep_doubtful: false, mend: false },
            leftovers: Take::Lost,
            max_inflated: self.max_inflated(),
        };
        let (before, context) = (self.before, &*self.context);
        let salvage = survey(&wreck, &manner, &self.interrupt, &mut |bytes| context.at(before + bytes))?;
        self.before += partition.bytes();
        Ok(salvage)
    }

    fn refuse_damage(&self, partition: &Partition, damage: &[Damage]) -> Result<()> {
        let Some(first) = damage.first().filter(|_| !self.args.skip_damage) else { return Ok(()) };
        let more = damage.len() - 1;
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        bail!(
            "{}: damaged: {}{more}; nothing was written. 'grouplog salvage' makes a sound copy and says what is lost; \
             --skip-damage leaves out what is damaged",
            partition.path().display(),
            first.words()
        )
    }

    fn shape(&self) -> Shape {
        let framing = &self.args.framing;
        Shape { codec: framing.codec.map(Into::into), upgrade: framing.upgrade, renumber: framing.renumber }
    }

    fn segment_bytes(&self, shape: &Shape) -> u64 {
        let anew = shape.renumber || self.args.framing.partitions.is_some();
        let otherwise = if anew { TOPIC_SEGMENT_BYTES } else { SEGMENT_BYTES };
        self.args.framing.segment_bytes.map_or(otherwise, |bytes| bytes as u64)
    }

    fn new_logs(&self, read: &[(usize, &Partition)]) -> Result<Vec<NewLog>> {
        let framing = &self.args.framing;
        let given = framing.topic_id.as_ref().map(|id| format!("version: 0\ntopic_id: {}", id.0).into_bytes());
        let old = |partition: &Partition| read_other(partition.dir.as_ref(), OtherKind::PartitionMetadata);
        if let Some(n) = framing.partitions {
            let metadata = match given {
                Some(given) => Some(given),
                None => common_metadata(read)?,
            };
            return Ok((0..n)
                .map(|partition| NewLog { partition, metadata: metadata.clone(), ..NewLog::default() })
                .collect());
        }
        let mut new = Vec::new();
        for (_, partition) in read {
            let number = partition.number.unwrap_or_default();
            let metadata = match &given {
                Some(given) => Some(given.clone()),
                None => old(partition)?,
            };
            if let Some(why) = metadata.as_deref().and_then(|bytes| partition_metadata(bytes).malformed) {
                self.context.note(&format!(
                    "partition {number}: partition.metadata is carried over as it is, but a broker stops at it ({why}); \
                     --topic-id writes another"
                ));
            }
            let leader_epochs = match framing.renumber {
                true => None,
                false => read_other(partition.dir.as_ref(), OtherKind::LeaderEpochs)?,
            };
            new.push(NewLog { partition: number, rolls: self.rolls(partition), metadata, leader_epochs });
        }
        Ok(new)
    }

    /// Offsets at which a segment begins: where one did.
    fn rolls(&self, partition: &Partition) -> Vec<i64> {
        let framing = &self.args.framing;
        if framing.renumber || framing.segment_bytes.is_some() {
            return Vec::new();
        }
        let start = self.log_start(partition);
        let bases = partition.segments.iter().filter_map(|segment| segment.base_offset);
        let mut rolls: Vec<_> = bases.filter(|base| start.is_none_or(|start| *base > start)).chain(start).collect();
        rolls.sort_unstable();
        rolls
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

/// The log of the partition that a group hashes to.
fn home(group: &[u8], partitions: &[Partition]) -> Result<usize> {
    let n = partition_count(partitions);
    let number = partition_of(group, n);
    partitions.iter().position(|partition| partition.number == Some(number)).ok_or_else(|| {
        let text = format!(
            "group '{}': nothing of it is in what was given, and partition {number} (of {n}), to which it hashes, was not \
             given either",
            visible(group)
        );
        Usage(text).into()
    })
}

/// How many partitions the topic has: as many as there are, if they are all there; else as it has by default.
fn partition_count(partitions: &[Partition]) -> i32 {
    let numbers: BTreeSet<_> = partitions.iter().filter_map(|partition| partition.number).collect();
    let n = i32::try_from(numbers.len()).unwrap_or(0);
    if n > 1 && numbers.last() == Some(&(n - 1)) { n } else { DEFAULT_PARTITIONS }
}

/// `partition.metadata` of all partitions, in which they must agree.
fn common_metadata(read: &[(usize, &Partition)]) -> Result<Option<Vec<u8>>> {
    let mut common: Option<Vec<u8>> = None;
    for (_, partition) in read {
        let Some(bytes) = read_other(partition.dir.as_ref(), OtherKind::PartitionMetadata)? else { continue };
        let id = |bytes: &[u8]| partition_metadata(bytes).topic_id;
        match &common {
            Some(common) if id(common) != id(&bytes) => {
                bail!(
                    "{}: another topic id than the partitions before; --topic-id says which",
                    partition.path().display()
                )
            }
            Some(_) => {}
            None => common = Some(bytes),
        }
    }
    Ok(common)
}

/// A seed that nobody knows.
fn random() -> Result<Vec<u8>> {
    use std::io::Read;
    let mut seed = vec![0; 32];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut seed));
    read.context("no randomness from /dev/urandom; give a --seed")?;
    Ok(seed)
}

/// Names, or globs.
fn names(patterns: &[OsString]) -> Result<Option<Names>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let patterns = patterns.iter().map(GroupPattern::name_or_glob).collect::<Result<Vec<_>, _>>().map_err(Usage)?;
    Ok(Some(Box::new(move |group: &[u8]| patterns.iter().any(|pattern| pattern.matches(group)))))
}

/// Lists edits, and says how far the work is.
struct Listing<'l> {
    log: Option<&'l mut SingleFile>,
    context: &'l Context,
    before: u64,
    read: u64,
    broken: Option<io::Error>,
}

impl Listener for Listing<'_> {
    fn edited(&mut self, edited: &Edited<'_>) -> io::Result<()> {
        let Some(log) = &mut self.log else { return Ok(()) };
        log.append(format!("{}\n", edit(edited)).as_bytes())
    }

    fn again(&mut self) -> io::Result<()> {
        self.read = 0;
        self.log.as_mut().map_or(Ok(()), |log| log.take_back())
    }

    fn done(&mut self) {
        self.broken = self.log.as_mut().and_then(|log| log.hold().err());
    }

    fn read(&mut self, bytes: u64) {
        self.read += bytes;
        self.context.at(self.before + self.read);
    }
}

/// The report, on its way to stdout and to the files beside the partitions.
struct Report {
    format: ReportFormat,
    stdout: Vec<u8>,
    files: Option<(FileOut, FileOut)>,
    any: bool,
}

impl Report {
    fn new(format: ReportFormat, out: Option<&OutDir>) -> Result<Self> {
        let files = match out {
            Some(out) => Some((out.open("rewrite.txt")?, out.open("rewrite.jsonl")?)),
            None => None,
        };
        Ok(Report { format, stdout: Vec::new(), files, any: false })
    }

    fn told(&mut self, told: &Told<'_>) -> Result<()> {
        if self.format == ReportFormat::Table {
            text(told, &mut self.stdout)?;
        }
        if let Some((file, _)) = &mut self.files {
            text(told, file)?;
        }
        let Report { format, stdout, files, any } = self;
        objects(told, &mut |object| {
            if let Some((_, lines)) = files {
                writeln!(lines, "{object}")?;
            }
            match format {
                ReportFormat::Table => {}
                ReportFormat::Jsonl => writeln!(stdout, "{object}")?,
                ReportFormat::Json => {
                    let before = if *any { "," } else { "[" };
                    write!(stdout, "{before}\n{object}")?;
                    *any = true;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>> {
        if self.format == ReportFormat::Json {
            self.stdout.extend_from_slice(if self.any { b"\n]\n" } else { b"[]\n" });
        }
        if let Some((text, lines)) = self.files {
            text.finish()?;
            lines.finish()?;
        }
        Ok(self.stdout)
    }
}
