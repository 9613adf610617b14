//! The commands of Kafka's tools that put a finding right, as they can be pasted into a shell.
//!
//! Must not know: which finding they are for.

use crate::model::view::GroupType;

/// How Kafka's tools are called.
#[derive(Debug, Clone)]
pub struct Commands {
    /// For `--bootstrap-server`.
    pub bootstrap: String,
    /// The paths of the audit, as words of a shell.
    pub paths: String,
    /// The options of the audit by which it read them, as words of a shell, with the clock that it went by: what a command
    /// of ours selects must be what the finding is about.
    pub reading: String,
}

impl Default for Commands {
    fn default() -> Self {
        Commands { bootstrap: "BROKER:9092".to_owned(), paths: "PATH".to_owned(), reading: String::new() }
    }
}

impl Commands {
    fn groups_tool(&self, kind: GroupType) -> String {
        let tool = match kind {
            GroupType::Classic | GroupType::Consumer => "kafka-consumer-groups.sh",
            GroupType::Share => "kafka-share-groups.sh",
            GroupType::Streams => "kafka-streams-groups.sh",
        };
        format!("{tool} --bootstrap-server {}", word(self.bootstrap.as_bytes()))
    }

    /// Deletes a group with all its offsets. It must be empty. None of a streams group, of which the tool of 4.1 deletes the
    /// application's internal topics, too, unasked.
    pub fn delete(&self, kind: GroupType, group: &[u8]) -> Option<String> {
        (kind != GroupType::Streams).then(|| format!("{} --delete --group {}", self.groups_tool(kind), word(group)))
    }

    /// Deletes offsets of a topic: all, or those of some partitions. A broker refuses that for a topic or a partition that
    /// it does not have, and while the group reads the topic.
    pub fn delete_offsets(&self, kind: GroupType, group: &[u8], topic: &[u8], partitions: &[i32]) -> String {
        let (tool, topic) = (self.groups_tool(kind), topic_word(topic, partitions));
        format!("{tool} --delete-offsets --group {} {} {topic}", word(group), topic_option(kind))
    }

    /// Resets offsets of a topic: `to` is an option such as `--to-earliest`. The group must be empty. For a streams group the
    /// tool only shows what it would do: to execute would delete the application's internal topics, too.
    pub fn reset(&self, kind: GroupType, group: &[u8], topic: &[u8], partitions: &[i32], to: &str) -> String {
        let (tool, topic) = (self.groups_tool(kind), topic_word(topic, partitions));
        let done = if kind == GroupType::Streams { "--dry-run" } else { "--execute" };
        format!("{tool} --reset-offsets --group {} {} {topic} {to} {done}", word(group), topic_option(kind))
    }

    /// Commits offsets of a topic anew, as they were, whether or not the broker still has them (`--to-current` would go to the
    /// end of a partition of which it has none). None where the tool only shows what it would do, where it refuses all of
    /// them for one that is below 0, or the names or their number are too much for a line.
    pub fn commit_anew(&self, kind: GroupType, group: &[u8], topic: &[u8], offsets: &[(i32, i64)]) -> Option<String> {
        const MOST: usize = 500;
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let is_refused = offsets.iter().any(|(_, offset)| *offset < 0);
        if !matches!(kind, GroupType::Classic | GroupType::Consumer) || offsets.len() > MOST || is_refused {
            return None;
        }
        let topic = std::str::from_utf8(topic).ok().filter(|topic| topic.bytes().all(|byte| is_plain(&byte)))?;
        let lines: Vec<_> = offsets.iter().map(|(partition, offset)| format!("{topic},{partition},{offset}")).collect();
        let (tool, group) = (self.groups_tool(kind), word(group));
        Some(format!(
            "f=$(mktemp) && printf '%s\\n' {} > \"$f\" && {tool} --reset-offsets --group {group} --from-file \"$f\" --execute",
            lines.join(" ")
        ))
    }

    /// Makes a topic that is gone, and deletes it again, upon which coordinators forget all offsets of it.
    pub fn forget_topic(&self, topic: &[u8], partitions: u32) -> String {
        let tool = format!("kafka-topics.sh --bootstrap-server {}", word(self.bootstrap.as_bytes()));
        let topic = word(topic);
        format!("{tool} --create --topic {topic} --partitions {partitions} && {tool} --delete --topic {topic}")
    }

    /// Ends a transaction; the broker looks up whose it is.
    pub fn abort(&self, partition: i32, first_offset: i64) -> String {
        let bootstrap = word(self.bootstrap.as_bytes());
        format!(
            "kafka-transactions.sh --bootstrap-server {bootstrap} abort --topic __consumer_offsets --partition {partition} \
             --start-offset {first_offset}"
        )
    }

    /// The same for brokers before 3.0, which cannot be asked for the rest.
    pub fn abort_of_producer(&self, partition: i32, id: i64, epoch: i16, coordinator_epoch: i32) -> String {
        let bootstrap = word(self.bootstrap.as_bytes());
        format!(
            "kafka-transactions.sh --bootstrap-server {bootstrap} abort --topic __consumer_offsets --partition {partition} \
             --producer-id {id} --producer-epoch {epoch} --coordinator-epoch {coordinator_epoch}"
        )
    }

    /// Deletes the silent groups of a family, which the finding lists. Their names must not hold line feeds: the pipe takes
    /// each line for a name.
    pub fn delete_family(&self, pattern: &str, silent_for_ms: i64) -> String {
        let bootstrap = word(self.bootstrap.as_bytes());
        let reading = if self.reading.is_empty() { String::new() } else { format!(" {}", self.reading) };
        format!(
            "grouplog audit --only group-family --stale-after {}{reading} --format jsonl -- {} | jq -r --arg p {} \
             'select(.facts.pattern == $p) | .facts.deletable[] | \"--group\", .' | \
             xargs -r -d '\\n' -n 200 kafka-consumer-groups.sh --bootstrap-server {bootstrap} --delete",
            span(silent_for_ms),
            self.paths,
            word(pattern.as_bytes()),
        )
    }
}

fn topic_option(kind: GroupType) -> &'static str {
    if kind == GroupType::Streams { "--input-topic" } else { "--topic" }
}

/// `orders`, or `orders:0,3`.
fn topic_word(topic: &[u8], partitions: &[i32]) -> String {
    let mut topic = topic.to_vec();
    if !partitions.is_empty() {
        let numbers: Vec<_> = partitions.iter().map(i32::to_string).collect();
        topic.push(b':');
        topic.extend_from_slice(numbers.join(",").as_bytes());
    }
    word(&topic)
}

/// A span as options take it: in days where it is whole days, else in milliseconds.
pub fn span(ms: i64) -> String {
    match (ms / super::settings::DAY, ms % super::settings::DAY) {
        (days @ 1.., 0) => format!("{days}d"),
        _ => format!("{ms}ms"),
    }
}

/// Bytes as one word of a shell: as they are where nothing in them means anything to it, else quoted; in the notation of
/// bash, zsh and ksh (`$'\xff'`) where they are not plain text.
pub fn word(bytes: &[u8]) -> String {
    let harmless = |c: char| c.is_alphanumeric() || "_-./:,@%+".contains(c);
    match std::str::from_utf8(bytes) {
        // In front a minus would make an option of it, a tilde a home.
        Ok(text) if !text.is_empty() && text.chars().all(harmless) => text.to_owned(),
        Ok(text) if !text.chars().any(crate::escape::disturbs) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => {
            let escaped = |byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                byte => format!("\\x{byte:02x}"),
            };
            format!("$'{}'", bytes.iter().map(escaped).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell() {
        let cases: [(&[u8], &str); 9] = [
            (b"orders-v1.2", "orders-v1.2"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"$(id)", "'$(id)'"),
            (b"a'b\"c", "'a'\\''b\"c'"),
            ("größe".as_bytes(), "größe"),
            (b"a\nb'", "$'a\\x0ab\\''"),
            (b"\xff\\", "$'\\xff\\\\'"),
            ("\u{202e}x".as_bytes(), "$'\\xe2\\x80\\xaex'"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(word(bytes), expected);
        }
    }

    /// What a shell makes of a word are the bytes again.
    #[test]
    fn a_shell_reads_them_back() {
        for bytes in [&b"a'b\"c"[..], b"$(id) `id` !x", b"\xff\xfe'", b"a\nb\tc", b"--delete", b"~", b"a\\x41"] {
            let script = format!("printf '%s' {}", word(bytes));
            let Ok(output) = std::process::Command::new("bash").args(["-c", &script]).output() else { return };
            assert_eq!(output.stdout, bytes, "{script}");
        }
    }

    #[test]
    fn spans() {
        assert_eq!(span(30 * 86_400_000), "30d");
        assert_eq!(span(1500), "1500ms");
    }

    #[test]
    fn commands() {
        let commands = Commands::default();
        assert_eq!(
            commands.delete_offsets(GroupType::Classic, b"a b", b"orders", &[0, 3]),
            "kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --delete-offsets --group 'a b' --topic orders:0,3"
        );
        let anew = |offset| commands.commit_anew(GroupType::Consumer, b"g", b"orders", &[(0, 7), (1, offset)]);
        assert_eq!(
            anew(8).unwrap(),
            "f=$(mktemp) && printf '%s\\n' orders,0,7 orders,1,8 > \"$f\" && kafka-consumer-groups.sh --bootstrap-server \
             BROKER:9092 --reset-offsets --group g --from-file \"$f\" --execute"
        );
        assert_eq!(anew(-1), None);
        assert_eq!(
            commands.reset(GroupType::Streams, b"app", b"orders", &[], "--to-latest"),
            "kafka-streams-groups.sh --bootstrap-server BROKER:9092 --reset-offsets --group app --input-topic orders \
             --to-latest --dry-run"
        );
        assert_eq!(
            commands.abort(18, 4),
            "kafka-transactions.sh --bootstrap-server BROKER:9092 abort --topic __consumer_offsets --partition 18 \
             --start-offset 4"
        );
    }
}
