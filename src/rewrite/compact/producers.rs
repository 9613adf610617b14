//! What a broker remembers of producers, and which batch must stay so that it still does after it reads the log anew.
//!
//! A broker forgets a producer that is silent for a day (`producer.id.expiration.ms`), and so does this, by the log's own
//! clock: what is remembered at once are the producers of a day. Must not know: keys and records.

use crate::log::batch::Header;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// How long a broker remembers a producer that is silent: `producer.id.expiration.ms`, a day unless it is set.
const EXPIRATION_MS: i64 = 86_400_000;
/// With so many, those that are forgotten are cleared away for the first time.
const FEW: usize = 4096;

/// A producer, as its last batches leave it.
#[derive(Debug, Clone, Copy)]
struct Producer {
    epoch: i16,
    /// The last offset of its last data batch, and where that begins; None since its epoch changed.
    last_data: Option<(i64, u64)>,
    last_timestamp: i64,
    /// Whether an end marker is yet to come. Such a producer is never forgotten.
    is_open: bool,
}

impl Producer {
    fn new(epoch: i16) -> Self {
        Producer { epoch, last_data: None, last_timestamp: i64::MIN, is_open: false }
    }

    fn is_forgotten(&self, clock: i64) -> bool {
        !self.is_open && clock.saturating_sub(self.last_timestamp) >= EXPIRATION_MS
    }
}

/// All producers of a log.
#[derive(Debug)]
pub struct Producers {
    all: HashMap<i64, Producer, RandomState>,
    /// What now is, in ms since 1970.
    now: i64,
    /// The greatest time in the log so far, which is never later than now: no clock that was wrong makes it forget.
    clock: i64,
    /// With so many, those that are forgotten are cleared away.
    many: usize,
}

impl Producers {
    /// None yet. `now` is in ms since 1970.
    pub fn new(now: i64) -> Self {
        Producers { all: HashMap::default(), now, clock: i64::MIN, many: FEW }
    }

    /// Takes up a batch, in log order, and where it begins, counted through all segments. With transaction version 2
    /// (Kafka 4.0) every end marker raises the epoch, by which a broker forgets the last data batch.
    pub fn batch(&mut self, header: &Header, place: u64) {
        // Of an end marker that a cleaner emptied a broker makes nothing when it reads the log anew.
        if header.producer_id == -1 || (header.control && header.count == 0) {
            return;
        }
        self.clock = self.clock.max(header.max_timestamp.min(self.now));
        let producer = self.all.entry(header.producer_id).or_insert(Producer::new(header.producer_epoch));
        if producer.epoch != header.producer_epoch || producer.is_forgotten(self.clock) {
            *producer = Producer::new(header.producer_epoch);
        }
        if !header.control {
            producer.last_data = Some((header.last_offset, place));
        }
        producer.is_open = !header.control;
        producer.last_timestamp = producer.last_timestamp.max(header.max_timestamp);
        if self.all.len() >= self.many {
            self.clear_away();
        }
    }

    #[cold]
    fn clear_away(&mut self) {
        let clock = self.clock;
        self.all.retain(|_, it| !it.is_forgotten(clock));
        self.many = FEW.max(self.all.len() * 2);
    }

    /// Ends the log: forgets those that a broker has forgotten by now.
    pub fn expire(&mut self) {
        self.clock = self.now;
        self.clear_away();
    }

    /// Where the last data batches begin by which producers are remembered.
    pub fn places(&self) -> impl Iterator<Item = u64> {
        self.all.values().filter_map(|producer| producer.last_data).map(|(_, place)| place)
    }

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a batch is what a producer is remembered by: its last data batch, or a marker of its present epoch if
    /// there is none.
    pub fn needs(&self, header: &Header) -> bool {
        if header.producer_id == -1 {
            return false;
        }
        self.all.get(&header.producer_id).is_some_and(|producer| match producer.last_data {
            Some((last, _)) => last == header.last_offset,
            None => header.control && producer.epoch == header.producer_epoch,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Batch;
    use crate::log::tests::batch;

    const START: i64 = 1_700_000_000_000;

    fn header(offset: i64, producer: i64, timestamp: i64, control: bool) -> Header {
        let plain = Batch::new(&batch(offset, 0, 1, &[]), 0).unwrap().header();
        Header { producer_id: producer, producer_epoch: 3, max_timestamp: timestamp, control, ..plain }
    }

    #[test]
    fn only_those_of_a_day_are_remembered() {
        let many: i64 = 60_000;
        let step = 60_000;
        let mut producers = Producers::new(START + many * step);
        let mut most = 0;
        // The first transaction is never ended.
        producers.batch(&header(0, many, START, false), 0);
        for i in 0..many {
            let now = START + i * step;
            producers.batch(&header(2 * i + 1, i, now, false), 0);
            producers.batch(&header(2 * i + 2, i, now, true), 0);
            most = most.max(producers.len());
        }
        assert!(most <= FEW, "{most}");
        producers.expire();
        assert_eq!(producers.len() as i64, EXPIRATION_MS / step);
        assert!(producers.needs(&header(0, many, START, false)));
        assert!(!producers.needs(&header(1, 0, START, false)));
        assert!(producers.needs(&header(2 * many - 1, many - 1, START, false)));
    }

    #[test]
    fn a_clock_that_was_wrong_makes_nobody_forget() {
        let mut producers = Producers::new(START + 1_000);
        producers.batch(&header(0, 1, START, false), 0);
        producers.batch(&header(1, 1, START, true), 0);
        producers.batch(&header(2, 2, i64::MAX, false), 0);
        producers.expire();
        assert!(producers.needs(&header(0, 1, START, false)) && producers.needs(&header(2, 2, START, false)));
    }

    #[test]
    fn who_was_silent_for_a_day_begins_anew() {
        let later = START + EXPIRATION_MS;
        let mut producers = Producers::new(later + 1_000);
        producers.batch(&header(0, 1, START, false), 0);
        producers.batch(&header(1, 1, START, true), 0);
        producers.batch(&header(2, 1, later, true), 0);
        producers.expire();
        assert!(!producers.needs(&header(0, 1, START, false)) && producers.needs(&header(2, 1, later, true)));
        // But not while its transaction is open.
        let mut producers = Producers::new(later + 1_000);
        producers.batch(&header(0, 1, START, false), 0);
        producers.batch(&header(2, 1, later, true), 0);
        producers.expire();
        assert!(producers.needs(&header(0, 1, START, false)));
    }
}
