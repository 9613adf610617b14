//! Batches without records. A cleaner keeps such a one where a producer is remembered by it: the last of its data. The others
//! are left of cleanings that kept more, and go with the next one of a broker that does not (KAFKA-8335).
//!
//! Memory grows with the producers of such batches, up to a bound. Must not know: how many are worth a word.

use crate::log::Header;
use crate::rewrite::compact::producers::Producers;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Those of so many producers are counted; what is said of more is too little.
const MOST_PRODUCERS: usize = 100_000;

/// Batches without records of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyBatches {
    /// Whose.
    pub producer_id: i64,
    /// How many can go.
    pub removable: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The base offset of the first, which may stay if it is the only one.
    pub first_offset: i64,
}

/// All of them.
#[derive(Debug)]
pub struct Empties {
    by_producer: HashMap<i64, (EmptyBatches, Header), FixedState>,
    producers: Producers,
}

impl Empties {
    /// None yet. `now` is in ms since 1970: producers that are silent for a day by then are forgotten.
    pub fn new(now: i64) -> Self {
        Empties { by_producer: HashMap::default(), producers: Producers::new(now) }
    }

    /// A batch, in log order.
    #[inline]
    pub fn batch(&mut self, header: &Header) {
        if header.producer_id == -1 {
            return;
        }
        self.producers.batch(header, 0);
        if header.count == 0 && !header.control {
            self.empty(header);
        }
    }

    fn empty(&mut self, header: &Header) {
        let producer_id = header.producer_id;
        if self.by_producer.len() >= MOST_PRODUCERS && !self.by_producer.contains_key(&producer_id) {
            return;
        }
        let none = EmptyBatches { producer_id, removable: 0, bytes: 0, first_offset: header.base_offset };
        let (sum, last) = self.by_producer.entry(producer_id).or_insert((none, *header));
        sum.removable += 1;
        sum.bytes += header.length;
        *last = *header;
    }

    /// Those that can go, by producer: those of which the most can, first.
    pub fn finish(mut self) -> Vec<EmptyBatches> {
        self.producers.expire();
        let mut all: Vec<_> = (self.by_producer.into_values())
            .map(|(sum, last)| match self.producers.needs(&last) {
                true => EmptyBatches { removable: sum.removable - 1, bytes: sum.bytes - last.length, ..sum },
                false => sum,
            })
            .filter(|sum| sum.removable > 0)
            .collect();
        all.sort_unstable_by_key(|sum| (std::cmp::Reverse(sum.removable), sum.producer_id));
        all
    }
}
