//! What stands around the partitions of a log dir: whose it is, whether a broker has it, how far its checkpoints say
//! that each partition is.
//!
//! Must not know: whether that agrees with the logs.

use super::checkpoint::{Checkpoint, MetaProperties, PartitionOffset, meta_properties, partition_offsets};
use super::dir::{OFFSETS_TOPIC, PartitionName};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The file that a broker locks while it has the log dir. It stays when the broker stops.
const LOCK: &str = ".lock";
/// The file that a broker leaves when it stops in order, and removes when it starts.
const CLEAN_STOP: &str = ".kafka_cleanshutdown";
const META: &str = "meta.properties";

/// The files of a log dir that checkpoints are in, and what each says.
const CHECKPOINTS: [(&str, CheckpointKind); 4] = [
    ("replication-offset-checkpoint", CheckpointKind::HighWatermark),
    ("recovery-point-offset-checkpoint", CheckpointKind::RecoveryPoint),
    ("log-start-offset-checkpoint", CheckpointKind::LogStart),
    ("cleaner-offset-checkpoint", CheckpointKind::Cleaner),
];

/// What a checkpoint file says of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckpointKind {
    /// Up to which offset all replicas in sync have the log, a few seconds before the broker stopped.
    HighWatermark,
    /// Up to which offset the log was flushed to disk.
    RecoveryPoint,
    /// The first offset that counts. Written only where it is above the first segment's base offset.
    LogStart,
    /// The first offset that was never cleaned.
    Cleaner,
}

/// Whether a process has the log dir.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// There is no lock file: a copy, or never used.
    NoFile,
    /// There is one, and no process of this machine holds it.
    Free,
    /// A process holds it.
    Held {
        /// Its id, if it can be seen from here.
        pid: Option<i32>,
    },
    /// It cannot be told: the file cannot be opened, or the file system knows no locks.
    Unknown,
}

/// A checkpoint file of a log dir.
#[derive(Debug)]
pub struct CheckpointFile {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub kind: CheckpointKind,
    /// What could be read of it.
    pub content: Checkpoint<PartitionOffset>,
}

/// What stands around the partitions of a log dir.
#[derive(Debug)]
pub struct LogDirFiles {
    /// The log dir.
    pub path: PathBuf,
    /// Whose it is.
    pub meta: Option<MetaProperties>,
    /// Whether a process has it now.
    pub lock: Lock,
    /// Whether the last broker stopped in order and none started since.
    pub stopped_cleanly: bool,
    /// The checkpoint files that are there.
    pub checkpoints: Vec<CheckpointFile>,
    /// Files of it that are there and cannot be read, and why.
    pub unreadable: Vec<(&'static str, String)>,
    /// How many other topics have partitions here.
    pub other_topics: usize,
    /// How many partitions they have here.
    pub other_partitions: usize,
}

impl LogDirFiles {
    /// Of the folder that a partition folder lies in. None if that has none of the files of a log dir.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn around(partition: &Path) -> io::Result<Option<LogDirFiles>> {
        let named = partition.file_name().and(partition.parent());
        match named {
            Some(parent) if parent.as_os_str().is_empty() => LogDirFiles::of(Path::new(".")),
            Some(parent) => LogDirFiles::of(parent),
            // `.` and `..` have no name, and their parent is not what stands before the last slash.
            None => match partition.canonicalize()?.parent() {
                Some(parent) => LogDirFiles::of(parent),
                None => Ok(None),
            },
        }
    }

    /// Of a folder. None if it has none of the files of a log dir.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn of(path: &Path) -> io::Result<Option<LogDirFiles>> {
        let mut unreadable = Vec::new();
        let mut read = |name: &'static str| match crate::files::read(&path.join(name)) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                unreadable.push((name, error.to_string()));
                None
            }
        };
        let mut checkpoints = Vec::new();
        for (name, kind) in CHECKPOINTS {
            if let Some(bytes) = read(name) {
                checkpoints.push(CheckpointFile { name, kind, content: partition_offsets(&bytes) });
            }
        }
        let meta = read(META).map(|bytes| meta_properties(&bytes));
        let lock = lock(&path.join(LOCK));
        let stopped_cleanly = path.join(CLEAN_STOP).exists();
        if checkpoints.is_empty() && meta.is_none() && unreadable.is_empty() && lock == Lock::NoFile && !stopped_cleanly
        {
            return Ok(None);
        }
        let (other_topics, other_partitions) = others(path)?;
        let path = path.to_owned();
        Ok(Some(LogDirFiles {
            path,
            meta,
            lock,
            stopped_cleanly,
            checkpoints,
            unreadable,
            other_topics,
            other_partitions,
        }))
    }

    /// What a checkpoint says of a partition of the offsets topic; None if it does not name it, or is not there.
    pub fn offset(&self, kind: CheckpointKind, partition: i32) -> Option<i64> {
        let file = self.checkpoints.iter().find(|file| file.kind == kind)?;
        file.content.offset(OFFSETS_TOPIC, partition)
    }
}

/// Other topics in a log dir, and their partitions.
fn others(path: &Path) -> io::Result<(usize, usize)> {
    let mut topics = BTreeSet::new();
    let mut partitions = 0;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let Some(name) = PartitionName::parse(&entry.file_name().to_string_lossy()) else { continue };
        if name.topic != OFFSETS_TOPIC && entry.path().is_dir() {
            topics.insert(name.topic);
            partitions += 1;
        }
    }
    Ok((topics.len(), partitions))
}

/// Asks whether a lock like the broker's (a POSIX record lock over the whole file) could be had, without taking it.
fn lock(path: &Path) -> Lock {
    use rustix::process::{Flock, FlockType, fcntl_getlk};
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Lock::NoFile,
        Err(_) => return Lock::Unknown,
    };
    match fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)) {
        Ok(None) => Lock::Free,
        Ok(Some(held)) => Lock::Held { pid: held.pid.map(|pid| pid.as_raw_nonzero().get()) },
        Err(_) => Lock::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_partition() {
        let dir = tempfile::tempdir().unwrap();
        let partition = dir.path().join("__consumer_offsets-7");
        std::fs::create_dir(&partition).unwrap();
        assert!(LogDirFiles::around(&partition).unwrap().is_none());

        for folder in ["orders-0", "orders-1", "a-b-0", "not a partition"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        std::fs::write(dir.path().join("file-3"), "").unwrap();
        std::fs::write(dir.path().join(META), "node.id=3\ncluster.id=x\n").unwrap();
        std::fs::write(dir.path().join("replication-offset-checkpoint"), "0\n1\n__consumer_offsets 7 42\n").unwrap();
        std::fs::write(dir.path().join(LOCK), "").unwrap();
        let files = LogDirFiles::around(&partition).unwrap().unwrap();
        assert_eq!(files.path, dir.path());
        assert_eq!(files.meta.as_ref().and_then(|meta| meta.node_id), Some(3));
        assert_eq!((files.other_topics, files.other_partitions), (2, 3));
        assert_eq!(files.offset(CheckpointKind::HighWatermark, 7), Some(42));
        assert_eq!(files.offset(CheckpointKind::HighWatermark, 8), None);
        assert_eq!(files.offset(CheckpointKind::LogStart, 7), None);
        assert_eq!((files.lock, files.stopped_cleanly), (Lock::Free, false));
    }
}
