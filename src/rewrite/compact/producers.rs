//! What a broker remembers of producers, and which batch must stay so that it still does after it reads the log anew.
//!
//! Must not know: keys and records.

use crate::log::batch::Header;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// How long a broker remembers a producer that is silent: `producer.id.expiration.ms`, a day unless it is set.
const EXPIRATION_MS: i64 = 86_400_000;

/// A producer, as its last batches leave it.
#[derive(Debug, Clone, Copy)]
struct Producer {
    epoch: i16,
    /// The last offset of its last data batch, and where that begins; None since its epoch changed.
    last_data: Option<(i64, u64)>,
    last_timestamp: i64,
}

/// All producers of a log.
#[derive(Debug, Default)]
pub struct Producers(HashMap<i64, Producer, FixedState>);

impl Producers {
    /// Takes up a batch, in log order, and where it begins, counted through all segments. With transaction version 2 (Kafka 4.0) every end marker raises the epoch, by which
    /// a broker forgets the last data batch.
    pub fn batch(&mut self, header: &Header, place: u64) {
        if header.producer_id == -1 {
            return;
        }
        let fresh = Producer { epoch: header.producer_epoch, last_data: None, last_timestamp: i64::MIN };
        let producer = self.0.entry(header.producer_id).or_insert(fresh);
        if producer.epoch != header.producer_epoch {
            *producer = fresh;
        }
        if !header.control {
            producer.last_data = Some((header.last_offset, place));
        }
        producer.last_timestamp = producer.last_timestamp.max(header.max_timestamp);
    }

    /// Forgets those that a broker has forgotten by now, in ms since 1970. One whose transaction is open is never.
    pub fn expire(&mut self, now: i64, is_open: impl Fn(i64) -> bool) {
        self.0.retain(|id, it| is_open(*id) || now.saturating_sub(it.last_timestamp) < EXPIRATION_MS);
    }

    /// Where the last data batches begin by which producers are remembered.
    pub fn places(&self) -> impl Iterator<Item = u64> {
        self.0.values().filter_map(|producer| producer.last_data).map(|(_, place)| place)
    }

    /// Whether a batch is what a producer is remembered by: its last data batch, or a marker of its present epoch if
    /// there is none.
    pub fn needs(&self, header: &Header) -> bool {
        if header.producer_id == -1 {
            return false;
        }
        self.0.get(&header.producer_id).is_some_and(|producer| match producer.last_data {
            Some((last, _)) => last == header.last_offset,
            None => header.control && producer.epoch == header.producer_epoch,
        })
    }
}
