//! Would the group coordinator of a release load this partition? And if not, because of which records.
//!
//! One walk over the log answers for every coordinator asked. A broker stops at the first record that it refuses; here
//! the walk goes on, as if that record had been put right, so that every reason is told.
//!
//! As a broker does when it loads, nobody checks CRCs here: a batch whose CRC is wrong is read like any other (and
//! counted, because a broker that was not stopped cleanly cuts the log there before it loads).
//! Must not know: how a verdict is shown, and what else is wrong with the log.

mod classic;
mod coordinator;
mod groups;
mod read;
mod reason;
mod tasks;
mod watch;

pub use coordinator::Coordinator;
pub use reason::{GroupKind, Reason};

use crate::log::{Batch, Inflater, Segment};
use crate::model::ahead::CheckNow;
use crate::model::walk::walk_segment;
use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use watch::{Told, Watch};

/// Whether a coordinator reads a data record, taken by itself; what it does to a group is not asked. What a coordinator
/// passes over counts as read.
///
/// # Errors
/// Why it refuses the record, and the partition with it.
pub fn reads(coordinator: Coordinator, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<(), Reason> {
    read::record(coordinator.rules(), key, value)
}

/// How many refusals are kept; the rest is counted.
pub const MAX_REFUSALS: usize = 1000;

/// What a coordinator does with a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Who.
    pub coordinator: Coordinator,
    /// What it refuses, in log order: it stops at the first. No more than [`MAX_REFUSALS`].
    pub refusals: Vec<Refusal>,
    /// How many there are in all.
    pub refused: u64,
    /// Records of types that it does not know and passes over, by type.
    pub skipped: Vec<Skipped>,
    /// What could not be judged, or not wholly; the same for every coordinator.
    pub unchecked: Unchecked,
    /// The first segment at which any broker ends when it starts, so that no coordinator comes to read it.
    pub ends_at: Option<String>,
    consequence: Consequence,
}

impl Verdict {
    /// Whether it loads the partition.
    pub fn loads(&self) -> bool {
        self.refused == 0 && self.ends_at.is_none()
    }

    /// What becomes of the groups of the partition, all of them.
    pub fn consequence(&self) -> Consequence {
        match (self.loads(), &self.ends_at) {
            (true, _) => Consequence::Served,
            (false, Some(_)) => Consequence::BrokerEnds,
            (false, None) => self.consequence,
        }
    }
}

/// What becomes of the groups of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// They are served.
    Served,
    /// The partition is served as if it were empty: every group of it starts over (the Scala coordinator).
    ServedAsEmpty,
    /// The partition stays without a coordinator: every request is answered NOT_COORDINATOR (error 16).
    Unavailable,
    /// The same, but OffsetFetch up to version 1 is answered with no offset and no error (4.0), which a client takes for
    /// a group that never committed.
    UnavailableWithoutError,
    /// The broker ends when it starts.
    BrokerEnds,
}

impl Consequence {
    /// The stable name.
    pub fn code(self) -> &'static str {
        match self {
            Consequence::Served => "served",
            Consequence::ServedAsEmpty => "served-as-empty",
            Consequence::Unavailable => "unavailable",
            Consequence::UnavailableWithoutError => "unavailable-without-error",
            Consequence::BrokerEnds => "broker-ends",
        }
    }
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Consequence::Served => "every group is served",
            Consequence::ServedAsEmpty => "the partition is served as if it were empty: every group on it starts over",
            Consequence::Unavailable => {
                "the partition has no coordinator: every group on it gets NOT_COORDINATOR (error 16)"
            }
            Consequence::UnavailableWithoutError => {
                "the partition has no coordinator: every group on it gets NOT_COORDINATOR (error 16), and OffsetFetch up \
                 to version 1 no offset and no error"
            }
            Consequence::BrokerEnds => "the broker ends when it starts: none of its partitions is served",
        })
    }
}

/// Where a record is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// The segment's file name.
    pub segment: String,
    /// Of the record's batch in it, in bytes.
    pub position: u64,
    /// Of the record in the log; of the batch where the record has none that can be read.
    pub offset: i64,
}

/// A record that a coordinator refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Where it is.
    pub at: At,
    /// Its type, if its key names one.
    pub record_type: Option<i16>,
    /// The group it belongs to, if its key can be read.
    pub group: Option<Vec<u8>>,
    /// The member it belongs to, if it belongs to one.
    pub member: Option<Vec<u8>>,
    /// Why.
    pub reason: Reason,
}

/// Records of one type that are passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The number of the type.
    pub record_type: i16,
    /// How many.
    pub count: u64,
    /// The first.
    pub first: At,
}

/// What was not judged, or judged by bytes that a broker may cut off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unchecked {
    /// Batches whose CRC is wrong: read all the same.
    pub wrong_crc: u64,
    /// Stretches that are no batch.
    pub holes: u64,
    /// Batches of which records are left out, since they inflate to more than the limit.
    pub too_large: u64,
}

/// Judges a partition: its segments, which must be in order, from `log_start` on (all of it if there is none). Batches
/// are inflated up to `max_inflated` bytes. `progress` is told of bytes read, from the first segment on.
///
/// One verdict a coordinator, in their order.
///
/// # Errors
/// A segment cannot be opened or mapped.
pub fn preflight(
    segments: &[PathBuf],
    coordinators: &[Coordinator],
    log_start: Option<i64>,
    max_inflated: usize,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Vec<Verdict>> {
    let mut watch = Watch::new(coordinators, log_start);
    let mut inflater = Inflater::with_limit(max_inflated);
    let mut before = 0;
    for path in segments {
        let segment = Segment::open(path)?;
        watch.begin(&segment);
        let mut told = Told { watch: &mut watch, progress: &mut |position| progress(before + position) };
        walk_segment(&segment, segment.spans(), &mut inflater, &mut CheckNow, &mut told)?;
        before += segment.len();
        progress(before);
    }
    Ok(watch.verdicts(coordinators))
}

/// Judges a log while it is made: batch by batch, in order.
pub struct Preflight {
    coordinator: Coordinator,
    watch: Watch,
}

impl Preflight {
    /// Nothing yet.
    pub fn new(coordinator: Coordinator) -> Self {
        Preflight { coordinator, watch: Watch::new(&[coordinator], None) }
    }

    /// The next batch, which is sound. Gives the number of its records.
    pub fn batch(&mut self, batch: &Batch<'_>, inflater: &mut Inflater) -> u64 {
        let mut count = 0;
        let mut records = batch.records(inflater);
        let _: ControlFlow<()> = records.each(
            &mut self.watch,
            |watch, record| {
                count += 1;
                watch.record(batch, record);
                ControlFlow::Continue(())
            },
            |watch, record| {
                watch.bad_record(batch, record);
                ControlFlow::Continue(())
            },
        );
        self.watch.batch_end(batch, records.fault());
        count
    }

    /// What came of it. Segments have no names yet, and positions count from where each batch was made.
    pub fn verdict(self) -> Option<Verdict> {
        self.watch.verdicts(&[self.coordinator]).pop()
    }
}
