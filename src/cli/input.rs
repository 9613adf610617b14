//! From paths to partitions: what PATH names, what is read, and a clear line for what is neither.
//!
//! Must not know: what is done with the partitions.

use super::args::{Input, Reading};
use super::cmd::Outcome;
use super::talk::{Context, EmptyFolders};
use crate::log::dir::{LeftOut, OFFSETS_TOPIC, OtherFile, PartitionDir, PartitionName, Reason, SegmentFile, Variant};
use crate::log::index;
use crate::log::log_dir::{Lock, LogDirFiles};
use crate::log::place::{LogDir, Other, Place, SegmentPlace, classify};
use crate::log::{DEFAULT_MAX_INFLATED, Inflater, Segment};
use crate::words::counted;
use anyhow::{Context as _, Result, anyhow, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A segment to read.
#[derive(Debug, Clone)]
pub struct SegmentInput {
    /// Where it is.
    pub path: PathBuf,
    /// From its name, which may say none.
    pub base_offset: Option<i64>,
    /// In bytes.
    pub len: u64,
}

/// A partition to read, or a single segment of one.
#[derive(Debug)]
pub struct Partition {
    /// Which, if that is known.
    pub number: Option<i32>,
    /// Its folder, if a folder was given.
    pub dir: Option<PartitionDir>,
    /// The segments to read, in order.
    pub segments: Vec<SegmentInput>,
    /// Why its folder could not be listed, if so: then it is empty here, and only here.
    pub unlisted: Option<String>,
}

impl Partition {
    /// Of a folder.
    fn of(number: Option<i32>, dir: PartitionDir) -> Self {
        let segments = dir.segments.iter().map(segment_input).collect();
        Partition { number, dir: Some(dir), segments, unlisted: None }
    }

    /// Of a folder that cannot be listed.
    fn unlisted(number: Option<i32>, path: &Path, error: &std::io::Error) -> Self {
        let why = match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "no permission to read it; run as the broker's user, or pass a copy".to_owned()
            }
            std::io::ErrorKind::NotFound => {
                "no folder is there: a link that leads nowhere, or removed meanwhile".to_owned()
            }
            _ => error.to_string(),
        };
        Partition { unlisted: Some(why), ..Partition::of(number, PartitionDir::empty(path)) }
    }

    /// Bytes of the segments.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.len).sum()
    }

    /// The segments' files, in order.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.segments.iter().map(|segment| segment.path.clone()).collect()
    }

    /// Names of files in it that have the name of a segment that would count, and are none that can be read: broken links,
    /// folders.
    pub fn unreadable_names(&self) -> impl Iterator<Item = &str> {
        let others = self.dir.iter().flat_map(|dir| &dir.others);
        others.filter(|other| other.is_named_segment()).map(|other| other.name.as_str())
    }

    /// A line for each of these.
    fn missing_names(&self) -> impl Iterator<Item = String> {
        let path = self.path().display();
        self.unreadable_names().map(move |name| {
            format!("{path}: {name} is no file that can be read, and is missing here (segment-unreadable)")
        })
    }

    /// An error if its folder could not be listed.
    pub fn check_listed(&self) -> Result<()> {
        match &self.unlisted {
            Some(why) => Err(anyhow!("{why}").context(self.path().display().to_string())),
            None => Ok(()),
        }
    }

    /// The folder it lies in, also of a single segment.
    pub fn folder(&self) -> Option<&Path> {
        match &self.dir {
            Some(dir) => Some(&dir.path),
            None => {
                let parent = self.segments.first()?.path.parent()?;
                Some(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match &self.dir {
            Some(dir) => &dir.path,
            None => self.segments.first().map_or(Path::new(""), |segment| &segment.path),
        }
    }
}

impl Reading {
    /// A decompressor with the limit asked for.
    pub fn inflater(&self) -> Inflater {
        Inflater::with_limit(self.max_inflated.unwrap_or(DEFAULT_MAX_INFLATED))
    }
}

/// Opens what the paths name. Log dirs give their partitions by number; the paths keep their order.
pub fn open(input: &Input, context: &Context) -> Result<Vec<Partition>> {
    open_paths(&input.paths, &input.reading, context)
}

/// As [`open`], but what is named twice, by one path or by several that lead to it, is read once.
pub fn open_once(input: &Input, context: &Context) -> Result<Vec<Partition>> {
    let mut partitions = named(&input.paths, &input.reading, context)?;
    let mut seen = BTreeSet::new();
    partitions.retain(|partition| {
        let is_new = partition.path().canonicalize().map_or(true, |path| seen.insert(path));
        if !is_new {
            context.note(&format!("{}: named before, and read once", partition.path().display()));
        }
        is_new
    });
    note_twice(&partitions, context);
    note_pieces(&partitions, context);
    note_live(&partitions, context);
    Ok(partitions)
}

/// Those that could be read, with what was read of them. Of the others, and of files in them that have the name of a
/// segment and cannot be read, stderr tells, and the outcome. Fails if nothing could be read.
pub fn readable<T>(
    partitions: Vec<Partition>,
    read: Vec<Result<T>>,
    context: &Context,
) -> Result<(Vec<Partition>, Vec<T>, Outcome)> {
    let listed = partitions.iter().map(Partition::check_listed);
    let read: Vec<_> = listed.zip(read).map(|(listed, read)| listed.and(read)).collect();
    if !read.is_empty() && read.iter().all(Result::is_err) {
        read.into_iter().collect::<Result<Vec<_>>>()?;
        return Ok((Vec::new(), Vec::new(), Outcome::Findings));
    }
    let mut outcome = Outcome::Clean;
    let mut both = (Vec::new(), Vec::new());
    for (partition, read) in partitions.into_iter().zip(read) {
        for line in partition.missing_names() {
            outcome = Outcome::Findings;
            context.note(&line);
        }
        match read {
            Ok(read) => {
                both.0.push(partition);
                both.1.push(read);
            }
            Err(error) => {
                outcome = Outcome::Findings;
                context.note(&not_read(partition.path(), error.root_cause()));
            }
        }
    }
    Ok((both.0, both.1, outcome))
}

fn not_read(path: &Path, why: impl std::fmt::Display) -> String {
    format!("{}: not read: {why} (segment-unreadable)", path.display())
}

/// As [`open`].
pub fn open_paths(paths: &[PathBuf], reading: &Reading, context: &Context) -> Result<Vec<Partition>> {
    let mut partitions = named(paths, reading, context)?;
    note_twice(&partitions, context);
    note_live(&partitions, context);
    if !context.keeps_unreadable_folders() {
        listed(&mut partitions, context)?;
    }
    note_missing(&partitions, context);
    Ok(partitions)
}

/// Leaves those whose folders could be listed, and tells of the others. Fails if none is left.
pub fn listed(partitions: &mut Vec<Partition>, context: &Context) -> Result<()> {
    if partitions.iter().all(|partition| partition.unlisted.is_some()) {
        partitions.iter().try_for_each(Partition::check_listed)?;
    }
    partitions.retain(|partition| {
        if let Some(why) = &partition.unlisted {
            context.note(&not_read(partition.path(), why));
            context.miss();
        }
        partition.unlisted.is_none()
    });
    Ok(())
}

/// Says which segments are missing because they are no files that can be read, unless the verb tells of them itself.
fn note_missing(partitions: &[Partition], context: &Context) {
    for line in partitions.iter().flat_map(Partition::missing_names).filter(|_| !context.tells_of_files()) {
        context.note(&line);
        context.miss();
    }
}

fn named(paths: &[PathBuf], reading: &Reading, context: &Context) -> Result<Vec<Partition>> {
    let mut partitions = Vec::new();
    for path in paths {
        let named = || path.display().to_string();
        let place = match classify(path) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let number = PartitionName::of(path).filter(|name| name.topic == OFFSETS_TOPIC);
                let number = reading.partition.or(number.map(|name| name.partition));
                partitions.push(Partition::unlisted(number, path, &error));
                continue;
            }
            place => place.map_err(|error| not_there(error, path))?,
        };
        match place {
            Place::Segment(place) => partitions.push(segment(path, &place, reading)?),
            Place::Partition { partition, variant } => {
                if let Some(wanted) = reading.partition.filter(|wanted| *wanted != partition) {
                    bail!("{}: partition {partition}, but --partition asks for {wanted}", named());
                }
                note_variant(path, variant, context);
                partitions.push(folder(path, Some(partition), context)?);
            }
            Place::Copy => match reading.partition {
                Some(number) => partitions.push(folder(path, Some(number), context)?),
                None => bail!("{}: segments, but no partition in the folder's name; add --partition N", named()),
            },
            Place::LogDir(log_dir) => of_log_dir(path, &log_dir, reading, context, &mut partitions)?,
            Place::Other(other) => bail!("{}: {}", named(), what_it_is(&other)),
        }
    }
    Ok(partitions)
}

/// Says, once for every log dir, that a broker has it or may have it.
fn note_live(partitions: &[Partition], context: &Context) {
    let mut seen = BTreeSet::new();
    for partition in partitions {
        let Some(folder) = partition.folder().and_then(|folder| std::path::absolute(folder).ok()) else { continue };
        let Some(log_dir) = folder.parent().filter(|dir| seen.insert(dir.to_path_buf())) else { continue };
        // What cannot be read there is for others to say.
        let Ok(Some(files)) = LogDirFiles::of(log_dir) else { continue };
        let path = log_dir.display();
        match files.lock {
            Lock::Held { .. } => context.note(&format!(
                "{path}: a broker is running on it; what is written meanwhile may be missing or look cut"
            )),
            Lock::NoFile | Lock::Unknown if files.meta.is_some() && !files.stopped_cleanly && is_fresh(partition) => {
                context.note(&format!(
                    "{path}: may be live: a segment was written within the last minute, and no lock file tells whether a \
                     broker is running on it"
                ));
            }
            _ => {}
        }
    }
}

/// Whether its last segment was written within the last minute.
fn is_fresh(partition: &Partition) -> bool {
    let Some(last) = partition.segments.last() else { return false };
    let written = std::fs::metadata(&last.path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < Duration::from_secs(60)))
}

/// Why a path cannot be looked at, and what to pass instead.
pub fn not_there(error: std::io::Error, path: &Path) -> anyhow::Error {
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    let path = path.display();
    match error.kind() {
        NotFound => {
            anyhow!("{path}: no such file or folder; pass a .log file, a folder __consumer_offsets-N or a log dir")
        }
        PermissionDenied => anyhow!("{path}: no permission to read it; run as the broker's user, or pass a copy"),
        _ => anyhow::Error::new(error).context(path.to_string()),
    }
}

fn segment(path: &Path, place: &SegmentPlace, reading: &Reading) -> Result<Partition> {
    let len = std::fs::metadata(path).with_context(|| path.display().to_string())?.len();
    let one = SegmentInput { path: path.to_owned(), base_offset: place.base_offset, len };
    let number = reading.partition.or(place.partition);
    Ok(Partition { number, dir: None, segments: vec![one], unlisted: None })
}

fn folder(path: &Path, number: Option<i32>, context: &Context) -> Result<Partition> {
    let dir = match PartitionDir::open(path) {
        Ok(dir) => dir,
        Err(error) => return Ok(Partition::unlisted(number, path, &error)),
    };
    let has_leftovers = !dir.left_out.is_empty();
    let keeps_unreadable = context.keeps_unreadable_folders() && has_unreadable(&dir);
    if dir.segments.is_empty()
        && !keeps_unreadable
        && !(has_leftovers && context.empty_folders() == EmptyFolders::KeptWithLeftovers)
    {
        let others = dir.left_out.len() + dir.others.len();
        let what = if others == 0 {
            "an empty folder".to_owned()
        } else {
            format!("{}, but no segment that counts", counted(others as u64, "file"))
        };
        bail!("{}: {what}; pass a folder with .log files in it, or a .log file", path.display());
    }
    note_left_out(&dir, context);
    Ok(Partition::of(number, dir))
}

fn has_unreadable(dir: &PartitionDir) -> bool {
    dir.others.iter().any(OtherFile::is_named_segment)
}

fn segment_input(file: &SegmentFile) -> SegmentInput {
    SegmentInput { path: file.path.clone(), base_offset: Some(file.base_offset), len: file.len }
}

fn of_log_dir(
    path: &Path,
    log_dir: &LogDir,
    reading: &Reading,
    context: &Context,
    partitions: &mut Vec<Partition>,
) -> Result<()> {
    let mut found = 0;
    for place in &log_dir.partitions {
        if reading.partition.is_some_and(|wanted| wanted != place.partition) {
            continue;
        }
        if place.variant != Variant::Normal && !reading.include_stray {
            context.note(&format!("left out: {} ({})", place.path.display(), variant_words(place.variant)));
            continue;
        }
        found += 1;
        let number = Some(place.partition);
        match PartitionDir::open(&place.path) {
            Err(error) => partitions.push(Partition::unlisted(number, &place.path, &error)),
            Ok(dir) if dir.segments.is_empty() && !counts_without_segments(&dir, context) => {}
            Ok(dir) => {
                note_left_out(&dir, context);
                partitions.push(Partition::of(number, dir));
            }
        }
    }
    match (found, reading.partition) {
        (0, Some(wanted)) => bail!("{}: no partition {wanted} of __consumer_offsets", path.display()),
        (0, None) => bail!("{}: no partition of __consumer_offsets that counts", path.display()),
        _ => Ok(()),
    }
}

/// Whether a folder of a log dir counts in which no segment does. Says that there is none, unless the verb tells of it.
fn counts_without_segments(dir: &PartitionDir, context: &Context) -> bool {
    if context.tells_of_files() || context.keeps_unreadable_folders() && has_unreadable(dir) {
        return true;
    }
    let counts = context.empty_folders() != EmptyFolders::LeftOut;
    context.note(&format!("{}: no segments{}", dir.path.display(), if counts { " that count" } else { "" }));
    counts
}

fn variant_words(variant: Variant) -> &'static str {
    match variant {
        Variant::Normal => "a partition",
        Variant::Delete => "deleted; --include-stray reads it",
        Variant::Future => "being moved from another disk; --include-stray reads it",
        Variant::Stray => "a broker found that it should not have it; --include-stray reads it",
    }
}

fn note_variant(path: &Path, variant: Variant, context: &Context) {
    let what = match variant {
        Variant::Normal => return,
        Variant::Delete => "the folder of a deleted partition",
        Variant::Future => "a partition on its move from another disk, perhaps unfinished",
        Variant::Stray => "a folder that its broker set aside as not its own",
    };
    context.note(&format!("{}: {what}", path.display()));
}

fn note_left_out(dir: &PartitionDir, context: &Context) {
    dir.left_out.iter().for_each(|left_out| context.left_out(&left_out_line(left_out)));
}

fn left_out_line(left_out: &LeftOut) -> String {
    format!("left out: {} ({})", left_out.file.path.display(), left_out_reason(left_out))
}

/// Why a segment file does not count.
pub fn left_out_reason(left_out: &LeftOut) -> String {
    match left_out.reason {
        Reason::Deleted => "deleted segment; name it to read it".to_owned(),
        Reason::Unfinished => "left by a cleaning that did not finish".to_owned(),
        Reason::SwapOfUnfinished { cleaned } => {
            format!("part of a cleaning that did not finish: a .cleaned file stands at {cleaned}")
        }
        Reason::Replaced { from, to } => format!("replaced by .swap files that hold offsets {from} to {}", to - 1),
    }
}

fn note_twice(partitions: &[Partition], context: &Context) {
    let mut seen: BTreeMap<i32, usize> = BTreeMap::new();
    partitions
        .iter()
        .filter(|p| p.dir.is_some())
        .filter_map(|p| p.number)
        .for_each(|n| *seen.entry(n).or_default() += 1);
    for (number, times) in seen.into_iter().filter(|(_, times)| *times > 1) {
        context.note(&format!("partition {number} stands here {times} times (replicas, or a copy on another disk)"));
    }
}

/// Says that segments which are named one by one are no log: what ends in the next one looks open.
fn note_pieces(partitions: &[Partition], context: &Context) {
    let mut pieces: BTreeMap<&Path, usize> = BTreeMap::new();
    for folder in partitions.iter().filter(|it| it.dir.is_none()).filter_map(Partition::folder) {
        *pieces.entry(folder).or_default() += 1;
    }
    for (folder, count) in pieces.into_iter().filter(|(_, count)| *count > 1) {
        context.note(&format!(
            "{}: {count} segments, each read as a log of its own, in which a transaction looks open that ends in the next; \
             name the folder instead",
            folder.display()
        ));
    }
}

/// What something is that is no partition of `__consumer_offsets`, and what to pass instead.
pub fn what_it_is(other: &Other) -> String {
    match other {
        Other::InternalTopic(name) => {
            format!("a partition of {}, not of __consumer_offsets; pass a folder __consumer_offsets-N", name.topic)
        }
        Other::UserTopic(name) => {
            format!(
                "a partition of the topic {}, not of __consumer_offsets; pass a folder __consumer_offsets-N",
                name.topic
            )
        }
        Other::LogDirWithoutOffsets { partitions } => format!(
            "a log dir with {}, none of them of __consumer_offsets; pass the log dir of a broker that holds some",
            counted(*partitions as u64, "partition")
        ),
        Other::Above(paths) => {
            let shown: Vec<_> = paths.iter().take(5).map(|path| path.display().to_string()).collect();
            let more = if paths.len() > shown.len() { ", ..." } else { "" };
            format!("not a log dir itself, but it holds some; pass {}{more}", shown.join(", "))
        }
        Other::Redpanda => {
            "Redpanda's storage, which is another format than Kafka's; only Kafka's segments can be read, \
             so read the topic through Redpanda and rpk instead"
                .to_owned()
        }
        Other::BookKeeper => {
            "Apache BookKeeper's storage (Pulsar), not Kafka's; only Kafka's segments can be read".to_owned()
        }
        Other::EmptyFolder => {
            "an empty folder; pass a folder __consumer_offsets-N or a log dir that holds some".to_owned()
        }
        Other::UnknownFolder => {
            "a folder without segments; pass a folder __consumer_offsets-N or a log dir that holds some".to_owned()
        }
        Other::SideFile(_) => {
            "a file that goes with a segment, not a segment; pass the .log file or the folder".to_owned()
        }
        Other::LogDirFile(_) => "a file of a log dir, not a segment; pass the log dir".to_owned(),
        Other::EmptyFile => "an empty file whose name is not that of a segment; pass a .log file".to_owned(),
        Other::TextFile => "a text file, not a segment; pass a .log file such as 00000000000000000000.log".to_owned(),
        Other::Archive => "an archive; unpack it and pass what is inside".to_owned(),
        Other::UnknownFile => "not a segment of Kafka's; pass a .log file such as 00000000000000000000.log".to_owned(),
        Other::SpecialFile => "not a regular file; save it as a .log file and pass that".to_owned(),
    }
}

/// What a place is that should have been a log dir.
pub fn not_a_log_dir(place: &Place) -> String {
    match place {
        Place::Other(other) => what_it_is(other),
        Place::LogDir(_) => "a log dir".to_owned(),
        Place::Partition { .. } => "a partition folder; pass the log dir it lies in".to_owned(),
        Place::Copy => "a folder of segments; pass a log dir that holds folders __consumer_offsets-N".to_owned(),
        Place::Segment(_) => "a segment; pass a log dir that holds folders __consumer_offsets-N".to_owned(),
    }
}

/// Where in a segment a stretch can begin, as its index files hint; 0 where they are missing or do not hold.
pub fn start_hint(file: &SegmentInput, segment: &Segment, offsets: &Range<i64>, times: Option<&Range<i64>>) -> u64 {
    let Some(base_offset) = file.base_offset else { return 0 };
    let twin = |extension| crate::files::read(&file.path.with_extension(extension)).unwrap_or_default();
    let by_time = times.is_some_and(|times| times.start > i64::MIN);
    if offsets.start <= base_offset && !by_time {
        return 0;
    }
    let offset_index = index::offset_index(&twin("index"), base_offset);
    let from_offset = index::position_for_offset(segment, &offset_index, offsets.start);
    let from_time = times.filter(|_| by_time).map_or(0, |times| {
        let time_index = index::time_index(&twin("timeindex"), base_offset);
        index::position_for_time(segment, &time_index, &offset_index, times.start)
    });
    from_offset.max(from_time)
}
