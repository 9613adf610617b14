//! A partition folder: its segments in order, which of them count, and what else lies there.
//!
//! Must not know: log dirs and other products' folders ([`super::place`] does), and what segments hold beyond their
//! offsets.

use super::scan::Span;
use super::segment::{Segment, base_offset_of_name};
use crate::escape::lossless;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The topic this crate reads.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// A partition folder, listed. Opening reads names and lengths only; `.swap` files are scanned for their last offset.
#[derive(Debug)]
pub struct PartitionDir {
    /// The folder.
    pub path: PathBuf,
    /// From the folder's name, if that is `__consumer_offsets-N` with or without a suffix.
    pub partition: Option<i32>,
    /// What the folder is besides its name.
    pub variant: Variant,
    /// The segments that count, by base offset: what a broker would read after it started on this folder.
    pub segments: Vec<SegmentFile>,
    /// Segment files that do not count, and why.
    pub left_out: Vec<LeftOut>,
    /// All other files, by name.
    pub others: Vec<OtherFile>,
}

/// What a partition folder's suffix says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variant {
    /// No suffix.
    Normal,
    /// `-delete`: the partition was deleted, the files are not yet.
    Delete,
    /// `-future`: being copied here from another disk.
    Future,
    /// `-stray`: found by a broker that should not have it.
    Stray,
}

/// A segment file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name, without the folder.
    pub name: String,
    /// The first offset it may hold, from its name.
    pub base_offset: i64,
    /// From its suffix.
    pub kind: SegmentKind,
    /// In bytes.
    pub len: u64,
}

/// What a segment file's suffix says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SegmentKind {
    /// `.log`.
    Log,
    /// `.log.deleted`: removed from the log, not yet from the disk. May hold history that nothing else holds.
    Deleted,
    /// `.log.cleaned`: being written by the cleaner; perhaps unfinished.
    Cleaned,
    /// `.log.swap`: written whole by the cleaner, about to replace what it was made from.
    Swap,
}

/// A segment file that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The file.
    pub file: SegmentFile,
    /// Why.
    pub reason: Reason,
}

/// Why a segment file does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A `.deleted` file never counts.
    Deleted,
    /// A `.cleaned` file never counts: the crash came before it was finished.
    Unfinished,
    /// A `.swap` file at or above the smallest `.cleaned` one: part of a change that was not finished.
    SwapOfUnfinished {
        /// Base offset of the smallest `.cleaned` file.
        cleaned: i64,
    },
    /// An original that `.swap` files replace.
    Replaced {
        /// The least base offset of the `.swap` files that count.
        from: i64,
        /// The offset behind the last one they hold.
        to: i64,
    },
}

/// A file beside the segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name, without the folder.
    pub name: String,
    /// From its name.
    pub kind: OtherKind,
    /// What has the name.
    pub shape: Shape,
    /// In bytes; 0 for what is no regular file.
    pub len: u64,
}

/// What has the name of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A regular file, or a link to one.
    File,
    /// A folder.
    Folder,
    /// A link that leads nowhere.
    DeadLink,
    /// A pipe, a socket, a device: to open it may wait for ever.
    Special,
}

impl Shape {
    fn of(metadata: &std::fs::Metadata) -> Shape {
        match (metadata.is_file(), metadata.is_dir()) {
            (true, _) => Shape::File,
            (_, true) => Shape::Folder,
            _ => Shape::Special,
        }
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Shape::File => "a file",
            Shape::Folder => "a folder",
            Shape::DeadLink => "a link that leads nowhere",
            Shape::Special => "a pipe or device",
        }
    }
}

impl OtherFile {
    fn of(path: PathBuf, name: String, shape: Shape, len: u64) -> OtherFile {
        let kind = match (OtherKind::of(&name), shape) {
            (OtherKind::Leftover | OtherKind::Unknown, Shape::Folder) => OtherKind::Folder,
            (OtherKind::Leftover, Shape::DeadLink) => OtherKind::Unknown,
            (kind, _) => kind,
        };
        OtherFile { path, name, kind, shape, len: if shape == Shape::File { len } else { 0 } }
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.shape == Shape::File
    }

    /// Whether it has the name of a segment that would count, but is no regular file that can be read.
    pub fn is_named_segment(&self) -> bool {
        self.name.ends_with(".log") && base_offset_of_name(&self.name).is_some()
    }
}

/// What a file beside the segments is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OtherKind {
    /// `.index`: offsets to positions.
    OffsetIndex,
    /// `.timeindex`: times to offsets.
    TimeIndex,
    /// `.txnindex`: aborted transactions.
    TransactionIndex,
    /// `.snapshot`: producers' state.
    ProducerSnapshot,
    /// `leader-epoch-checkpoint`.
    LeaderEpochs,
    /// `partition.metadata`: the topic's id.
    PartitionMetadata,
    /// A file of the four kinds above (or below) that is on its way in or out: `.deleted`, `.cleaned`, `.swap`.
    Leftover,
    /// A folder that has none of these names.
    Folder,
    /// Anything else.
    Unknown,
}

impl PartitionDir {
    /// Lists a folder.
    ///
    /// # Errors
    /// If it cannot be listed, or a `.swap` file in it cannot be mapped.
    pub fn open(path: &Path) -> io::Result<PartitionDir> {
        let empty = PartitionDir::empty(path);
        let mut files = Vec::new();
        let mut others = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let name = lossless(entry.file_name().as_encoded_bytes());
            let Ok(metadata) = std::fs::metadata(entry.path()) else {
                match entry.path().symlink_metadata() {
                    Ok(_) => others.push(OtherFile::of(entry.path(), name, Shape::DeadLink, 0)),
                    // A running broker removed it meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    // A folder that may be listed, but not entered.
                    Err(error) => return Err(error),
                }
                continue;
            };
            match SegmentFile::of(entry.path(), &name, metadata.len()) {
                Some(file) if metadata.is_file() => files.push(file),
                _ => others.push(OtherFile::of(entry.path(), name, Shape::of(&metadata), metadata.len())),
            }
        }
        files.sort_by_key(|file| (file.base_offset, file.kind));
        others.sort_by(|a, b| a.name.cmp(&b.name));
        let (segments, left_out) = sort_out(files)?;
        Ok(PartitionDir { segments, left_out, others, ..empty })
    }

    /// A folder of which nothing but its name is known.
    pub fn empty(path: &Path) -> PartitionDir {
        let (partition, variant) = match PartitionName::of(path) {
            Some(name) if name.topic == OFFSETS_TOPIC => (Some(name.partition), name.variant),
            _ => (None, Variant::Normal),
        };
        let path = path.to_owned();
        PartitionDir { path, partition, variant, segments: Vec::new(), left_out: Vec::new(), others: Vec::new() }
    }

    /// Bytes of the segments that count.
    pub fn total_len(&self) -> u64 {
        self.segments.iter().map(|segment| segment.len).sum()
    }

    /// The file beside a segment that has its base offset in the name, of a kind that is there once per segment.
    pub fn twin(&self, segment: &SegmentFile, kind: OtherKind) -> Option<&OtherFile> {
        let digits = segment.name.get(..20)?;
        self.others.iter().find(|other| other.kind == kind && other.name.starts_with(digits))
    }

    /// Segments of which an index is left that is not empty, and no file that can stand for them: by base offset, each with
    /// the name of one. A broker renames the `.log` to `.deleted` before its indexes when it removes a segment, and creates
    /// it before them. While a `.cleaned` file is written the `.log` stays, so that such a file alone stands for none. A
    /// `.swap` file that holds nothing is nothing.
    pub fn segments_gone(&self) -> Vec<(i64, String)> {
        let files = self.segments.iter().chain(self.left_out.iter().map(|left_out| &left_out.file));
        let files = files.filter(|file| file.kind != SegmentKind::Cleaned && !file.is_empty_swap());
        let named = self.others.iter().filter(|other| other.is_named_segment());
        let named = named.filter_map(|other| base_offset_of_name(&other.name));
        let here: BTreeSet<i64> = files.map(|file| file.base_offset).chain(named).collect();
        let is_index = |other: &&OtherFile| {
            matches!(other.kind, OtherKind::OffsetIndex | OtherKind::TimeIndex | OtherKind::TransactionIndex)
        };
        let indexes = self.others.iter().filter(is_index).filter(|other| other.len > 0);
        let mut gone: Vec<_> = indexes
            .filter_map(|other| Some((other.name.get(..20)?.parse().ok()?, other.name.clone())))
            .filter(|(base, _)| !here.contains(base))
            .collect();
        gone.dedup_by_key(|(base, _)| *base);
        gone
    }

    /// Segments that `.swap` files replace, in order.
    pub fn replaced(&self) -> impl Iterator<Item = &SegmentFile> {
        let is_replaced = |left_out: &&LeftOut| matches!(left_out.reason, Reason::Replaced { .. });
        self.left_out.iter().filter(is_replaced).map(|left_out| &left_out.file)
    }

    /// The `.swap` files that count.
    pub fn swaps(&self) -> impl Iterator<Item = &SegmentFile> {
        self.segments.iter().filter(|segment| segment.is_swap())
    }

    /// The one file of a kind, for the kinds that are there once per partition.
    pub fn other(&self, kind: OtherKind) -> Option<&OtherFile> {
        self.others.iter().find(|other| other.kind == kind)
    }
}

impl SegmentFile {
    /// Whether it is a `.swap` file.
    pub fn is_swap(&self) -> bool {
        self.kind == SegmentKind::Swap
    }

    /// Whether it is a `.swap` file of 0 bytes. The cleaner makes such a file of segments in which nothing is alive; a crash
    /// of the machine makes one of any.
    pub fn is_empty_swap(&self) -> bool {
        self.is_swap() && self.len == 0
    }

    fn of(path: PathBuf, name: &str, len: u64) -> Option<SegmentFile> {
        let base_offset = base_offset_of_name(name)?;
        let kind = match name.rsplit('.').next() {
            Some("deleted") => SegmentKind::Deleted,
            Some("cleaned") => SegmentKind::Cleaned,
            Some("swap") => SegmentKind::Swap,
            _ => SegmentKind::Log,
        };
        Some(SegmentFile { path, name: name.to_owned(), base_offset, kind, len })
    }
}

impl OtherKind {
    pub(super) fn of(name: &str) -> OtherKind {
        match name {
            "leader-epoch-checkpoint" => return OtherKind::LeaderEpochs,
            "partition.metadata" => return OtherKind::PartitionMetadata,
            _ => {}
        }
        let Some((stem, suffix)) = name.rsplit_once('.') else { return OtherKind::Unknown };
        match suffix {
            "deleted" | "cleaned" | "swap" => return OtherKind::Leftover,
            _ if stem.len() != 20 || !stem.bytes().all(|byte| byte.is_ascii_digit()) => return OtherKind::Unknown,
            _ => {}
        }
        match suffix {
            "index" => OtherKind::OffsetIndex,
            "timeindex" => OtherKind::TimeIndex,
            "txnindex" => OtherKind::TransactionIndex,
            "snapshot" => OtherKind::ProducerSnapshot,
            _ => OtherKind::Unknown,
        }
    }
}

/// A partition folder's name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionName {
    /// The topic.
    pub topic: String,
    /// Its partition.
    pub partition: i32,
    /// From the suffix.
    pub variant: Variant,
}

impl PartitionName {
    /// Of a folder. The path is resolved where its last part is no name (`.` or `..`).
    pub fn of(path: &Path) -> Option<PartitionName> {
        match path.file_name() {
            Some(name) => PartitionName::parse(&name.to_string_lossy()),
            None => PartitionName::parse(&path.canonicalize().ok()?.file_name()?.to_string_lossy()),
        }
    }

    /// `topic-N`, or `topic-N.<32 hexadecimal digits>-delete`, `-future`, `-stray`. A topic of great length is cut
    /// short before such a suffix.
    pub fn parse(name: &str) -> Option<PartitionName> {
        let suffixes = [("-delete", Variant::Delete), ("-future", Variant::Future), ("-stray", Variant::Stray)];
        for (suffix, variant) in suffixes {
            let Some((partition, unique)) = name.strip_suffix(suffix).and_then(|name| name.rsplit_once('.')) else {
                continue;
            };
            if unique.len() == 32 && unique.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return PartitionName::plain(partition, variant);
            }
        }
        PartitionName::plain(name, Variant::Normal)
    }

    fn plain(name: &str, variant: Variant) -> Option<PartitionName> {
        let (topic, digits) = name.rsplit_once('-')?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let partition = digits.parse().ok().filter(|_| is_number && !topic.is_empty())?;
        Some(PartitionName { topic: topic.to_owned(), partition, variant })
    }
}

/// What a broker does at its start, without touching a file: throws away what a crash left unfinished, and lets
/// finished `.swap` files replace what they were made from.
fn sort_out(files: Vec<SegmentFile>) -> io::Result<(Vec<SegmentFile>, Vec<LeftOut>)> {
    let cleaned = files.iter().filter(|file| file.kind == SegmentKind::Cleaned).map(|file| file.base_offset).min();
    let mut left_out = Vec::new();
    let mut logs = BTreeMap::new();
    let mut swaps = Vec::new();
    for file in files {
        let reason = match (file.kind, cleaned) {
            (SegmentKind::Deleted, _) => Reason::Deleted,
            (SegmentKind::Cleaned, _) => Reason::Unfinished,
            (SegmentKind::Swap, Some(cleaned)) if file.base_offset >= cleaned => Reason::SwapOfUnfinished { cleaned },
            (SegmentKind::Swap, _) => {
                swaps.push(file);
                continue;
            }
            (SegmentKind::Log, _) => {
                logs.insert(file.base_offset, file);
                continue;
            }
        };
        left_out.push(LeftOut { file, reason });
    }
    if let Some((from, to)) = covered(&swaps)? {
        let replaced: Vec<i64> = logs.range(from..to).map(|(base, _)| *base).collect();
        for file in replaced.iter().filter_map(|base| logs.remove(base)) {
            left_out.push(LeftOut { file, reason: Reason::Replaced { from, to } });
        }
        logs.extend(swaps.into_iter().map(|file| (file.base_offset, file)));
    }
    Ok((logs.into_values().collect(), left_out))
}

/// The offsets that swap files cover: from the least base offset to behind the last offset in any of them.
fn covered(swaps: &[SegmentFile]) -> io::Result<Option<(i64, i64)>> {
    let Some(from) = swaps.iter().map(|file| file.base_offset).min() else { return Ok(None) };
    let mut to = from;
    for file in swaps {
        let segment = Segment::open(&file.path)?;
        let last = segment.spans().filter_map(|span| match span {
            Span::Batch(batch) => Some(batch.header().last_offset.saturating_add(1)),
            Span::Hole(_) => None,
        });
        to = to.max(last.max().unwrap_or(file.base_offset)).max(file.base_offset.saturating_add(1));
    }
    Ok(Some((from, to)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GV1, GV5, hex};
    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        dir
    }

    /// A commit whose base and last offset is moved, which its CRC does not cover.
    fn batch_at(offset: i64) -> Vec<u8> {
        let mut bytes = hex(GV1);
        bytes[..8].copy_from_slice(&offset.to_be_bytes());
        bytes
    }

    fn names(files: &[SegmentFile]) -> Vec<&str> {
        files.iter().map(|file| file.name.trim_start_matches('0')).collect()
    }

    const LOG_0: &str = "00000000000000000000.log";
    const LOG_100: &str = "00000000000000000100.log";
    const LOG_200: &str = "00000000000000000200.log";
    const SWAP_0: &str = "00000000000000000000.log.swap";

    #[test]
    fn a_swap_file_replaces_what_it_covers() {
        let dir = folder(&[(LOG_0, b""), (LOG_100, b""), (LOG_200, b""), (SWAP_0, &batch_at(150))]);
        let partition = PartitionDir::open(dir.path()).unwrap();
        assert_eq!(names(&partition.segments), [".log.swap", "200.log"]);
        let reasons: Vec<_> = partition.left_out.iter().map(|out| (out.file.base_offset, out.reason)).collect();
        let replaced = Reason::Replaced { from: 0, to: 151 };
        assert_eq!(reasons, [(0, replaced), (100, replaced)]);
    }

    #[test]
    fn a_cleaned_file_takes_swap_files_with_it() {
        let cleaned = ("00000000000000000100.log.cleaned", &b""[..]);
        let swap_100 = ("00000000000000000100.log.swap", &b""[..]);
        let dir = folder(&[(LOG_0, b""), (LOG_100, b""), (SWAP_0, &batch_at(50)), swap_100, cleaned]);
        let partition = PartitionDir::open(dir.path()).unwrap();
        // The swap file of 0 lies below the cleaned file and counts; that of 100 does not.
        assert_eq!(names(&partition.segments), [".log.swap", "100.log"]);
        let reasons: Vec<_> = partition.left_out.iter().map(|out| (out.file.base_offset, out.reason)).collect();
        assert_eq!(
            reasons,
            [
                (100, Reason::Unfinished),
                (100, Reason::SwapOfUnfinished { cleaned: 100 }),
                (0, Reason::Replaced { from: 0, to: 51 })
            ]
        );
    }

    #[test]
    fn segments_are_ordered_by_number_and_others_named() {
        let dir = folder(&[
            (LOG_200, b""),
            (LOG_0, &hex(GV5)),
            ("00000000000000000000.index", b""),
            ("00000000000000000200.timeindex", b""),
            ("00000000000000000000.index.deleted", b""),
            ("00000000000000000042.snapshot", b""),
            ("leader-epoch-checkpoint", b""),
            ("partition.metadata", b""),
            ("notes.txt", b""),
            ("7.log", b""),
            ("00000000000000000007.log.deleted", b""),
        ]);
        let partition = PartitionDir::open(dir.path()).unwrap();
        assert_eq!(names(&partition.segments), [".log", "200.log"]);
        assert_eq!(partition.left_out.iter().map(|out| out.reason).collect::<Vec<_>>(), [Reason::Deleted]);
        let kinds: Vec<_> = partition.others.iter().map(|other| other.kind).collect();
        use OtherKind::*;
        assert_eq!(
            kinds,
            [OffsetIndex, Leftover, ProducerSnapshot, TimeIndex, Unknown, LeaderEpochs, Unknown, PartitionMetadata]
        );
        assert!(partition.twin(&partition.segments[0], OffsetIndex).is_some());
        assert!(partition.twin(&partition.segments[1], OffsetIndex).is_none());
    }

    #[test]
    fn names_of_partitions() {
        let parse = |name: &str| PartitionName::parse(name).map(|name| (name.topic, name.partition, name.variant));
        let offsets = || OFFSETS_TOPIC.to_owned();
        assert_eq!(parse("__consumer_offsets-7"), Some((offsets(), 7, Variant::Normal)));
        let unique = "0123456789abcdef0123456789abcdef";
        for (suffix, variant) in [("delete", Variant::Delete), ("future", Variant::Future), ("stray", Variant::Stray)] {
            let name = format!("__consumer_offsets-7.{unique}-{suffix}");
            assert_eq!(parse(&name), Some((offsets(), 7, variant)));
        }
        assert_eq!(parse("my-topic-12"), Some(("my-topic".into(), 12, Variant::Normal)));
        for name in ["logs", "logs-", "-3", "a-+3", "__consumer_offsets-7.copy", "a-99999999999"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
