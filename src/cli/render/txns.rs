//! Transactions, for people.
//!
//! Must not know: how they were found.

use super::history_words::span_of_time;
use super::name::{visible, visible_path};
use super::table::{Looks, Table};
use super::wrap;
use crate::audit::commands::Commands;
use crate::audit::transactions::{Agreement, Audited, age, hangs};
use crate::cli::time::rfc3339;
use crate::model::transactions::{Ending, Transaction};
use crate::words::counted;
use std::path::Path;

/// So many keys of an open transaction are named.
const MOST_KEYS: usize = 10;

/// A partition's transactions, to be told.
#[derive(Debug)]
pub struct Told<'t> {
    /// Which.
    pub partition: Option<i32>,
    /// Where it is.
    pub path: &'t Path,
    /// What was found.
    pub audited: &'t Audited,
    /// Numbers of those that are shown.
    pub shown: Vec<usize>,
    /// `transaction.max.timeout.ms`.
    pub max_timeout_ms: i64,
    /// In ms since 1970.
    pub now: i64,
    /// Those of Kafka's tools.
    pub commands: &'t Commands,
}

impl Told<'_> {
    /// Those that are shown, with what files beside the log say of them.
    pub fn each(&self) -> impl Iterator<Item = (&Transaction, Agreement)> {
        let both = |number: &usize| {
            let agreement = self.audited.agreements.get(*number).copied().unwrap_or_default();
            Some((self.audited.transactions.all.get(*number)?, agreement))
        };
        self.shown.iter().filter_map(both)
    }

    /// How many hang, shown or not.
    pub fn hanging(&self) -> u64 {
        self.audited.transactions.all.iter().filter(|it| self.hangs(it)).count() as u64
    }

    /// Whether one hangs.
    pub fn hangs(&self, it: &Transaction) -> bool {
        hangs(it, self.now, self.max_timeout_ms)
    }

    /// How long one is open, in ms, never below 0. None if it is not, or nothing tells when it began.
    pub fn age(&self, it: &Transaction) -> Option<i64> {
        age(it, self.now).map(|age| age.max(0))
    }

    /// By how much one that is open begins ahead of now, in ms, if it does.
    pub fn ahead(&self, it: &Transaction) -> Option<i64> {
        age(it, self.now).filter(|age| *age < 0).map(i64::saturating_neg)
    }

    /// The command of Kafka's tool that ends one, on brokers of 3.0 and later.
    pub fn abort_command(&self, it: &Transaction) -> Option<String> {
        let (first, partition) = (it.first_offset.filter(|_| it.pins)?, self.partition?);
        Some(self.commands.abort(partition, first))
    }

    /// The same for brokers before 3.0, which cannot be asked for the rest.
    pub fn old_abort_command(&self, it: &Transaction) -> Option<String> {
        let partition = self.partition.filter(|_| it.pins)?;
        // As Kafka's own tool does where no marker told it yet.
        let coordinator_epoch = it.coordinator_epoch.unwrap_or(0);
        Some(self.commands.abort_of_producer(partition, it.producer_id, it.producer_epoch, coordinator_epoch))
    }
}

/// Totals, partitions, what is open with the commands that end it, then all that is shown.
pub fn text(told: &[Told<'_>], looks: Looks) -> String {
    let mut text = format!("{}\n\n", wrap::line(&totals(told), looks));
    text.push_str(&partitions(told).text(looks));
    for it in told {
        for (transaction, agreement) in it.each().filter(|(transaction, _)| transaction.pins) {
            text.push_str(&open(it, transaction, agreement, looks));
        }
    }
    let rows = table(told);
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&rows.text(looks));
    }
    text
}

fn totals(told: &[Told<'_>]) -> String {
    let sum = |of: fn(&Audited) -> u64| told.iter().map(|it| of(it.audited)).sum::<u64>();
    let open = sum(|it| it.transactions.counts.open);
    let hanging = told.iter().map(Told::hanging).sum::<u64>();
    let pinned = match sum(|it| it.transactions.pinned_bytes) {
        0 => String::new(),
        bytes => {
            format!("; {bytes} of {} bytes lie behind open ones, and are not cleaned", sum(|it| it.transactions.bytes))
        }
    };
    format!(
        "{}: {open} open ({hanging} hanging), {} committed, {} aborted, {} unknown{pinned}",
        counted(told.len() as u64, "partition"),
        sum(|it| it.transactions.counts.committed),
        sum(|it| it.transactions.counts.aborted),
        sum(|it| it.transactions.counts.unknown),
    )
}

fn partitions(told: &[Told<'_>]) -> Table {
    let mut table = Table::new(&[
        "PARTITION",
        "OPEN",
        "HANGING",
        "COMMITTED",
        "ABORTED",
        "UNKNOWN",
        "LAST-STABLE",
        "END",
        "PINNED-BYTES",
        "SIDE-FILES",
    ]);
    for it in told {
        let found = &it.audited.transactions;
        let side = it.audited.side;
        let agree = match (it.audited.findings.len(), side.txn_indexes + side.snapshots) {
            (0, 0) => "none".to_owned(),
            (0, _) => "agree".to_owned(),
            (n, _) => counted(n as u64, "disagreement"),
        };
        let number = it.partition.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let counts =
            [found.counts.open, it.hanging(), found.counts.committed, found.counts.aborted, found.counts.unknown];
        let mut row = vec![number];
        row.extend(counts.iter().map(u64::to_string));
        row.extend([found.last_stable_offset.to_string(), found.end_offset.to_string()]);
        row.extend([found.pinned_bytes.to_string(), agree]);
        table.row(row);
    }
    table
}

/// An open transaction, and what to do about it.
fn open(told: &Told<'_>, it: &Transaction, agreement: Agreement, looks: Looks) -> String {
    let found = &told.audited.transactions;
    let is = match (it.ending, told.hangs(it)) {
        (Ending::Open, true) => "hanging",
        (Ending::Open, false) => "open",
        _ => "perhaps open",
    };
    let began = rfc3339(it.first_timestamp);
    let age = match (told.age(it), told.ahead(it)) {
        (_, Some(ahead)) => format!("since {began}, which lies {} ahead of now", span_of_time(ahead)),
        (Some(age), None) => format!("for {}, since {began}", span_of_time(age)),
        (None, None) => "nothing tells since when".to_owned(),
    };
    let partition = told.partition.map_or_else(|| visible_path(told.path), |number| format!("partition {number}"));
    let mut lines = vec![
        format!(
            "{is}: {partition}, producer {}, epoch {}, offsets {} to {}, {age}",
            it.producer_id,
            it.producer_epoch,
            it.first_offset.unwrap_or(-1),
            it.last_offset.unwrap_or(-1),
        ),
        format!(
            "  {} of {}; behind its beginning lie {} of {} bytes, which no cleaner takes while it is open",
            counted(it.records, "record"),
            counted(it.keys, "key"),
            found.pinned_by(it),
            found.bytes,
        ),
    ];
    lines.extend(it.keys_touched().take(MOST_KEYS).map(|key| {
        let group = visible(key.group());
        match key.topic_partition() {
            Some((topic, partition)) => format!("  group {group}, topic {}, partition {partition}", visible(topic)),
            None => format!("  group {group}, a {} record", key.record_type.name()),
        }
    }));
    if let Some(more @ 1..) = it.touched.len().checked_sub(MOST_KEYS) {
        lines.push(format!("  and {} more", counted(more as u64, "key")));
    }
    if agreement.in_snapshot == Some(false) {
        lines.push("  the newest .snapshot behind its beginning does not have it open".to_owned());
    }
    lines.extend(it.doubt.map(|doubt| format!("  {}", doubt.words())));
    let mut text = String::from("\n");
    lines.iter().for_each(|line| text.push_str(&format!("{}\n", wrap::line(line, looks))));
    if let (Some(new), Some(old)) = (told.abort_command(it), told.old_abort_command(it)) {
        let when = if told.hangs(it) { "to end it" } else { "to end it, should it hang" };
        text.push_str(&format!("  {when}:\n    {new}\n  on a broker before 3.0:\n    {old}\n"));
    }
    text
}

/// All that are shown, a row each.
pub fn table(told: &[Told<'_>]) -> Table {
    let mut table = Table::new(&[
        "PARTITION",
        "STATE",
        "PRODUCER",
        "EPOCH",
        "COORDINATOR",
        "FIRST",
        "LAST",
        "MARKER",
        "RECORDS",
        "KEYS",
        "BEGAN",
        "AGE-MS",
        "PINNED-BYTES",
        "GROUPS",
    ]);
    for told in told {
        for (it, _) in told.each() {
            table.row(row(told, it));
        }
    }
    table
}

fn row(told: &Told<'_>, it: &Transaction) -> Vec<String> {
    let found = &told.audited.transactions;
    let or_dash = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    // Blanks part them.
    let groups: Vec<_> = found.groups_of(it).map(|name| visible(name).replace(' ', "\\x20")).collect();
    vec![
        or_dash(told.partition.map(i64::from)),
        it.ending.name().to_owned(),
        it.producer_id.to_string(),
        it.producer_epoch.to_string(),
        or_dash(it.coordinator_epoch.map(i64::from)),
        or_dash(it.first_offset),
        or_dash(it.last_offset),
        or_dash(it.marker_offset),
        it.records.to_string(),
        it.keys.to_string(),
        rfc3339(it.first_timestamp),
        or_dash(told.age(it)),
        found.pinned_by(it).to_string(),
        groups.join(" "),
    ]
}

/// What brokers remember of producers.
pub fn producers(told: &[Told<'_>]) -> Table {
    let mut table =
        Table::new(&["PARTITION", "PRODUCER", "EPOCH", "COORDINATOR", "LAST-SEQUENCE", "LAST-TIMESTAMP", "OPEN-FROM"]);
    for it in told {
        for producer in &it.audited.transactions.producers {
            table.row(vec![
                it.partition.map_or_else(|| "-".to_owned(), |number| number.to_string()),
                producer.producer_id.to_string(),
                producer.producer_epoch.to_string(),
                producer.coordinator_epoch.unwrap_or(-1).to_string(),
                producer.last_sequence.to_string(),
                producer.last_timestamp.to_string(),
                producer.open_from.map_or_else(|| "-".to_owned(), |offset| offset.to_string()),
            ]);
        }
    }
    table
}
