//! What the leading Kafka Streams thread decided for one thread: user data of its assignment, versions 1 to 11.
//!
//! Big endian, by Java's `DataOutput`. Version 2 brought hosts, 3 the supported version (KIP-268), 4 the error code,
//! 5 a dictionary of topic names, 6 hosts of standbys (KIP-535), 7 the next rebalance, 10 named topologies.
//!
//! Must not know: the subscription that it answers.

use super::declare::Reader;
use super::pieces::{Object, Utf, Wire, list};
use super::streams::NEWEST;
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use crate::json::Json;

/// What a thread is to run. Of a version newer than 11 only the first two fields are read, the rest is trailing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentInfo<'a> {
    /// The version of these bytes.
    pub version: i32,
    /// The newest version that all threads can read, or -1 where it is not said (versions 1 and 2).
    pub commonly_supported_version: i32,
    /// Tasks to run, one for each assigned partition of the member, in the same order.
    pub active_tasks: Vec<Task<'a>>,
    /// Tasks to keep a standby of.
    pub standby_tasks: Vec<StandbyTask<'a>>,
    /// Which host has which partitions (version 2 on).
    pub partitions_by_host: Vec<HostPartitions<'a>>,
    /// Which host has standbys of which partitions (version 6 on).
    pub standby_partitions_by_host: Vec<HostPartitions<'a>>,
    /// 0, or why there is no assignment (version 4 on).
    pub err_code: i32,
    /// When the thread is to rejoin, in epoch milliseconds; `i64::MAX` if never (version 7 on).
    pub next_rebalance_ms: i64,
    /// Bytes left over behind the last known field.
    pub trailing: usize,
}

/// A task of a Streams application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task<'a> {
    /// The number of its subtopology.
    pub topic_group_id: i32,
    /// Its partition.
    pub partition: i32,
    /// The named topology that it belongs to, in big-endian UTF-16; empty if there is none (version 10 on).
    pub named_topology: &'a [u8],
}

/// A standby task and what it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandbyTask<'a> {
    /// The task.
    pub task: Task<'a>,
    /// Its input partitions.
    pub partitions: Vec<TopicPartition<'a>>,
}

/// What is to be found where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPartitions<'a> {
    /// The host.
    pub host: &'a [u8],
    /// Its port.
    pub port: i32,
    /// The partitions.
    pub partitions: Vec<TopicPartition<'a>>,
}

/// One partition of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicPartition<'a> {
    /// The topic's name.
    pub topic: &'a [u8],
    /// The partition's number.
    pub partition: i32,
}

impl<'a> AssignmentInfo<'a> {
    /// Reads it. Fails if the version is below 1, or a field of a known version is cut.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes);
        let version = cursor.i32()?;
        if version < 1 {
            return Err(FaultKind::BadLength(i64::from(version)).at(0));
        }
        let mut reader = Reader::new(cursor, version);
        let mut info = AssignmentInfo::empty(version);
        info.commonly_supported_version = reader.needed("", 3..=i32::MAX, -1)?;
        if version <= NEWEST {
            info.tasks(&mut reader.cursor)?;
            info.hosts(&mut reader.cursor)?;
        }
        info.err_code = reader.needed("", 4..=NEWEST, 0)?;
        info.next_rebalance_ms = reader.needed("", 7..=NEWEST, i64::MAX)?;
        info.trailing = reader.cursor.remaining();
        Ok(info)
    }

    fn empty(version: i32) -> Self {
        AssignmentInfo {
            version,
            commonly_supported_version: -1,
            active_tasks: Vec::new(),
            standby_tasks: Vec::new(),
            partitions_by_host: Vec::new(),
            standby_partitions_by_host: Vec::new(),
            err_code: 0,
            next_rebalance_ms: i64::MAX,
            trailing: 0,
        }
    }

    fn tasks(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Fault> {
        let task = if self.version < 10 { Task::read } else { Task::read_named };
        self.active_tasks = array(cursor, 8, task)?;
        self.standby_tasks = array(cursor, 12, |cursor| {
            let task = task(cursor)?;
            Ok(StandbyTask { task, partitions: array(cursor, 6, TopicPartition::read)? })
        })?;
        Ok(())
    }

    fn hosts(&mut self, cursor: &mut Cursor<'a>) -> Result<(), Fault> {
        match self.version {
            ..2 => {}
            2..5 => self.partitions_by_host = hosts(cursor, 6, TopicPartition::read)?,
            _ => {
                let topics = Dictionary::read(cursor)?;
                self.partitions_by_host = hosts(cursor, 8, |cursor| topics.partition(cursor))?;
                if self.version >= 6 {
                    self.standby_partitions_by_host = hosts(cursor, 8, |cursor| topics.partition(cursor))?;
                }
            }
        }
        Ok(())
    }

    /// Writes it as an object, with the fields that its version has.
    pub fn json(&self, json: &mut Json) {
        let known = |since: i32| (since..=NEWEST).contains(&self.version);
        let mut object = Object::of_kind(json, "streams-assignment");
        object.field("version", &self.version);
        if self.version >= 3 {
            object.field("commonlySupportedVersion", &self.commonly_supported_version);
        }
        if known(1) {
            list(object.name("activeTasks"), &self.active_tasks, |json, task| task.json(json));
            list(object.name("standbyTasks"), &self.standby_tasks, |json, standby| standby.json(json));
        }
        if known(2) {
            list(object.name("partitionsByHost"), &self.partitions_by_host, |json, host| host.json(json));
        }
        if known(6) {
            list(object.name("standbyPartitionsByHost"), &self.standby_partitions_by_host, |json, host| {
                host.json(json)
            });
        }
        if known(4) {
            object.field("errCode", &self.err_code);
        }
        if known(7) {
            object.field("nextRebalanceMs", &self.next_rebalance_ms);
        }
        object.rest(&[], self.trailing);
        object.close();
    }
}

/// Reads an array whose elements take `least` bytes or more. No array here may be null.
fn array<'a, T>(
    cursor: &mut Cursor<'a>,
    least: usize,
    read: impl Fn(&mut Cursor<'a>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let start = cursor.at() as u64;
    let count = cursor.i32()?;
    let n = usize::try_from(count).ok().filter(|n| *n <= cursor.remaining() / least);
    let n = n.ok_or_else(|| FaultKind::BadLength(i64::from(count)).at(start))?;
    let mut items = Vec::with_capacity(n);
    for _ in 0..n {
        items.push(read(cursor)?);
    }
    Ok(items)
}

fn hosts<'a>(
    cursor: &mut Cursor<'a>,
    least: usize,
    partition: impl Fn(&mut Cursor<'a>) -> Result<TopicPartition<'a>, Fault>,
) -> Result<Vec<HostPartitions<'a>>, Fault> {
    array(cursor, 10, |cursor| {
        let Utf(host) = Utf::read(cursor)?;
        let port = cursor.i32()?;
        Ok(HostPartitions { host, port, partitions: array(cursor, least, &partition)? })
    })
}

impl<'a> Task<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(Task { topic_group_id: cursor.i32()?, partition: cursor.i32()?, named_topology: &[] })
    }

    /// Behind the two numbers: the count of the name's UTF-16 units, and these.
    fn read_named(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let task = Task::read(cursor)?;
        let start = cursor.at() as u64;
        let units = cursor.i32()?;
        let size = usize::try_from(units).ok().filter(|n| *n <= cursor.remaining() / 2);
        let size = size.ok_or_else(|| FaultKind::BadLength(i64::from(units)).at(start))? * 2;
        Ok(Task { named_topology: cursor.take(size)?, ..task })
    }

    fn json(&self, json: &mut Json) {
        let mut object = Object::open(json);
        object.field("topicGroupId", &self.topic_group_id);
        object.field("partition", &self.partition);
        if !self.named_topology.is_empty() {
            let units = self.named_topology.as_chunks::<2>().0.iter().map(|unit| u16::from_be_bytes(*unit));
            let name: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            object.name("namedTopology").string(name.as_bytes());
        }
        object.close();
    }
}

impl StandbyTask<'_> {
    fn json(&self, json: &mut Json) {
        let mut object = Object::open(json);
        self.task.json(object.name("task"));
        list(object.name("partitions"), &self.partitions, |json, partition| partition.json(json));
        object.close();
    }
}

impl HostPartitions<'_> {
    fn json(&self, json: &mut Json) {
        let mut object = Object::open(json);
        object.field("host", &self.host);
        object.field("port", &self.port);
        list(object.name("partitions"), &self.partitions, |json, partition| partition.json(json));
        object.close();
    }
}

impl<'a> TopicPartition<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let Utf(topic) = Utf::read(cursor)?;
        Ok(TopicPartition { topic, partition: cursor.i32()? })
    }

    fn json(&self, json: &mut Json) {
        let mut object = Object::open(json);
        object.field("topic", &self.topic);
        object.field("partition", &self.partition);
        object.close();
    }
}

/// The longest topic name that Kafka allows, in bytes. Without it a few bytes here could name a long text over and over.
const LONGEST_TOPIC: usize = 249;

/// Topic names by number, in order of the numbers.
struct Dictionary<'a>(Vec<(i32, &'a [u8])>);

impl<'a> Dictionary<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let mut entries = array(cursor, 6, |cursor| {
            let number = cursor.i32()?;
            let start = cursor.at() as u64;
            match Utf::read(cursor)? {
                Utf(topic) if topic.len() <= LONGEST_TOPIC => Ok((number, topic)),
                Utf(topic) => Err(FaultKind::BadLength(topic.len() as i64).at(start)),
            }
        })?;
        entries.sort_by_key(|(number, _)| *number);
        Ok(Dictionary(entries))
    }

    /// A partition whose topic is given by number. A number without a name is a fault.
    fn partition(&self, cursor: &mut Cursor<'a>) -> Result<TopicPartition<'a>, Fault> {
        let start = cursor.at() as u64;
        let number = cursor.i32()?;
        // Of several entries of one number the last holds.
        let end = self.0.partition_point(|(n, _)| *n <= number);
        match end.checked_sub(1).and_then(|i| self.0.get(i)) {
            Some((n, topic)) if *n == number => Ok(TopicPartition { topic, partition: cursor.i32()? }),
            _ => Err(FaultKind::BadLength(i64::from(number)).at(start)),
        }
    }
}
