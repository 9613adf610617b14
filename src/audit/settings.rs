//! What an audit goes by: the clock, and how long is too long.
//!
//! Must not know: where the settings come from.

use super::commands::Commands;
use super::log_ends::LogEnds;
use super::topic_list::TopicList;

/// A day, in milliseconds.
pub const DAY: i64 = 86_400_000;
/// The broker's default of `transaction.max.timeout.ms`: 15 minutes.
pub const TRANSACTION_MAX_TIMEOUT: i64 = 900_000;
/// Without another word, silence for so long is long: 30 days, in milliseconds.
pub const STALE_AFTER: i64 = 30 * DAY;

/// What an audit goes by.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What now is, in ms since 1970.
    pub now: i64,
    /// Silence for so many ms is long.
    pub stale_after: i64,
    /// How long a broker keeps offsets (`offsets.retention.minutes`), in ms, if it is known.
    pub retention: Option<i64>,
    /// The longest timeout that a producer may ask for, in ms.
    pub max_transaction_timeout: i64,
    /// The topics of the cluster, if they are known.
    pub topics: Option<TopicList>,
    /// Where the logs of topics begin and end, if that is known.
    pub log_ends: Option<LogEnds>,
    /// How many partitions `__consumer_offsets` has, if that is known.
    pub offsets_partitions: Option<i32>,
    /// How Kafka's tools are called.
    pub commands: Commands,
}

impl Settings {
    /// How long ago a moment is, in ms, below 0 if it lies ahead of now; none if the moment is not known.
    pub fn age(&self, at: i64) -> Option<i64> {
        (at >= 0).then(|| self.now.saturating_sub(at))
    }

    /// Whether a moment is longer ago than silence may last. One that is not known is not.
    pub fn is_stale(&self, at: i64) -> bool {
        self.age(at).is_some_and(|age| age > self.stale_after)
    }
}
