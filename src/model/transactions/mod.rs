//! The transactions of a partition, in log order: whose, from where to where, how they ended, what they touched.
//!
//! A transaction begins with the first transactional batch of a producer and ends with that producer's next end marker,
//! whatever the epochs say (from transaction version 2 on, Kafka 4.0, the marker's is one above). Damage may have held an
//! end: then it is said that nothing is known. Must not know: files beside the log, clocks, and how anything is printed.

mod fold;
mod producers;

pub use fold::Fold;
pub use producers::{ProducerNow, Producers};

use crate::schema::Key;

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// It has not.
    Open,
    /// With COMMIT.
    Committed,
    /// With ABORT.
    Aborted,
    /// Its end marker is damaged or of a type that no release knows, or damage may have held it.
    Unknown,
}

impl Ending {
    /// As it stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Open => "open",
            Ending::Committed => "committed",
            Ending::Aborted => "aborted",
            Ending::Unknown => "unknown",
        }
    }
}

/// What keeps a transaction from being known for sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// An end marker of this producer, at this offset, whose CRC is wrong.
    MarkerDamaged(i64),
    /// Damage behind this offset, in which its end marker may have been. What lies before and behind it may then be two
    /// transactions.
    MarkerMayBeLost(i64),
    /// A control record of this producer that is no end marker: its type, if it can be read, and its offset.
    MarkerUnknown(Option<i16>, i64),
    /// Records of this producer in a batch whose CRC is wrong, at this offset.
    RecordsLost(i64),
}

impl Doubt {
    /// Whether it may have ended without our seeing how.
    fn is_of_end(self) -> bool {
        !matches!(self, Doubt::RecordsLost(_))
    }

    /// As it stands in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Doubt::MarkerDamaged(_) => "marker-damaged",
            Doubt::MarkerMayBeLost(_) => "marker-may-be-lost",
            Doubt::MarkerUnknown(..) => "marker-unknown",
            Doubt::RecordsLost(_) => "records-lost",
        }
    }

    /// In words.
    pub fn words(self) -> String {
        match self {
            Doubt::MarkerDamaged(at) => format!("its end marker at offset {at} is damaged: it ended, nobody knows how"),
            Doubt::MarkerMayBeLost(at) => {
                format!("the log is damaged behind offset {at}: an end marker may have stood there")
            }
            Doubt::MarkerUnknown(Some(number), at) => {
                format!("the control record at offset {at} has type {number}, which no release knows")
            }
            Doubt::MarkerUnknown(None, at) => format!("the control record at offset {at} cannot be read"),
            Doubt::RecordsLost(at) => format!("records of it in a damaged batch at offset {at} were not read"),
        }
    }
}

/// A transaction, as far as this partition shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Whose.
    pub producer_id: i64,
    /// Of its last batch; of its end marker if no batch is left.
    pub producer_epoch: i16,
    /// How it ended.
    pub ending: Ending,
    /// Of its end marker; while there is none, of the last one of this producer, if the log still holds one.
    pub coordinator_epoch: Option<i32>,
    /// The first offset of its first batch. None if no batch is left: the cleaner took them, or it touched no group here.
    pub first_offset: Option<i64>,
    /// The last offset of its last batch.
    pub last_offset: Option<i64>,
    /// Of the record that ended it. Of an unknown one: where the damaged or unknown marker stands, if one was seen.
    pub marker_offset: Option<i64>,
    /// The producer epoch in the marker's batch.
    pub marker_epoch: Option<i16>,
    /// Of its first batch, in ms since 1970; of its marker if no batch is left.
    pub first_timestamp: i64,
    /// Of its last batch or its marker, in ms since 1970.
    pub last_timestamp: i64,
    /// Batches that are left.
    pub batches: u64,
    /// Records that are left, without the marker.
    pub records: u64,
    /// Distinct keys of these.
    pub keys: u64,
    /// Where its first batch (or its marker) begins, counted in bytes through all segments.
    pub place: u64,
    /// What is not sure about it.
    pub doubt: Option<Doubt>,
    /// Whether it keeps the last stable offset, and with it the cleaner, from going on: it did not end, or nobody can say
    /// that it did.
    pub pins: bool,
    /// Numbers of the groups it touched, in [`Transactions::groups`].
    pub groups: Vec<u32>,
    /// Raw keys it touched, in order: only of those that did not end.
    pub touched: Vec<Box<[u8]>>,
}

impl Transaction {
    /// Where it stands in the order of the log.
    pub fn begin(&self) -> i64 {
        self.first_offset.or(self.marker_offset).unwrap_or(i64::MAX)
    }

    /// The keys it touched and did not let go of, decoded.
    pub fn keys_touched(&self) -> impl Iterator<Item = Key<'_>> {
        self.touched.iter().filter_map(|key| Key::decode(key).ok())
    }
}

/// How many transactions there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Without an end.
    pub open: u64,
    /// Ended by COMMIT.
    pub committed: u64,
    /// Ended by ABORT.
    pub aborted: u64,
    /// Nobody knows.
    pub unknown: u64,
    /// Of the committed and aborted ones, those of which only the end marker is there.
    pub only_marker: u64,
}

/// What a partition shows of transactions.
#[derive(Debug, Default)]
pub struct Transactions {
    /// In the order in which they begin; of those that ended only the last ones, if so many were asked for.
    pub all: Vec<Transaction>,
    /// All of them.
    pub counts: Counts,
    /// Names of groups, which need not be UTF-8.
    pub groups: Vec<Box<[u8]>>,
    /// What a broker would remember of producers.
    pub producers: Vec<ProducerNow>,
    /// The first offset that was met.
    pub first_offset: Option<i64>,
    /// The offset behind the last.
    pub end_offset: i64,
    /// The first offset that a reader of committed records does not see, and that no cleaner passes: where the earliest
    /// open transaction begins, or the end. (A broker's is also never above the high watermark, which no file tells.)
    pub last_stable_offset: i64,
    /// Bytes of the segments.
    pub bytes: u64,
    /// Bytes from the earliest open transaction on.
    pub pinned_bytes: u64,
    /// Holes and batches whose CRC is wrong; neither a torn end nor zeros behind the last batch.
    pub damaged: u64,
}

impl Transactions {
    /// Bytes that a transaction keeps from being cleaned: from its first batch to the end of the log. 0 once it ended.
    pub fn pinned_by(&self, transaction: &Transaction) -> u64 {
        if transaction.pins { self.bytes.saturating_sub(transaction.place) } else { 0 }
    }

    /// Names of the groups that a transaction touched.
    pub fn groups_of<'t>(&'t self, transaction: &'t Transaction) -> impl Iterator<Item = &'t [u8]> {
        transaction.groups.iter().filter_map(|number| self.groups.get(*number as usize)).map(AsRef::as_ref)
    }

    /// Counts what [`Transactions::all`] has, which may have been made shorter.
    pub fn count_anew(&mut self) {
        let mut counts = Counts::default();
        for it in &self.all {
            match it.ending {
                Ending::Open => counts.open += 1,
                Ending::Committed => counts.committed += 1,
                Ending::Aborted => counts.aborted += 1,
                Ending::Unknown => counts.unknown += 1,
            }
        }
        counts.only_marker = self.all.iter().filter(|it| it.first_offset.is_none()).count() as u64;
        self.counts = counts;
    }
}
