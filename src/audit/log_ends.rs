//! Where the logs of topics begin and end, from a file of the user's.
//!
//! A line is `topic,partition,start,end` or `topic,partition,end`, or `topic:partition:end` as kafka-get-offsets.sh prints
//! it; a second file of that tool (`--time earliest`) behind the first lowers the start, since the least of all numbers
//! counts as the start where more than one is given. Must not know: what the ends are for.

use std::collections::BTreeMap;
use std::io;

/// Where a partition's log begins, if it is known, and ends: the offset behind its last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The first offset.
    pub start: Option<i64>,
    /// The offset behind the last.
    pub end: i64,
}

/// All of them, by topic and partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogEnds {
    ends: BTreeMap<(Vec<u8>, i32), Ends>,
}

impl LogEnds {
    /// The ends of a partition.
    pub fn of(&self, topic: &[u8], partition: i32) -> Option<Ends> {
        self.ends.get(&(topic.to_vec(), partition)).copied()
    }

    /// Reads lines; empty ones and those that begin with `#` are skipped.
    ///
    /// # Errors
    /// With [`io::ErrorKind::InvalidData`] and the line's number if a line is no such one.
    pub fn parse(text: &str) -> io::Result<LogEnds> {
        let mut all = LogEnds::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((topic, partition, ends)) = parse_line(line) else {
                let what = format!("line {}: '{line}' is not topic,partition,start,end or topic:partition:end", i + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            };
            let key = (topic.as_bytes().to_vec(), partition);
            let ends = match all.ends.get(&key) {
                None => ends,
                Some(known) => {
                    let least = [known.start, ends.start, Some(known.end), Some(ends.end)].into_iter().flatten().min();
                    Ends { start: least, end: known.end.max(ends.end) }
                }
            };
            all.ends.insert(key, ends);
        }
        Ok(all)
    }
}

fn parse_line(line: &str) -> Option<(&str, i32, Ends)> {
    if let [topic, partition, rest @ ..] = line.split(',').map(str::trim).collect::<Vec<_>>().as_slice() {
        let partition = partition.parse().ok()?;
        return match rest {
            [end] => Some((topic, partition, Ends { start: None, end: end.parse().ok()? })),
            [start, end] => Some((topic, partition, Ends { start: Some(start.parse().ok()?), end: end.parse().ok()? })),
            _ => None,
        };
    }
    let [topic, partition, end] = line.split(':').collect::<Vec<_>>().try_into().ok()?;
    Some((topic, partition.parse().ok()?, Ends { start: None, end: end.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ways_to_say_it() {
        let ends = LogEnds::parse("# x\norders,0,5,100\norders,1,100\nclicks:0:7\n").unwrap();
        assert_eq!(ends.of(b"orders", 0), Some(Ends { start: Some(5), end: 100 }));
        assert_eq!(ends.of(b"orders", 1), Some(Ends { start: None, end: 100 }));
        assert_eq!(ends.of(b"clicks", 0), Some(Ends { start: None, end: 7 }));
        assert_eq!(ends.of(b"clicks", 1), None);
        let both = LogEnds::parse("clicks:0:70\nclicks:0:7\n").unwrap();
        assert_eq!(both.of(b"clicks", 0), Some(Ends { start: Some(7), end: 70 }));
        assert!(LogEnds::parse("orders").is_err());
        assert!(LogEnds::parse("orders,x,1").is_err());
    }
}
