//! Transactions that have not ended, while logs are merged: which new logs wait for their end.
//!
//! Must not know: where the data and the ends are written.

use crate::log::Control;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

/// Transactions that have not ended, while logs are merged.
#[derive(Debug, Default)]
pub struct Open {
    /// New logs that hold data of a producer's transaction, by the producer and the old log.
    data: HashMap<i64, BTreeMap<usize, BTreeSet<usize>>>,
    /// Old logs whose data of a producer's transaction were ended early in a new log, by the marker of another; and how.
    early: HashMap<(i64, usize, usize), bool>,
}

impl Open {
    /// A new log takes data of an old one's transaction.
    pub fn data(&mut self, feed: usize, producer: i64, target: usize) {
        self.data.entry(producer).or_default().entry(feed).or_default().insert(target);
    }

    /// The new logs that a marker goes to. The marker of one old log also ends what came from another and stands in the
    /// same new log: right if the other's says the same, as it does for one transaction.
    ///
    /// # Errors
    /// If the other's said something else.
    pub fn end(&mut self, feed: usize, producer: i64, kind: Option<Control>) -> io::Result<Vec<usize>> {
        let is_commit = match kind {
            Some(Control::Commit(_)) => true,
            Some(Control::Abort(_)) => false,
            _ => return Ok(Vec::new()),
        };
        let Some(by_feed) = self.data.get_mut(&producer) else { return Ok(Vec::new()) };
        let targets = by_feed.remove(&feed).unwrap_or_default();
        for target in &targets {
            if self.early.remove(&(producer, feed, *target)).is_some_and(|said| said != is_commit) {
                return Err(overlap(producer));
            }
            for (other, _) in by_feed.iter().filter(|(_, to)| to.contains(target)) {
                // Some of it may have been ended before, by a marker that said the other thing.
                let said = self.early.insert((producer, *other, *target), is_commit);
                if said.is_some_and(|said| said != is_commit) {
                    return Err(overlap(producer));
                }
            }
        }
        if by_feed.is_empty() {
            self.data.remove(&producer);
        }
        Ok(targets.into_iter().collect())
    }

    /// What was ended early must have ended at all.
    ///
    /// # Errors
    /// If one did not.
    pub fn settle(&self) -> io::Result<()> {
        self.early.keys().min().map_or(Ok(()), |(producer, ..)| Err(overlap(*producer)))
    }
}

fn overlap(producer: i64) -> io::Error {
    io::Error::other(format!(
        "transactions of producer {producer} in several partitions overlap in time and end differently, or one never ends: \
         their commits cannot be told apart in one partition. --drop-group takes out the group that stands in two"
    ))
}
