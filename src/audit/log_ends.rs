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
    without_end: u64,
}

impl LogEnds {
    /// The ends of a partition.
    pub fn of(&self, topic: &[u8], partition: i32) -> Option<Ends> {
        self.ends.get(&(topic.to_vec(), partition)).copied()
    }

    /// Whether it has any partition of a topic.
    pub fn has(&self, topic: &[u8]) -> bool {
        self.ends.range((topic.to_vec(), i32::MIN)..).next().is_some_and(|((name, _), _)| name == topic)
    }

    /// How many lines name a partition without an end, as the tool writes it where no leader answers. They were skipped.
    pub fn without_end(&self) -> u64 {
        self.without_end
    }

    /// Reads lines; empty ones and those that begin with `#` are skipped.
    ///
    /// # Errors
    /// With [`io::ErrorKind::InvalidData`] and the line's number if a line is no such one, or if there is none.
    pub fn parse(text: &str) -> io::Result<LogEnds> {
        let mut all = LogEnds::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if is_without_end(line) {
                all.without_end += 1;
                continue;
            }
            let Some((topic, partition, ends)) = parse_line(line).filter(makes_sense) else {
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
        if all == LogEnds::default() {
            let what = "no line with the end of a partition: did kafka-get-offsets.sh fail?";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(all)
    }
}

/// `topic:partition:`.
fn is_without_end(line: &str) -> bool {
    let front = line.strip_suffix(':').and_then(|front| front.split_once(':'));
    front.is_some_and(|(topic, partition)| !topic.is_empty() && partition.parse::<u32>().is_ok())
}

fn makes_sense((topic, partition, ends): &(&str, i32, Ends)) -> bool {
    let start = ends.start.unwrap_or(0);
    !topic.is_empty() && *partition >= 0 && start >= 0 && start <= ends.end
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
        for bad in [
            "orders",
            "orders,0,7,5",
            "orders,-1,5",
            "orders:0:-1",
            ":0:5",
            "orders,0,-1,5",
            "a:b:0:5",
            "orders::",
            "orders,0,",
        ] {
            let error = LogEnds::parse(&format!("clicks:0:7\n{bad}\n")).unwrap_err();
            assert!(error.to_string().starts_with("line 2: "), "{bad}: {error}");
        }
        let gone = LogEnds::parse("\u{feff}clicks:0:\nclicks:1:9\n").unwrap();
        assert_eq!((gone.without_end(), gone.of(b"clicks", 0)), (1, None));
        assert!(gone.of(b"clicks", 1).is_some());
        assert!(LogEnds::parse("orders,x,1").is_err());
        for empty in ["", "\n# nothing\n"] {
            assert!(LogEnds::parse(empty).is_err());
        }
        assert!(ends.has(b"orders") && ends.has(b"clicks") && !ends.has(b"order"));
    }
}
