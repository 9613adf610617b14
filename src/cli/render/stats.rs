//! Who fills the log, for people: totals, partitions, and the largest rows by whatever is asked for.
//!
//! Must not know: how anything was counted.

use super::name::visible;
use super::stats_why;
use super::table::{Looks, Table};
use super::wrap;
use crate::audit::stats::why::{Settings, Why};
use crate::audit::stats::{After, Reading, Stats};
use crate::cli::args::By;
use crate::cli::time::rfc3339;
use crate::model::stats::{BATCH_SIZES, HOUR, Sum};
use crate::rewrite::compact::Extent;
use crate::schema::RecordType;
use crate::words::counted;
use std::cmp::Reverse;
use std::path::Path;

/// A partition, to be told.
#[derive(Debug)]
pub struct Told<'t> {
    /// Which.
    pub partition: Option<i32>,
    /// Where it is.
    pub path: &'t Path,
    /// What was found.
    pub stats: &'t Stats,
    /// What a broker's cleaner would leave, if that was asked for.
    pub cleaner: Option<&'t After>,
    /// Why it is not cleaned, if that was asked for.
    pub why: Option<&'t Why>,
    /// What figures of a sample are multiplied by.
    pub scale: f64,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct View<'v> {
    /// The tables.
    pub by: &'v [By],
    /// How many rows of each, if that was said; 0 is all.
    pub top: Option<usize>,
    /// What was read.
    pub reading: Reading,
    /// Which segments a compaction takes.
    pub extent: Extent,
    /// The broker's.
    pub settings: &'v Settings,
    /// In ms since 1970.
    pub now: i64,
}

/// So many rows are shown if nobody says how many. Of types there are few.
const TOP: usize = 20;

impl View<'_> {
    /// How many rows are shown; 0 is all.
    pub fn most(&self, by: By) -> usize {
        self.top.unwrap_or(if by == By::Type { 0 } else { TOP })
    }

    /// Whether it is known what stays.
    pub fn knows_live(&self) -> bool {
        self.reading == Reading::All
    }

    /// Whether records were looked at.
    pub fn knows_records(&self) -> bool {
        self.reading != Reading::Heads
    }

    /// Whether figures are estimates.
    pub fn is_estimate(&self) -> bool {
        matches!(self.reading, Reading::Sample(_))
    }
}

/// A row: of what, and how much.
#[derive(Debug, Clone)]
pub struct Row<'t> {
    /// The partition of `__consumer_offsets` it lies in; None where it is not known.
    pub partition: Option<i32>,
    /// Of what.
    pub of: Of<'t>,
    /// How much.
    pub sum: Sum,
}

/// What a row is of.
#[derive(Debug, Clone, PartialEq)]
pub enum Of<'t> {
    /// A record type by its number.
    Type(Option<i16>),
    /// What is no record of a type: its name.
    Rest(&'static str),
    /// A group.
    Group(&'t [u8]),
    /// A group, topic and partition.
    Key(&'t [u8], &'t [u8], i32),
    /// The beginning of an hour, in ms since 1970.
    Hour(Option<i64>),
    /// A producer id.
    Producer(i64),
    /// A segment's name and base offset.
    Segment(&'t str, i64),
    /// So many smaller ones.
    Others(u64),
}

/// Multiplies the figures of a sample.
fn scaled(sum: &Sum, scale: f64) -> Sum {
    if scale == 1.0 {
        return *sum;
    }
    let times = |n: u64| (n as f64 * scale).round() as u64;
    Sum {
        batches: times(sum.batches),
        records: times(sum.records),
        tombstones: times(sum.tombstones),
        bytes: times(sum.bytes),
        live_records: times(sum.live_records),
        live_bytes: times(sum.live_bytes),
        commits: times(sum.commits),
        unchanged: times(sum.unchanged),
        commit_times: sum.commit_times,
    }
}

impl<'t> Told<'t> {
    /// A number of a sample, for all.
    pub fn scaled(&self, n: u64) -> u64 {
        (n as f64 * self.scale).round() as u64
    }

    /// All rows by something: of types, the largest first.
    pub fn rows(&self, by: By) -> Vec<Row<'t>> {
        let counted = &self.stats.counted;
        let row = |of: Of<'t>, sum: &Sum| Row { partition: self.partition, of, sum: scaled(sum, self.scale) };
        let mut rows: Vec<Row<'t>> = match by {
            By::Type => counted.types.iter().enumerate().map(|(i, sum)| row(Of::Type(type_number(i)), sum)).collect(),
            By::Group => counted.groups.iter().map(|(name, sum)| row(Of::Group(name), sum)).collect(),
            By::Partition => counted
                .keys
                .iter()
                .map(|key| {
                    let group = counted.groups.get(key.group as usize).map_or(&[][..], |(name, _)| name);
                    row(Of::Key(group, &key.topic, key.partition), &key.sum)
                })
                .collect(),
            By::Hour => (counted.hours.iter())
                .map(|(hour, sum)| row(Of::Hour(hour.map(|hour| hour.saturating_mul(HOUR))), sum))
                .collect(),
            By::Producer => counted.producers.iter().map(|(id, sum)| row(Of::Producer(*id), sum)).collect(),
            By::Segment => (counted.segments.iter())
                .map(|it| {
                    let sum = Sum { bytes: it.sum.bytes + it.hole_bytes, ..it.sum };
                    row(Of::Segment(&it.name, it.base_offset), &sum)
                })
                .collect(),
        };
        rows.retain(|row| row.sum.bytes > 0 || row.sum.records > 0 || matches!(row.of, Of::Segment(..)));
        if by == By::Type {
            rows.sort_by_key(|row| Reverse(row.sum.bytes));
        }
        rows
    }

    /// What the rows leave of the files' bytes.
    pub fn rest(&self, by: By) -> Vec<Row<'t>> {
        let counted = &self.stats.counted;
        let of_bytes = |bytes| Sum { bytes, ..Sum::default() };
        let holes = counted.holes.values();
        let mut rest = vec![
            ("damaged batches", counted.damaged),
            ("below the log start", counted.below_start),
            ("holes", Sum { batches: 0, ..of_bytes(holes.map(|count| count.bytes).sum()) }),
        ];
        if by == By::Segment {
            // They are in their segments.
            rest.clear();
        }
        if !by.is_of_heads() {
            let [commits, aborts, others] = counted.markers;
            let records = [("COMMIT markers", commits), ("ABORT markers", aborts), ("other control records", others)];
            let more = [("heads of batches", counted.heads), ("unreadable in batches", of_bytes(counted.unreadable))];
            let mut all = records.to_vec();
            all.extend(more);
            all.append(&mut rest);
            rest = all;
        }
        match by {
            By::Group => rest.insert(0, ("records of no group", counted.ungrouped)),
            By::Partition => rest.insert(0, ("other records", self.other_records())),
            _ => {}
        }
        let row = |(name, sum): (&'static str, Sum)| Row {
            partition: self.partition,
            of: Of::Rest(name),
            sum: scaled(&sum, self.scale),
        };
        rest.into_iter().map(row).filter(|row| row.sum.bytes > 0).collect()
    }

    /// Records that are no offsets.
    fn other_records(&self) -> Sum {
        let all = self.stats.counted.records();
        let mut keys = Sum::default();
        self.stats.counted.keys.iter().for_each(|key| keys.add(&key.sum));
        Sum {
            batches: 0,
            records: all.records - keys.records,
            tombstones: all.tombstones - keys.tombstones,
            bytes: all.bytes - keys.bytes,
            live_records: all.live_records - keys.live_records,
            live_bytes: all.live_bytes - keys.live_bytes,
            commits: 0,
            unchanged: 0,
            commit_times: None,
        }
    }

    /// All records and end markers that count.
    pub fn total(&self) -> Sum {
        let counted = &self.stats.counted;
        let mut all = match counted.heads.batches {
            0 => counted.batches,
            _ => counted.records(),
        };
        if counted.heads.batches > 0 {
            counted.markers.iter().for_each(|sum| all.add(sum));
            all.add(&counted.heads);
        }
        let times = all.commit_times;
        let batches = self.scaled(counted.batches.batches);
        Sum { batches, commit_times: times, ..scaled(&all, self.scale) }
    }
}

/// The number of a type by its place; None for the last, which holds all that no release knows.
fn type_number(place: usize) -> Option<i16> {
    i16::try_from(place).ok().filter(|number| RecordType::from_number(*number).is_some())
}

/// The largest rows, the largest first, and one for the others; of hours and segments, in their order.
pub fn top<'t>(rows: Vec<Row<'t>>, by: By, top: usize) -> Vec<Row<'t>> {
    let top = if top == 0 { rows.len() } else { top.min(rows.len()) };
    let by_time = matches!(by, By::Hour | By::Segment);
    if by_time && top == rows.len() {
        return rows;
    }
    // There may be many, and large ones: not these are sorted.
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let rank = |i: &usize| (rows.get(*i).map(|row| Reverse(row.sum.bytes)), *i);
    if by == By::Hour {
        // The last ones.
        order.rotate_left(rows.len() - top);
    } else {
        if top < order.len() {
            order.select_nth_unstable_by_key(top, rank);
        }
        if let Some(first) = order.get_mut(..top) {
            first.sort_unstable_by_key(rank);
        }
    }
    let mut sorted = order.iter().filter_map(|i| rows.get(*i));
    let mut first: Vec<Row<'t>> = sorted.by_ref().take(top).cloned().collect();
    first.extend(others(sorted));
    first
}

/// One row for all of some.
fn others<'r, 't: 'r>(mut rows: impl Iterator<Item = &'r Row<'t>>) -> Option<Row<'t>> {
    let first = rows.next()?;
    let (mut sum, mut partition, mut number) = (first.sum, first.partition, 1);
    for row in rows {
        sum.add(&row.sum);
        partition = partition.filter(|one| row.partition == Some(*one));
        number += 1;
    }
    Some(Row { partition, of: Of::Others(number), sum })
}

/// All of it.
pub fn text(told: &[Told<'_>], view: &View<'_>, looks: Looks) -> String {
    let mut text = wrapped(&totals(told, view), looks);
    text.push('\n');
    text.push_str(&partitions(told, view).text(looks));
    for it in told {
        if let Some(why) = it.why {
            text.push('\n');
            text.push_str(&wrapped(&stats_why::text(it, why, view), looks));
        }
    }
    for by in view.by {
        let rows = table(told, *by, view, Figures::ForPeople);
        if !rows.is_empty() {
            text.push_str(&format!("\nby {}:\n", heading(*by)));
            text.push_str(&rows.text(looks));
        }
    }
    text
}

/// Each line of a text, broken where it does not fit.
fn wrapped(text: &str, looks: Looks) -> String {
    text.lines().map(|line| format!("{}\n", wrap::line(line, looks))).collect()
}

fn heading(by: By) -> &'static str {
    match by {
        By::Type => "record type",
        By::Group => "group",
        By::Partition => "group, topic and partition",
        By::Hour => "hour (whole batches, the latest hours last)",
        By::Producer => "producer (whole batches)",
        By::Segment => "segment (whole files)",
    }
}

fn totals(told: &[Told<'_>], view: &View<'_>) -> String {
    let mut all = Sum::default();
    told.iter().for_each(|it| all.add(&it.total()));
    let bytes: u64 = told.iter().map(|it| it.stats.bytes).sum();
    let segments: u64 = told.iter().map(|it| it.stats.counted.segments.len() as u64).sum();
    let mut text = String::new();
    match view.reading {
        Reading::Sample(sample) => {
            let read: u64 = told.iter().map(|it| it.stats.read).sum();
            text.push_str(&format!(
                "ESTIMATES from a sample of {} %: {read} of {bytes} bytes were read; what is live is not known\n",
                sample.share() * 100.0
            ));
        }
        Reading::Window(window) => text.push_str(&format!(
            "only batches from {} to {}; what is live is not known\n",
            moment(window.from),
            moment(window.until)
        )),
        Reading::Heads => text.push_str("from the heads of batches only; no CRC was checked\n"),
        Reading::All => {}
    }
    let counts = format!(
        "{}, {bytes} bytes: {}, {}, {}",
        counted(told.len() as u64, "partition"),
        counted(segments, if view.is_estimate() { "sampled segment" } else { "segment" }),
        counted(all.batches, "batch"),
        counted(all.records, "record")
    );
    text.push_str(&counts);
    text.push('\n');
    let unknown: u64 = told.iter().map(|it| it.stats.counted.unknown_counts).sum();
    if unknown > 0 {
        text.push_str(&format!(
            "records unknown in {}: compressed ones of magic 0 and 1 do not say how many they hold\n",
            counted(unknown, "batch")
        ));
    }
    text.push_str(&batch_sizes(told));
    if !view.knows_records() {
        return text;
    }
    if view.knows_live() {
        let after: u64 = told.iter().filter_map(|it| it.stats.after.as_ref()).map(|after| after.bytes).sum();
        text.push_str(&format!(
            "live: {}, dead: {} ({}); {} would leave {after} bytes ({} less)\n",
            counted(all.live_records, "record"),
            all.dead_records(),
            percent(all.dead_records(), all.records),
            match view.extent {
                Extent::All => "a compaction of all of it",
                Extent::Closed => "a broker's cleaner",
            },
            percent(bytes.saturating_sub(after), bytes),
        ));
    }
    let rate = all.commits_per_second().map_or(String::new(), |rate| format!(", {} a second", rate_words(rate)));
    text.push_str(&format!(
        "{}{rate}; {} of them unchanged ({}); {}\n",
        counted(all.commits, "commit"),
        all.unchanged,
        percent(all.unchanged, all.commits),
        counted(all.tombstones, "tombstone"),
    ));
    text
}

/// `batches: 10 of one record; 3 of up to 128 bytes, 12 of up to 256, 1 larger`.
fn batch_sizes(told: &[Told<'_>]) -> String {
    let single: u64 = told.iter().map(|it| it.scaled(it.stats.counted.single)).sum();
    let of_size = |place: usize| -> u64 {
        told.iter().map(|it| it.scaled(it.stats.counted.batch_sizes.get(place).copied().unwrap_or(0))).sum()
    };
    let bounds = BATCH_SIZES.iter().map(|bound| format!("of up to {bound} bytes")).chain(["larger".to_owned()]);
    let sizes = bounds.enumerate().map(|(place, words)| (of_size(place), words)).filter(|(batches, _)| *batches > 0);
    let sizes: Vec<_> = sizes.map(|(batches, words)| format!("{batches} {words}")).collect();
    if sizes.is_empty() { String::new() } else { format!("batches: {single} of one record; {}\n", sizes.join(", ")) }
}

fn moment(millis: i64) -> String {
    match millis {
        i64::MIN => "the beginning".to_owned(),
        i64::MAX => "the end".to_owned(),
        millis => rfc3339(millis),
    }
}

/// `12.3 %`. What is not all is never said to be 100 %, and what is something never 0 %.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    match format!("{:.1} %", part as f64 * 100.0 / whole as f64) {
        text if text == "100.0 %" && part < whole => "> 99.9 %".to_owned(),
        text if text == "0.0 %" && part > 0 => "< 0.1 %".to_owned(),
        text => text,
    }
}

fn rate_words(rate: f64) -> String {
    if rate >= 10.0 { format!("{rate:.0}") } else { format!("{rate:.3}") }
}

fn partitions(told: &[Told<'_>], view: &View<'_>) -> Table {
    let mut head = vec!["PARTITION", "BYTES", "SEGMENTS", "FIRST", "END", "BATCHES", "LARGEST", "RECORDS"];
    if view.knows_records() {
        head.extend(["TOMBSTONES", "COMMITS", "UNCHANGED"]);
    }
    if view.knows_live() {
        head.extend(["LIVE", "DEAD", "AFTER-BYTES"]);
    }
    if told.iter().any(|it| it.why.is_some()) {
        head.extend(["DIRTY", "WHY"]);
    }
    let mut table = Table::new(&head);
    for it in told {
        let counted = &it.stats.counted;
        let total = it.total();
        let mut row = vec![
            or_dash(it.partition),
            it.stats.bytes.to_string(),
            counted.segments.len().to_string(),
            or_dash(counted.first_offset),
            counted.end_offset.to_string(),
            total.batches.to_string(),
            counted.largest.to_string(),
            if counted.unknown_counts > 0 { "?".to_owned() } else { total.records.to_string() },
        ];
        if view.knows_records() {
            row.extend([total.tombstones, total.commits, total.unchanged].map(|n| n.to_string()));
        }
        if let (true, Some(after)) = (view.knows_live(), &it.stats.after) {
            row.extend([total.live_records, total.dead_records(), after.bytes].map(|n| n.to_string()));
        }
        if let Some(why) = it.why {
            row.push(why.dirty_ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")));
            row.push(why.verdict.code().to_owned());
        }
        table.row(row);
    }
    table
}

fn or_dash<T: ToString>(number: Option<T>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

/// The columns that name a row.
fn names_head(by: By) -> &'static [&'static str] {
    match by {
        By::Type => &["TYPE"],
        By::Group => &["GROUP", "IN"],
        By::Partition => &["GROUP", "TOPIC", "PARTITION", "IN"],
        By::Hour => &["HOUR"],
        By::Producer => &["PRODUCER", "IN"],
        By::Segment => &["SEGMENT", "IN"],
    }
}

fn names(row: &Row<'_>, by: By) -> Vec<String> {
    let mut names = match &row.of {
        Of::Type(Some(number)) => {
            vec![RecordType::from_number(*number).map_or(String::new(), |it| format!("{number} {}", it.name()))]
        }
        Of::Type(None) => vec!["unknown or unreadable".to_owned()],
        Of::Rest(name) => vec![format!("({name})")],
        Of::Others(n) => vec![format!("({n} more)")],
        Of::Group(name) => vec![visible(name)],
        Of::Key(group, topic, partition) => vec![visible(group), visible(topic), partition.to_string()],
        Of::Hour(hour) => vec![hour.map_or_else(|| "(no time)".to_owned(), rfc3339)],
        Of::Producer(-1) => vec!["none".to_owned()],
        Of::Producer(id) => vec![id.to_string()],
        Of::Segment(name, _) => vec![(*name).to_owned()],
    };
    let wanted = names_head(by).len();
    if names_head(by).last() == Some(&"IN") {
        names.resize(wanted - 1, String::new());
        names.push(or_dash(row.partition));
    }
    names.resize(wanted, String::new());
    names
}

/// Rows of the same kind of all partitions, added up where they are not a partition's own.
fn gathered<'t>(told: &[Told<'t>], by: By, view: &View<'_>) -> Vec<Row<'t>> {
    let rows: Vec<Row<'t>> = told.iter().flat_map(|it| it.rows(by)).collect();
    let rows = if matches!(by, By::Type | By::Hour) { merged(rows) } else { rows };
    let mut rows = top(rows, by, view.most(by));
    rows.extend(merged(told.iter().flat_map(|it| it.rest(by)).collect()));
    rows
}

fn merged(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let mut merged: Vec<Row<'_>> = Vec::new();
    for row in rows {
        match merged.iter_mut().find(|it| it.of == row.of) {
            Some(it) => {
                it.sum.add(&row.sum);
                it.partition = it.partition.filter(|_| it.partition == row.partition);
            }
            None => merged.push(row),
        }
    }
    if merged.iter().all(|row| matches!(row.of, Of::Hour(_))) {
        merged.sort_by_key(|row| if let Of::Hour(hour) = row.of { hour } else { None });
    }
    merged
}

/// How shares and rates are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figures {
    /// Rounded, with a unit.
    ForPeople,
    /// Plain numbers; a share is one of 0 to 1.
    ForPrograms,
}

impl Figures {
    fn share(self, part: u64, whole: u64) -> String {
        match self {
            Figures::ForPrograms if whole > 0 => (part as f64 / whole as f64).to_string(),
            _ => percent(part, whole),
        }
    }

    fn rate(self, rate: f64) -> String {
        if self == Figures::ForPrograms { rate.to_string() } else { rate_words(rate) }
    }
}

fn table(told: &[Told<'_>], by: By, view: &View<'_>, figures: Figures) -> Table {
    let bytes = told.iter().map(|it| it.stats.bytes).sum();
    let mut head = names_head(by).to_vec();
    head.extend(["RECORDS", "BYTES", "SHARE"]);
    if view.knows_live() {
        head.extend(["LIVE", "DEAD", "DEAD-BYTES"]);
    }
    let of_records = view.knows_records() && !by.is_of_heads();
    if of_records {
        head.extend(["TOMBSTONES", "COMMITS", "UNCHANGED", "COMMITS/S"]);
    }
    let mut table = Table::new(&head);
    for row in gathered(told, by, view) {
        let sum = &row.sum;
        let mut cells = names(&row, by);
        cells.extend([sum.records.to_string(), sum.bytes.to_string(), figures.share(sum.bytes, bytes)]);
        if view.knows_live() {
            cells.extend([sum.live_records, sum.dead_records(), sum.dead_bytes()].map(|n| n.to_string()));
        }
        if of_records {
            cells.extend([sum.tombstones, sum.commits, sum.unchanged].map(|n| n.to_string()));
            cells.push(rate(&row).map_or_else(|| "-".to_owned(), |rate| figures.rate(rate)));
        }
        table.row(cells);
    }
    table
}

/// Commits a second of a row. Of one that stands for several it would say nothing.
pub fn rate(row: &Row<'_>) -> Option<f64> {
    if matches!(row.of, Of::Others(_)) { None } else { row.sum.commits_per_second() }
}

/// The one table that is asked for.
pub fn csv(told: &[Told<'_>], view: &View<'_>) -> String {
    view.by.first().map_or(String::new(), |by| table(told, *by, view, Figures::ForPrograms).csv())
}
