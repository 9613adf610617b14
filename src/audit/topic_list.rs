//! The topics of a cluster: their ids and how many partitions each has.
//!
//! From a file of the user's, lines `name,id,partitions` as `--topics` takes them; id and number may be left out.
//! Must not know: what the list is for.

use crate::model::topics::{Topics, parse_id};
use crate::schema::wire::Uuid;
use std::collections::BTreeMap;
use std::io;

/// A topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Topic {
    /// Its id, if the list says.
    pub id: Option<Uuid>,
    /// How many partitions it has, if the list says.
    pub partitions: Option<i32>,
}

/// All topics, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicList {
    topics: BTreeMap<Vec<u8>, Topic>,
}

impl TopicList {
    /// A topic, if there is one of this name.
    pub fn topic(&self, name: &[u8]) -> Option<&Topic> {
        self.topics.get(name)
    }

    /// Tells another list the names of ids.
    pub fn teach(&self, topics: &mut Topics) {
        for (name, topic) in &self.topics {
            topic.id.into_iter().for_each(|id| topics.learn(id, name));
        }
    }

    /// Reads lines `name,id,partitions`; blanks, empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// With [`io::ErrorKind::InvalidData`] and the line's number if a number is none.
    pub fn parse(text: &str) -> io::Result<TopicList> {
        let mut list = TopicList::default();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut fields = line.split(',').map(str::trim);
            let (name, id, partitions) = (fields.next().unwrap_or_default(), fields.next(), fields.next());
            let partitions = match partitions.filter(|text| !text.is_empty()) {
                None => None,
                Some(text) => match text.parse::<i32>() {
                    Ok(n) if n > 0 => Some(n),
                    _ => {
                        let what = format!("line {}: '{text}' is no number of partitions", i + 1);
                        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                    }
                },
            };
            list.topics.insert(name.as_bytes().to_vec(), Topic { id: id.and_then(parse_id), partitions });
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list() {
        let list = TopicList::parse("# name,id,partitions\norders, qglq2ZQmQBWRKay1Ntz9rg, 6\n\nplain\n").unwrap();
        let orders = list.topic(b"orders").unwrap();
        assert_eq!((orders.id.is_some(), orders.partitions), (true, Some(6)));
        assert_eq!(list.topic(b"plain"), Some(&Topic::default()));
        assert_eq!(list.topic(b"gone"), None);
        assert!(TopicList::parse("orders,,six").is_err());
    }
}
