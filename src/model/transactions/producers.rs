//! What a broker remembers of producers by what the log shows: `kafka-transactions.sh describe-producers` prints it.
//!
//! Must not know: transactions' records.

use crate::log::Header;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// How long a broker remembers a producer that is silent: `producer.id.expiration.ms`, a day unless it is set.
pub const EXPIRATION_MS: i64 = 86_400_000;
/// With so many, those that are forgotten are cleared away for the first time.
const FEW: usize = 4096;

/// A producer as its last batches leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerNow {
    /// Its id.
    pub producer_id: i64,
    /// Of its last batch or end marker.
    pub producer_epoch: i16,
    /// Of its last end marker.
    pub coordinator_epoch: Option<i32>,
    /// Of its last batch in this epoch; -1 for none.
    pub last_sequence: i32,
    /// Of its last batch or end marker, in ms since 1970.
    pub last_timestamp: i64,
    /// Where its open transaction begins.
    pub open_from: Option<i64>,
}

/// All producers of a log.
#[derive(Debug)]
pub struct Producers {
    all: HashMap<i64, ProducerNow, RandomState>,
    /// The greatest time so far, in ms since 1970; never later than now.
    clock: i64,
    now: i64,
    many: usize,
}

impl Producers {
    /// None yet. `now` is in ms since 1970.
    pub fn new(now: i64) -> Self {
        Producers { all: HashMap::default(), clock: i64::MIN, now, many: FEW }
    }

    fn of(&mut self, header: &Header) -> &mut ProducerNow {
        self.clock = self.clock.max(header.max_timestamp.min(self.now));
        if self.all.len() >= self.many {
            self.clear_away();
        }
        let new = ProducerNow {
            producer_id: header.producer_id,
            producer_epoch: header.producer_epoch,
            coordinator_epoch: None,
            last_sequence: -1,
            last_timestamp: -1,
            open_from: None,
        };
        let producer = self.all.entry(header.producer_id).or_insert(new);
        if producer.producer_epoch != header.producer_epoch {
            // A new epoch begins with no batches known.
            (producer.producer_epoch, producer.last_sequence) = (header.producer_epoch, -1);
        }
        producer.last_timestamp = header.max_timestamp;
        producer
    }

    /// A batch of records.
    pub fn data(&mut self, header: &Header) {
        let producer = self.of(header);
        producer.last_sequence = header.last_sequence();
        if header.transactional {
            producer.open_from.get_or_insert(header.base_offset);
        }
    }

    /// An end marker.
    pub fn marker(&mut self, header: &Header, coordinator_epoch: i32) {
        let producer = self.of(header);
        producer.coordinator_epoch = Some(coordinator_epoch);
        producer.open_from = None;
    }

    /// The coordinator epoch of a producer's last end marker.
    pub fn coordinator_epoch(&self, producer_id: i64) -> Option<i32> {
        self.all.get(&producer_id)?.coordinator_epoch
    }

    #[cold]
    fn clear_away(&mut self) {
        let clock = self.clock;
        self.all.retain(|_, it| it.open_from.is_some() || clock.saturating_sub(it.last_timestamp) < EXPIRATION_MS);
        self.many = FEW.max(self.all.len() * 2);
    }

    /// Those that a broker remembers, by the log's own clock; by id.
    pub fn finish(mut self) -> Vec<ProducerNow> {
        self.clear_away();
        let mut all: Vec<_> = self.all.into_values().collect();
        all.sort_unstable_by_key(|it| it.producer_id);
        all
    }
}
