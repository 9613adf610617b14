//! What a path is: a segment, a partition, a log dir, or something else that can be named.
//!
//! Must not know: how to say it. Gives the facts; reads names and a few first bytes, no segments.

use super::dir::{OFFSETS_TOPIC, OtherKind, PartitionName, SegmentKind, Variant};
use super::frame::{Shape, shape};
use super::segment::base_offset_of_name;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How many first bytes of a file are looked at.
const HEAD: u64 = 4096;

/// What a path is.
#[derive(Debug)]
pub enum Place {
    /// One segment file.
    Segment(SegmentPlace),
    /// A partition folder of the offsets topic, whatever it holds.
    Partition {
        /// From its name.
        partition: i32,
        /// From its suffix.
        variant: Variant,
    },
    /// A folder with segments in it and a name that says no partition: somebody's copy.
    Copy,
    /// A log dir that holds partitions of the offsets topic.
    LogDir(LogDir),
    /// Something this crate does not read.
    Other(Other),
}

/// One segment file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentPlace {
    /// From its name, which may say none.
    pub base_offset: Option<i64>,
    /// From its suffix.
    pub kind: SegmentKind,
    /// From the name of the folder it lies in, if that is one of the offsets topic.
    pub partition: Option<i32>,
}

/// A broker's log dir.
#[derive(Debug, Default)]
pub struct LogDir {
    /// The partitions of the offsets topic, by number; copies with a suffix behind the normal ones.
    pub partitions: Vec<PartitionPlace>,
    /// The folders of all other partitions, by name: internal and user topics.
    pub others: Vec<PartitionOther>,
    /// Files and folders that are no partitions, by name.
    pub files: Vec<PathBuf>,
}

/// A partition folder inside a log dir.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionPlace {
    /// The folder.
    pub path: PathBuf,
    /// The partition.
    pub partition: i32,
    /// From its suffix.
    pub variant: Variant,
}

/// A partition folder of another topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOther {
    /// The folder.
    pub path: PathBuf,
    /// Topic, partition and suffix.
    pub name: PartitionName,
}

/// Something this crate does not read.
#[derive(Debug, PartialEq, Eq)]
pub enum Other {
    /// A partition of another internal topic: `__transaction_state`, `__share_group_state`, `__cluster_metadata` ...
    InternalTopic(PartitionName),
    /// A partition of a user's topic.
    UserTopic(PartitionName),
    /// A log dir without a partition of the offsets topic.
    LogDirWithoutOffsets {
        /// How many partitions of other topics it holds.
        partitions: usize,
    },
    /// A folder above log dirs or partitions: these are what to pass instead.
    Above(Vec<PathBuf>),
    /// A segment, a partition or a data folder of Redpanda, which keeps a topic of the same name in its own format.
    Redpanda,
    /// A file or a data folder of Apache BookKeeper, Pulsar's storage.
    BookKeeper,
    /// A folder without anything in it.
    EmptyFolder,
    /// A folder with nothing in it that is known.
    UnknownFolder,
    /// A file of a partition folder that is no segment.
    SideFile(OtherKind),
    /// A file of a log dir: `replication-offset-checkpoint`, `meta.properties` and so on, by name.
    LogDirFile(String),
    /// A file of 0 bytes whose name says no segment.
    EmptyFile,
    /// Text, such as a broker's own log.
    TextFile,
    /// A gzip, zip, zstd, xz, bzip2 or tar archive.
    Archive,
    /// A file with nothing in it that is known.
    UnknownFile,
    /// A pipe, a socket, a device.
    SpecialFile,
}

/// Says what a path is.
///
/// # Errors
/// If it does not exist or cannot be looked at.
pub fn classify(path: &Path) -> io::Result<Place> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        classify_folder(path)
    } else if metadata.is_file() {
        classify_file(path, metadata.len())
    } else {
        Ok(Place::Other(Other::SpecialFile))
    }
}

fn classify_file(path: &Path, length: u64) -> io::Result<Place> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let segment = |base_offset| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let partition = PartitionName::of(parent).filter(|name| name.topic == OFFSETS_TOPIC);
        let kind = match name.rsplit('.').next() {
            Some("deleted") => SegmentKind::Deleted,
            Some("cleaned") => SegmentKind::Cleaned,
            Some("swap") => SegmentKind::Swap,
            _ => SegmentKind::Log,
        };
        SegmentPlace { base_offset, kind, partition: partition.map(|name| name.partition) }
    };
    if let Some(base_offset) = base_offset_of_name(&name) {
        return Ok(match other_topic_of_parent(path) {
            Some(other) => Place::Other(other),
            None => Place::Segment(segment(Some(base_offset))),
        });
    }
    if is_redpanda_segment(&name) {
        return Ok(Place::Other(Other::Redpanda));
    }
    match OtherKind::of(&name) {
        OtherKind::Unknown => {}
        kind => return Ok(Place::Other(Other::SideFile(kind))),
    }
    if is_log_dir_file(&name) {
        return Ok(Place::Other(Other::LogDirFile(name.into_owned())));
    }
    if length == 0 {
        return Ok(Place::Other(Other::EmptyFile));
    }
    let head = read_head(path)?;
    Ok(match of_bytes(&head, length) {
        None => Place::Segment(segment(None)),
        Some(other) => Place::Other(other),
    })
}

/// A segment in a folder of another topic is that topic's, not ours.
fn other_topic_of_parent(path: &Path) -> Option<Other> {
    other_topic(PartitionName::of(path.parent().filter(|parent| !parent.as_os_str().is_empty())?)?)
}

fn other_topic(name: PartitionName) -> Option<Other> {
    match name.topic.as_str() {
        OFFSETS_TOPIC => None,
        "__transaction_state" | "__share_group_state" | "__cluster_metadata" | "__remote_log_metadata" => {
            Some(Other::InternalTopic(name))
        }
        _ => Some(Other::UserTopic(name)),
    }
}

fn read_head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// What first bytes are; None for batches.
fn of_bytes(head: &[u8], length: u64) -> Option<Other> {
    if head.starts_with(b"BKLE") {
        return Some(Other::BookKeeper);
    }
    let archives: [&[u8]; 6] =
        [&[0x1f, 0x8b], b"PK\x03\x04", &[0x28, 0xb5, 0x2f, 0xfd], b"\xfd7zXZ\0", b"BZh", b"070701"];
    if archives.iter().any(|magic| head.starts_with(magic)) || head.get(257..262) == Some(b"ustar") {
        return Some(Other::Archive);
    }
    let is_batch = match shape(head) {
        Shape::Sound(_) => true,
        // The batch may be longer than the head that was read.
        Shape::Torn { need } => head.len() >= 61 && need as u64 <= length && head.first() == Some(&0),
        Shape::Loose(_) | Shape::Bad(_) => false,
    };
    if is_batch {
        return None;
    }
    let is_text = head.utf8_chunks().all(|chunk| {
        // The head may be cut inside a character.
        chunk.invalid().len() < 4
            && !chunk.valid().contains(|c: char| c < ' ' && !matches!(c, '\n' | '\r' | '\t' | '\x1b'))
    }) && head.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() <= 1;
    Some(if is_text { Other::TextFile } else { Other::UnknownFile })
}

/// `<base offset>-<term>-v1.log`.
fn is_redpanda_segment(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = name.strip_suffix(".log").unwrap_or_default().split('-');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(base), Some(term), Some(version), None) => {
            is_number(base) && is_number(term) && version.strip_prefix('v').is_some_and(is_number)
        }
        _ => false,
    }
}

fn is_log_dir_file(name: &str) -> bool {
    matches!(
        name,
        "cleaner-offset-checkpoint"
            | "recovery-point-offset-checkpoint"
            | "replication-offset-checkpoint"
            | "log-start-offset-checkpoint"
            | "meta.properties"
            | "bootstrap.checkpoint"
            | ".kafka_cleanshutdown"
            | ".lock"
    )
}

/// A folder's entries.
struct Entry {
    path: PathBuf,
    name: String,
    is_dir: bool,
    /// Whether it is a link that leads nowhere, or nobody may ask what it is.
    is_lost: bool,
}

fn list(path: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Links are followed: log dirs are often put together from them.
        let metadata = std::fs::metadata(&path);
        let is_dir = metadata.as_ref().is_ok_and(std::fs::Metadata::is_dir);
        entries.push(Entry { is_dir, is_lost: metadata.is_err(), name, path });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn classify_folder(path: &Path) -> io::Result<Place> {
    let entries = list(path)?;
    if is_redpanda_folder(&entries) {
        return Ok(Place::Other(Other::Redpanda));
    }
    let holds_segments = entries.iter().any(|entry| !entry.is_dir && base_offset_of_name(&entry.name).is_some());
    match PartitionName::of(path) {
        Some(PartitionName { topic, partition, variant }) if topic == OFFSETS_TOPIC => {
            return Ok(Place::Partition { partition, variant });
        }
        Some(name) if holds_segments => {
            return Ok(other_topic(name).map_or(Place::Copy, Place::Other));
        }
        _ if holds_segments => return Ok(Place::Copy),
        _ => {}
    }
    if entries.is_empty() {
        return Ok(Place::Other(Other::EmptyFolder));
    }
    let log_dir = log_dir(&entries);
    if !log_dir.partitions.is_empty() {
        return Ok(Place::LogDir(log_dir));
    }
    let has_its_files = entries.iter().any(|entry| !entry.is_dir && is_log_dir_file(&entry.name));
    let others: Vec<_> =
        log_dir.others.iter().filter(|other| has_its_files || looks_like_partition(&other.path)).collect();
    if has_its_files || !others.is_empty() {
        return Ok(Place::Other(Other::LogDirWithoutOffsets { partitions: others.len() }));
    }
    if is_bookkeeper_folder(&entries) {
        return Ok(Place::Other(Other::BookKeeper));
    }
    of_folders_below(&entries)
}

fn log_dir(entries: &[Entry]) -> LogDir {
    let mut log_dir = LogDir::default();
    for entry in entries {
        // What is lost has a name, and is missed.
        match PartitionName::parse(&entry.name).filter(|_| entry.is_dir || entry.is_lost) {
            Some(PartitionName { topic, partition, variant }) if topic == OFFSETS_TOPIC => {
                log_dir.partitions.push(PartitionPlace { path: entry.path.clone(), partition, variant });
            }
            Some(name) => log_dir.others.push(PartitionOther { path: entry.path.clone(), name }),
            None => log_dir.files.push(entry.path.clone()),
        }
    }
    log_dir.partitions.sort_by_key(|place| (place.partition, place.variant != Variant::Normal));
    log_dir
}

fn looks_like_partition(path: &Path) -> bool {
    let entries = list(path).unwrap_or_default();
    entries.iter().any(|entry| {
        base_offset_of_name(&entry.name).is_some() || OtherKind::of(&entry.name) == OtherKind::PartitionMetadata
    })
}

/// Redpanda keeps `<namespace>/<topic>/<partition>_<revision>/<base>-<term>-v1.log`.
fn is_redpanda_folder(entries: &[Entry]) -> bool {
    let is_partition = |entry: &Entry| {
        let numbers = entry.name.split_once('_');
        entry.is_dir
            && numbers.is_some_and(|(a, b)| {
                [a, b].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
            })
            && list(&entry.path).unwrap_or_default().iter().any(|below| is_redpanda_segment(&below.name))
    };
    let topic = |entry: &Entry| entry.is_dir && list(&entry.path).unwrap_or_default().iter().any(is_partition);
    let has = |wanted: &str| entries.iter().any(|entry| entry.is_dir && entry.name == wanted);
    entries.iter().any(|entry| !entry.is_dir && is_redpanda_segment(&entry.name))
        || entries.iter().any(is_partition)
        || entries.iter().any(|entry| entry.name.starts_with("__consumer_offsets") && topic(entry))
        || (has("redpanda") && (has("kafka") || has("kafka_internal")))
}

/// BookKeeper keeps entry logs named in hexadecimal in `current`, beside `lastId` and ledger indexes.
fn is_bookkeeper_folder(entries: &[Entry]) -> bool {
    let has = |wanted: &str| entries.iter().any(|entry| entry.name == wanted);
    let is_entry_log = |entry: &Entry| {
        let stem = entry.name.strip_suffix(".log").unwrap_or_default();
        let is_hex = !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
        !entry.is_dir && is_hex && read_head(&entry.path).is_ok_and(|head| head.starts_with(b"BKLE"))
    };
    let current = entries.iter().find(|entry| entry.is_dir && entry.name == "current");
    let below = current.and_then(|entry| list(&entry.path).ok()).unwrap_or_default();
    entries.iter().any(is_entry_log)
        || below.iter().any(|entry| is_entry_log(entry) || entry.name == "lastId" || entry.name == "VERSION")
        || (has("ledgers") && has("journal"))
        || (has("lastId") && has("lastMark"))
}

fn of_folders_below(entries: &[Entry]) -> io::Result<Place> {
    let holds_partitions = |entry: &&Entry| {
        let below = list(&entry.path).unwrap_or_default();
        below.iter().any(|entry| {
            entry.is_dir && PartitionName::parse(&entry.name).is_some_and(|name| name.topic == OFFSETS_TOPIC)
        })
    };
    let below: Vec<_> =
        entries.iter().filter(|entry| entry.is_dir).filter(holds_partitions).map(|entry| entry.path.clone()).collect();
    if !below.is_empty() {
        return Ok(Place::Other(Other::Above(below)));
    }
    let is_store = |entry: &Entry| entry.is_dir && list(&entry.path).is_ok_and(|below| is_bookkeeper_folder(&below));
    Ok(Place::Other(if entries.iter().any(is_store) { Other::BookKeeper } else { Other::UnknownFolder }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{GV1, batch, hex, record};
    use super::*;

    /// A folder of files, whose names may have folders before them; a name that ends in a slash is a folder.
    fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = dir.path().join(name);
            if name.ends_with('/') {
                std::fs::create_dir_all(&path).unwrap();
                continue;
            }
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        dir
    }

    fn other(files: &[(&str, &[u8])], path: &str) -> Other {
        let dir = tree(files);
        match classify(&dir.path().join(path)).unwrap() {
            Place::Other(Other::Above(paths)) => {
                Other::Above(paths.iter().map(|path| path.strip_prefix(dir.path()).unwrap().to_owned()).collect())
            }
            Place::Other(other) => other,
            place => panic!("{place:?}"),
        }
    }

    const LOG: &str = "00000000000000000000.log";

    #[test]
    fn what_is_read() {
        let unique = "0123456789abcdef0123456789abcdef";
        let stray = format!("data/__consumer_offsets-7.{unique}-stray/{LOG}");
        let dir = tree(&[
            ("data/__consumer_offsets-10/00000000000000000000.log", b""),
            ("data/__consumer_offsets-7/00000000000000000005.log.swap", b""),
            (&stray, b""),
            ("data/orders-0/00000000000000000000.log", b""),
            ("data/meta.properties", b""),
            ("copy/00000000000000000000.log", b""),
            ("copy/saved", &hex(GV1)),
        ]);
        let place = |path: &str| classify(&dir.path().join(path)).unwrap();
        let Place::LogDir(log_dir) = place("data") else { panic!("no log dir") };
        let found: Vec<_> = log_dir.partitions.iter().map(|place| (place.partition, place.variant)).collect();
        assert_eq!(found, [(7, Variant::Normal), (7, Variant::Stray), (10, Variant::Normal)]);
        assert_eq!((log_dir.others.len(), log_dir.files.len()), (1, 1));
        assert!(matches!(
            place("data/__consumer_offsets-10"),
            Place::Partition { partition: 10, variant: Variant::Normal }
        ));
        assert!(matches!(place("copy"), Place::Copy));
        let segment = |path| match place(path) {
            Place::Segment(segment) => (segment.base_offset, segment.kind, segment.partition),
            place => panic!("{place:?}"),
        };
        assert_eq!(segment("copy/saved"), (None, SegmentKind::Log, None));
        assert_eq!(segment("copy/00000000000000000000.log"), (Some(0), SegmentKind::Log, None));
        let swap = "data/__consumer_offsets-7/00000000000000000005.log.swap";
        assert_eq!(segment(swap), (Some(5), SegmentKind::Swap, Some(7)));
        assert!(classify(&dir.path().join("nothing")).is_err());
    }

    #[test]
    fn other_topics() {
        let files: &[(&str, &[u8])] =
            &[("orders-0/00000000000000000000.log", b""), ("__transaction_state-3/00000000000000000000.log", b"")];
        let name = |topic: &str, partition| PartitionName { topic: topic.into(), partition, variant: Variant::Normal };
        assert_eq!(other(files, "orders-0"), Other::UserTopic(name("orders", 0)));
        assert_eq!(other(files, "orders-0/00000000000000000000.log"), Other::UserTopic(name("orders", 0)));
        assert_eq!(other(files, "__transaction_state-3"), Other::InternalTopic(name("__transaction_state", 3)));
        assert_eq!(other(files, ""), Other::LogDirWithoutOffsets { partitions: 2 });
    }

    #[test]
    fn other_products() {
        let redpanda: &[(&str, &[u8])] = &[("kafka/__consumer_offsets/3_18/0-1-v1.log", b"abc")];
        for path in [
            "kafka/__consumer_offsets/3_18/0-1-v1.log",
            "kafka/__consumer_offsets/3_18",
            "kafka/__consumer_offsets",
            "kafka",
        ] {
            assert_eq!(other(redpanda, path), Other::Redpanda, "{path}");
        }
        let pulsar: &[(&str, &[u8])] =
            &[("bk/current/1a.log", b"BKLE\0\0\0\x01"), ("bk/current/lastId", b""), ("bk/current/0/1.idx", b"")];
        for path in ["bk/current/1a.log", "bk/current", "bk", ""] {
            assert_eq!(other(pulsar, path), Other::BookKeeper, "{path}");
        }
        assert_eq!(other(&[("ledgers/", b""), ("journal/", b"")], ""), Other::BookKeeper);
    }

    #[test]
    fn folders_that_are_not_it() {
        assert_eq!(other(&[("empty/", b"")], "empty"), Other::EmptyFolder);
        assert_eq!(other(&[("a/b.txt", b"x")], "a"), Other::UnknownFolder);
        assert_eq!(other(&[("meta.properties", b"x")], ""), Other::LogDirWithoutOffsets { partitions: 0 });
        let above: &[(&str, &[u8])] = &[("disk1/__consumer_offsets-1/x", b""), ("disk2/__consumer_offsets-2/x", b"")];
        assert_eq!(other(above, ""), Other::Above(vec!["disk1".into(), "disk2".into()]));
    }

    #[test]
    fn files_that_are_not_it() {
        let long = batch(0, 0, 1, &record(0, b"key", &[b'v'; 5000]));
        let files: &[(&str, &[u8])] = &[
            ("server.log", b"[2024-01-01 00:00:00,000] INFO started\n"),
            ("utf8.log", "gr\u{fc}\u{df}e".as_bytes()),
            ("00000000000000000000.timeindex", b"abc"),
            ("replication-offset-checkpoint", b"0\n0\n"),
            ("nothing", b""),
            ("backup.tgz", &[0x1f, 0x8b, 8, 0]),
            ("noise", &[0xff, 0x80, 0, 3, 200, 201, 0, 1]),
            ("long", &long),
        ];
        assert_eq!(other(files, "server.log"), Other::TextFile);
        assert_eq!(other(files, "utf8.log"), Other::TextFile);
        assert_eq!(other(files, "00000000000000000000.timeindex"), Other::SideFile(OtherKind::TimeIndex));
        assert_eq!(
            other(files, "replication-offset-checkpoint"),
            Other::LogDirFile("replication-offset-checkpoint".into())
        );
        assert_eq!(other(files, "nothing"), Other::EmptyFile);
        assert_eq!(other(files, "backup.tgz"), Other::Archive);
        assert_eq!(other(files, "noise"), Other::UnknownFile);
        let dir = tree(files);
        assert!(matches!(classify(&dir.path().join("long")).unwrap(), Place::Segment(_)));
    }
}
