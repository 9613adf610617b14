//! Offsets that are asked for, and files that list them.
//!
//! Must not know: logs, and what becomes of a wish.

use crate::escape::visible;
use crate::words::counted;

/// Where a group is to go on reading a partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wish {
    /// The group, by its name in the output.
    pub group: Vec<u8>,
    /// The topic, by its name in the output.
    pub topic: Vec<u8>,
    /// Its partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
}

impl Wish {
    /// What it is about: group, topic and partition.
    pub fn key(&self) -> (&[u8], &[u8], i32) {
        (&self.group, &self.topic, self.partition)
    }

    /// The same in words.
    pub fn words(&self) -> String {
        format!("{}/{}/{}", visible(&self.group), visible(&self.topic), self.partition)
    }

    /// If it can be fulfilled.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn checked(self) -> Result<Wish, String> {
        if self.offset < 0 || self.partition < 0 || self.topic.is_empty() {
            return Err(format!(
                "partition {} and offset {} of '{}' must not be below 0, and a topic has a name",
                self.partition,
                self.offset,
                visible(&self.topic)
            ));
        }
        if self.group.len() > i16::MAX as usize || self.topic.len() > 249 {
            return Err("a group's name has 32767 bytes at most, a topic's 249".to_owned());
        }
        Ok(self)
    }

    /// Reads a file of them: lines `group,topic,partition,offset` as `kafka-consumer-groups --export` writes them for
    /// several groups (names may stand in double quotes), or JSON objects with these four names, one a line. Lines that
    /// begin with `#` are passed over.
    ///
    /// # Errors
    /// What is wrong, with the number of the line.
    pub fn read_all(text: &str) -> Result<Vec<Wish>, String> {
        let text = text.trim_start_matches('\u{feff}');
        let is_json = text.lines().find(|line| is_item(line)).is_some_and(|line| line.trim_start().starts_with('{'));
        let wishes = if is_json { of_json_lines(text) } else { of_csv(text) };
        wishes.map_err(|(line, why)| format!("line {line}: {why}"))
    }
}

/// Wishes, or what is wrong in which line.
type Listed = Result<Vec<Wish>, (u64, String)>;

fn is_item(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

fn of_json_lines(text: &str) -> Listed {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_item(line));
    lines.map(|(number, line)| of_json(line).and_then(Wish::checked).map_err(|why| (number, why))).collect()
}

fn of_json(line: &str) -> Result<Wish, String> {
    let object: serde_json::Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let text = |name: &str| object.get(name).and_then(|it| it.as_str()).ok_or(format!("no text '{name}'"));
    let number = |name: &str| object.get(name).and_then(serde_json::Value::as_i64).ok_or(format!("no number '{name}'"));
    let partition = i32::try_from(number("partition")?).map_err(|_| "a partition that is none".to_owned())?;
    Ok(Wish {
        group: text("group")?.as_bytes().to_vec(),
        topic: text("topic")?.as_bytes().to_vec(),
        partition,
        offset: number("offset")?,
    })
}

fn of_csv(text: &str) -> Listed {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).comment(Some(b'#')).from_reader(text.as_bytes());
    // Blank lines and comments are counted to the row behind them.
    let line = |at: &csv::Position| {
        let rest = text.get(at.byte() as usize..).unwrap_or_default();
        at.line() + rest.lines().take_while(|line| !is_item(line)).count() as u64
    };
    let mut wishes = Vec::new();
    for (number, row) in reader.records().enumerate() {
        let row = row.map_err(|error| (error.position().map_or(0, line), error.to_string()))?;
        let is_head = number == 0 && row.get(0) == Some("group");
        if is_head || row.iter().all(|field| field.trim().is_empty()) {
            continue;
        }
        let wish = of_row(&row).and_then(Wish::checked);
        wishes.push(wish.map_err(|why| (row.position().map_or(0, line), why))?);
    }
    Ok(wishes)
}

fn of_row(row: &csv::StringRecord) -> Result<Wish, String> {
    let fields: Vec<_> = row.iter().collect();
    let [group, topic, partition, offset] = fields.as_slice() else {
        let why = if fields.len() == 3 { "; put the group in front of topic, partition and offset" } else { "" };
        let count = counted(fields.len() as u64, "field");
        return Err(format!("{count} where group,topic,partition,offset are wanted{why}"));
    };
    Ok(Wish {
        group: group.as_bytes().to_vec(),
        topic: topic.as_bytes().to_vec(),
        partition: partition.trim().parse().map_err(|_| format!("'{partition}' is no partition"))?,
        offset: offset.trim().parse().map_err(|_| format!("'{offset}' is no offset"))?,
    })
}
