//! What `compact` did, for people.
//!
//! Must not know: how any of it was found.

use super::compact::Told;
use super::name::visible_path;
use super::table::{Looking, Looks, Table};
use crate::cli::time::rfc3339;
use crate::words::counted;
use std::io::{self, Write};

/// Writes all of a partition.
///
/// # Errors
/// If `to` cannot be written to.
pub fn write(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    head(told, to)?;
    told.found.text(to)?;
    open_transactions(told, to)?;
    types(told, to)?;
    reasons(told, to)?;
    writeln!(to, "  lines of the log dir's checkpoints, once the new folder is in place:")?;
    for (file, line, why) in told.checkpoints() {
        writeln!(to, "    {file:<33} {line}   ({why})")?;
    }
    Ok(())
}

fn head(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    let (before, after, behind) = (&told.survey.before, &told.cleaned.after, &told.cleaned.behind);
    writeln!(to, "partition {}: {}", told.partition, visible_path(told.path))?;
    let verb = if told.written { "kept" } else { "would be kept" };
    writeln!(
        to,
        "  {verb}: {} of {}, {} of {}, {} of {} bytes{}; {} become {}",
        after.records,
        counted(before.records, "record"),
        after.batches,
        counted(before.batches, "batch"),
        after.bytes,
        before.bytes,
        share(after.bytes, before.bytes),
        counted(told.old_segments, "segment"),
        told.new_segments,
    )?;
    let (until, end) = (told.survey.cleaned_until(), told.survey.end);
    if until < end || behind.batches > 0 {
        let why = if told.is_pinned() { "an open transaction begins there" } else { "the last segment" };
        writeln!(
            to,
            "  as it was, from offset {until} to the end {end} ({why}): {}, {}, {} bytes",
            counted(behind.records, "record"),
            counted(behind.batches, "batch"),
            behind.bytes
        )?;
    }
    if before.batches == 0 && told.old_segments == 1 && until < end {
        writeln!(
            to,
            "  nothing to compact: its only segment is the one that a broker goes on writing; with the broker stopped, \
             --include-active compacts it"
        )?;
    }
    if told.torn && !told.found.is_torn() {
        writeln!(to, "  the end of the last segment is torn; it is left out, as a broker does when it starts")?;
    }
    Ok(())
}

fn share(after: u64, before: u64) -> String {
    if before == 0 {
        return String::new();
    }
    format!(" ({:.1} %)", after as f64 * 100.0 / before as f64)
}

fn open_transactions(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    for open in &told.survey.open {
        writeln!(
            to,
            "  open transaction: producer {}, epoch {}, offsets {} to {}, {}, last at {}",
            open.producer_id,
            open.producer_epoch,
            open.first_offset,
            open.last_offset,
            counted(open.batches, "batch"),
            rfc3339(open.last_timestamp),
        )?;
    }
    if told.is_pinned() {
        writeln!(
            to,
            "  what lies behind it waits until it ends: end it on the broker (kafka-transactions.sh abort), or pass \
             --force-past-open-transactions"
        )?;
    }
    Ok(())
}

fn types(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&["TYPE", "VALUES", "LEFT", "TOMBSTONES", "LEFT", "BYTES", "LEFT"]);
    for (name, before, after) in told.types() {
        let numbers = [before.values, after.values, before.tombstones, after.tombstones, before.bytes, after.bytes];
        table.row(std::iter::once(name).chain(numbers.iter().map(u64::to_string)).collect());
    }
    let (before, after) = (&told.survey.before, &told.cleaned.after);
    for (name, before, after) in [("COMMIT", before.commits, after.commits), ("ABORT", before.aborts, after.aborts)] {
        if before > 0 {
            let blank = || String::new();
            table.row(vec![name.to_owned(), before.to_string(), after.to_string(), blank(), blank(), blank(), blank()]);
        }
    }
    if table.is_empty() {
        return Ok(());
    }
    for line in table.text(Looks { width: None, color: Looking::Plain }).lines() {
        writeln!(to, "  {}", line.trim_end())?;
    }
    Ok(())
}

fn reasons(told: &Told<'_>, to: &mut dyn Write) -> io::Result<()> {
    let reasons = told.reasons();
    let all = [
        (reasons.superseded, "have a later record of their key"),
        (reasons.aborted, "are of aborted transactions"),
        (reasons.expired_tombstones, "are tombstones whose time is over"),
        (reasons.expired_markers, "are end markers whose time is over"),
        (reasons.keyless, "have no key"),
        (reasons.before_log_start, "lie below the log start"),
    ];
    let told_of: Vec<_> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
    if !told_of.is_empty() {
        writeln!(to, "  gone: {}", told_of.join(", "))?;
    }
    let cleaned = told.cleaned;
    if cleaned.new_horizons > 0 {
        let when = rfc3339(told.aim.now.saturating_add(told.aim.delete_retention_ms));
        writeln!(
            to,
            "  tombstones and end markers of {} may go from {when} on",
            counted(cleaned.new_horizons, "batch")
        )?;
    }
    Ok(())
}
