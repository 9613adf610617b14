//! The small text files beside the logs: checkpoints, `partition.metadata`, `meta.properties`.
//!
//! Must not know: whether what they say agrees with a log. Reads what can be read, and says what could not.

use std::fmt;

/// What is odd about a checkpoint file. None of it keeps the sound lines from being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// No bytes: never written. Normal for a young log dir.
    Empty,
    /// The first line is no version.
    NoVersion,
    /// A version other than 0.
    Version(i64),
    /// The second line is no count.
    NoCount,
    /// The count is not that of the lines that could be read.
    Count {
        /// As the file says.
        says: i64,
        /// As found.
        found: usize,
    },
    /// A line that could not be read; lines count from 1.
    Line(usize),
    /// The last line has no end: the file was cut.
    NoLineEnd,
    /// A topic and partition, or an epoch, that stands there twice. The line counts from 1.
    Repeated(usize),
}

impl Oddity {
    /// Whether a broker cannot read a file with it, and gives up the log dir (seen with Kafka 4.4).
    pub fn stops_a_broker(&self) -> bool {
        !matches!(self, Oddity::Empty | Oddity::NoLineEnd | Oddity::Repeated(_))
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Oddity::Empty => write!(f, "empty"),
            Oddity::NoVersion => write!(f, "the first line is no version"),
            Oddity::Version(version) => write!(f, "version {version}, known is 0"),
            Oddity::NoCount => write!(f, "the second line is no count"),
            Oddity::Count { says, found } => write!(f, "says {says} entries, has {found}"),
            Oddity::Line(line) => write!(f, "line {line} cannot be read"),
            Oddity::NoLineEnd => write!(f, "the last line has no end"),
            Oddity::Repeated(line) => write!(f, "line {line} repeats an earlier one's key"),
        }
    }
}

/// A checkpoint file: its entries in file order, and what is odd about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint<T> {
    /// What could be read.
    pub entries: Vec<T>,
    /// What could not.
    pub oddities: Vec<Oddity>,
}

/// A line of `cleaner-offset-checkpoint`, `recovery-point-offset-checkpoint`, `replication-offset-checkpoint` (the high
/// watermarks) and `log-start-offset-checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOffset {
    /// The topic.
    pub topic: String,
    /// Its partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
}

/// A line of `leader-epoch-checkpoint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochStart {
    /// The leader epoch.
    pub epoch: i32,
    /// The first offset written in it.
    pub start_offset: i64,
}

impl Checkpoint<PartitionOffset> {
    /// The offset of a partition: the last that stands there, as a broker reads it.
    pub fn offset(&self, topic: &str, partition: i32) -> Option<i64> {
        let mine = |entry: &&PartitionOffset| entry.partition == partition && entry.topic == topic;
        self.entries.iter().rev().find(mine).map(|entry| entry.offset)
    }
}

/// Reads one of the four files of offsets by partition. Takes any bytes.
pub fn partition_offsets(bytes: &[u8]) -> Checkpoint<PartitionOffset> {
    read(bytes, partition_offset, |a, b| (&a.topic, a.partition) == (&b.topic, b.partition))
}

/// Reads `leader-epoch-checkpoint`. Takes any bytes.
pub fn leader_epochs(bytes: &[u8]) -> Checkpoint<EpochStart> {
    read(bytes, epoch_start, |a, b| a.epoch == b.epoch)
}

fn partition_offset(line: &str) -> Option<PartitionOffset> {
    let mut words = line.split_ascii_whitespace();
    let entry = PartitionOffset {
        topic: words.next()?.to_owned(),
        partition: words.next()?.parse().ok()?,
        offset: words.next()?.parse().ok()?,
    };
    words.next().is_none().then_some(entry)
}

fn epoch_start(line: &str) -> Option<EpochStart> {
    let mut words = line.split_ascii_whitespace();
    let entry = EpochStart { epoch: words.next()?.parse().ok()?, start_offset: words.next()?.parse().ok()? };
    words.next().is_none().then_some(entry)
}

fn read<T>(bytes: &[u8], parse: impl Fn(&str) -> Option<T>, same: impl Fn(&T, &T) -> bool) -> Checkpoint<T> {
    let text = String::from_utf8_lossy(bytes);
    let mut oddities = Vec::new();
    let mut entries: Vec<T> = Vec::new();
    if bytes.is_empty() {
        return Checkpoint { entries, oddities: vec![Oddity::Empty] };
    }
    let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    match lines.next().and_then(|(_, line)| line.parse().ok()) {
        Some(0) => {}
        Some(version) => oddities.push(Oddity::Version(version)),
        None => oddities.push(Oddity::NoVersion),
    }
    let count: Option<i64> = lines.next().and_then(|(_, line)| line.parse().ok());
    for (number, line) in lines {
        match parse(line) {
            Some(entry) => {
                // Quadratic in the lines, but only over the few of one topic's neighbours in practice: bounded here.
                if entries.iter().rev().take(4096).any(|earlier| same(earlier, &entry)) {
                    oddities.push(Oddity::Repeated(number));
                }
                entries.push(entry);
            }
            None if line.is_empty() => {}
            None => oddities.push(Oddity::Line(number)),
        }
    }
    match count {
        None => oddities.push(Oddity::NoCount),
        Some(says) if says != entries.len() as i64 => oddities.push(Oddity::Count { says, found: entries.len() }),
        Some(_) => {}
    }
    if bytes.last() != Some(&b'\n') {
        oddities.push(Oddity::NoLineEnd);
    }
    Checkpoint { entries, oddities }
}

/// The topic id in `partition.metadata` (KIP-516, Kafka 2.8), as 22 characters of URL-safe base64. None if there is
/// none that makes sense.
pub fn topic_id(bytes: &[u8]) -> Option<[u8; 16]> {
    use base64::Engine;
    let text = std::str::from_utf8(bytes).ok()?;
    let id = text.lines().find_map(|line| line.trim().strip_prefix("topic_id:"))?;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(id.trim()).ok()?.try_into().ok()
}

/// `partition.metadata` (KIP-516, Kafka 2.8), as a broker reads it: a line `version: 0`, and a line `topic_id: ` with an id
/// that is not zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// Of the file; 0 is the only one so far.
    pub version: Option<i32>,
    /// The topic's id.
    pub topic_id: Option<[u8; 16]>,
    /// What a broker stops at, if anything.
    pub malformed: Option<&'static str>,
}

/// Reads `partition.metadata`. Takes any bytes.
pub fn partition_metadata(bytes: &[u8]) -> PartitionMetadata {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(':').map(str::trim);
    let version: Option<i32> = field("version").and_then(|value| value.parse().ok());
    let in_place = field("topic_id").is_some();
    let topic_id = topic_id(bytes);
    let malformed = match (version, topic_id) {
        (None, _) => Some("the first line is no version"),
        (Some(0), _) if !in_place => Some("the second line is no topic id"),
        (Some(0), None) => Some("the topic id is not 22 characters of URL-safe base64"),
        (Some(0), Some(id)) if id == [0; 16] => Some("the topic id is zero"),
        (Some(0), Some(_)) => None,
        (Some(_), _) => Some("of an unknown version"),
    };
    PartitionMetadata { version, topic_id, malformed }
}

/// `meta.properties` of a log dir. Fields that are missing are None.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetaProperties {
    /// Of the file: 0 with ZooKeeper, 1 with KRaft.
    pub version: Option<i32>,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The broker's number: `node.id`, or `broker.id` before KRaft.
    pub node_id: Option<i32>,
    /// The log dir's own id (KIP-858, Kafka 3.7).
    pub directory_id: Option<String>,
}

/// Reads `meta.properties`. Takes any bytes.
pub fn meta_properties(bytes: &[u8]) -> MetaProperties {
    let text = String::from_utf8_lossy(bytes);
    let mut meta = MetaProperties::default();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let Some((name, value)) = line.split_once('=') else { continue };
        let value = value.trim();
        match name.trim() {
            "version" => meta.version = value.parse().ok(),
            "cluster.id" => meta.cluster_id = Some(value.to_owned()),
            "node.id" | "broker.id" => meta.node_id = value.parse().ok(),
            "directory.id" => meta.directory_id = Some(value.to_owned()),
            _ => {}
        }
    }
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_checkpoint() {
        let file = partition_offsets(b"0\n2\n__consumer_offsets 3 17\norders 0 -1\n");
        assert_eq!(file.oddities, []);
        assert_eq!(file.offset("__consumer_offsets", 3), Some(17));
        assert_eq!(file.offset("__consumer_offsets", 4), None);
    }

    #[test]
    fn odd_checkpoints_give_what_they_can() {
        let odd = |bytes: &[u8]| {
            let file = partition_offsets(bytes);
            (file.entries.len(), file.oddities)
        };
        assert_eq!(odd(b""), (0, vec![Oddity::Empty]));
        assert_eq!(odd(b"0\n0\n"), (0, vec![]));
        assert_eq!(odd(b"0\n3\na 0 1\n"), (1, vec![Oddity::Count { says: 3, found: 1 }]));
        assert_eq!(odd(b"1\n1\na 0 1\n"), (1, vec![Oddity::Version(1)]));
        assert_eq!(odd(b"0\n2\na 0 1\na 0 2\n"), (2, vec![Oddity::Repeated(4)]));
        assert_eq!(
            odd(b"0\n2\na 0 1\na 1"),
            (1, vec![Oddity::Line(4), Oddity::Count { says: 2, found: 1 }, Oddity::NoLineEnd])
        );
        assert_eq!(odd(&[0xff, 0, 3]).1, [Oddity::NoVersion, Oddity::NoCount, Oddity::NoLineEnd]);
        assert_eq!(partition_offsets(b"0\n2\na 0 1\na 0 2\n").offset("a", 0), Some(2));
    }

    #[test]
    fn epochs() {
        let file = leader_epochs(b"0\n2\n0 0\n3 120\n");
        assert_eq!(file.oddities, []);
        assert_eq!(file.entries.last(), Some(&EpochStart { epoch: 3, start_offset: 120 }));
    }

    #[test]
    fn metadata_of_partitions() {
        let malformed = |text: &str| partition_metadata(text.as_bytes()).malformed;
        let sound = partition_metadata(b"version: 0\ntopic_id: 00YQRhQSSde_UAyBnyxN9g");
        assert_eq!((sound.version, sound.malformed), (Some(0), None));
        assert_eq!(sound.topic_id.unwrap()[..2], [0xd3, 0x46]);
        assert_eq!(malformed("version: 0\ntopic_id: 00YQRhQSSde_UAyBnyxN9g\n"), None);
        for bad in [
            "",
            "version: 0",
            "version: 0\ntopic_id: 00YQRhQSSde_UAyBnyxN9",
            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
            "version: 1\ntopic_id: 00YQRhQSSde_UAyBnyxN9g",
            "topic_id: 00YQRhQSSde_UAyBnyxN9g\nversion: 0",
            "version 0\ntopic_id: 00YQRhQSSde_UAyBnyxN9g",
        ] {
            assert!(malformed(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn ids_and_properties() {
        let id = topic_id(b"version: 0\ntopic_id: 00YQRhQSSde_UAyBnyxN9g").unwrap();
        assert_eq!(id[..2], [0xd3, 0x46]);
        assert_eq!(topic_id(b"version: 0\ntopic_id: short"), None);
        assert_eq!(topic_id(b""), None);
        let meta = meta_properties(b"#\n#Sun\nnode.id=1\ndirectory.id=sB1i\nversion=1\ncluster.id=wwE4\n");
        assert_eq!((meta.node_id, meta.version, meta.cluster_id.as_deref()), (Some(1), Some(1), Some("wwE4")));
    }
}
