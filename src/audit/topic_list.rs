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
    /// With [`io::ErrorKind::InvalidData`] and the line's number if a number or a name is none, or if there is no topic.
    pub fn parse(text: &str) -> io::Result<TopicList> {
        let mut list = TopicList::default();
        let refused = |what: String| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut fields = line.split(',').map(str::trim);
            let (name, id, partitions) = (fields.next().unwrap_or_default(), fields.next(), fields.next());
            if !is_legal(name) {
                return refused(format!("line {}: {name:?} is no name of a topic", i + 1));
            }
            let partitions = match partitions.filter(|text| !text.is_empty()) {
                None => None,
                Some(text) => match text.parse::<i32>() {
                    Ok(n) if n > 0 => Some(n),
                    _ => return refused(format!("line {}: '{text}' is no number of partitions", i + 1)),
                },
            };
            list.topics.insert(name.as_bytes().to_vec(), Topic { id: id.and_then(parse_id), partitions });
        }
        if list.topics.is_empty() {
            return refused("no topic in it: with an empty list every topic would be gone".to_owned());
        }
        Ok(list)
    }
}

/// Whether a cluster can have a topic of this name: 1 to 249 of letters, digits, `.`, `_`, `-`.
fn is_legal(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=249).contains(&name.len()) && name.bytes().all(legal) && !matches!(name, "." | "..")
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
        assert!(TopicList::parse("\u{feff}orders\n").unwrap().topic(b"orders").is_some());
        for (bad, why) in
            [("a b", "line 2: "), ("Topic: a\tId: x", "line 2: "), ("{\"a\": 1}", "line 2: "), (",,3", "line 2: ")]
        {
            let error = TopicList::parse(&format!("fine\n{bad}\n")).unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
        assert!(TopicList::parse("").is_err() && TopicList::parse("# nothing\n\n").is_err());
    }
}
