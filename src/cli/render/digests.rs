//! Digests of state in the formats of `diff --digest`.
//!
//! Must not know: how digests are made.

use super::diff::{Compared, or_dash};
use super::document;
use super::group_json::text;
use super::name::visible;
use super::table::{Looks, Table};
use crate::cli::args::TextFormat;
use crate::model::digest::{Digest, Digests};
use crate::model::side::Pair;
use serde_json::{Value, json};

/// One or two digests of a partition or a group.
#[derive(Debug, Clone)]
pub struct DigestRow {
    /// The partition.
    pub partition: Option<i32>,
    /// The group; none for the partition as a whole.
    pub group: Option<Vec<u8>>,
    /// The digests.
    pub digests: Pair<Option<Digest>>,
}

/// Digests of two copies, side by side.
pub fn digests_of_two(compared: &[Compared], format: TextFormat, looks: Looks) -> String {
    let mut rows = Vec::new();
    for it in compared {
        let mut both: Pair<Option<&Digests>> = Pair::default();
        if let Some(state) = &it.state {
            both = state.digests.each_ref().map(Some);
        } else if let Some(alone) = &it.only_in {
            *both.of_mut(alone.side) = Some(&alone.digests);
        }
        let row = |group: Option<Vec<u8>>, digests| DigestRow { partition: it.number, group, digests };
        rows.push(row(None, both.map(|digests| digests.map(|digests| digests.whole))));
        let names = |digests: Option<&'_ Digests>| -> Vec<Vec<u8>> {
            digests.map(|digests| digests.groups.keys().cloned().collect()).unwrap_or_default()
        };
        let mut all: Vec<_> = names(both.a).into_iter().chain(names(both.b)).collect();
        all.sort_unstable();
        all.dedup();
        for name in all {
            let digests = both.map(|digests| digests.and_then(|digests| digests.groups.get(&name).copied()));
            rows.push(row(Some(name), digests));
        }
    }
    let mut table = Table::new(&["PARTITION", "GROUP", "A", "B", "SAME"]);
    for row in &rows {
        let same = if row.digests.is_alike() { "yes" } else { "no" };
        let mut cells = digest_head(row);
        cells.extend([shown(row.digests.a, format), shown(row.digests.b, format), same.to_owned()]);
        table.row(cells);
    }
    let json = |row: &DigestRow| {
        let digest = |digest: Option<Digest>| digest.map(|it| it.to_string());
        json!({
            "partition": row.partition,
            "group": row.group.as_deref().map(text),
            "a": digest(row.digests.a),
            "b": digest(row.digests.b),
            "same": row.digests.is_alike(),
        })
    };
    in_format(format, looks, &table, rows.iter().map(json))
}

/// Digests of one log.
pub fn digests_of_one(rows: &[DigestRow], format: TextFormat, looks: Looks) -> String {
    let mut table = Table::new(&["PARTITION", "GROUP", "DIGEST"]);
    for row in rows {
        let mut cells = digest_head(row);
        cells.push(shown(row.digests.a, format));
        table.row(cells);
    }
    let json = |row: &DigestRow| {
        json!({
            "partition": row.partition,
            "group": row.group.as_deref().map(text),
            "digest": row.digests.a.map(|it| it.to_string()),
        })
    };
    in_format(format, looks, &table, rows.iter().map(json))
}

fn digest_head(row: &DigestRow) -> Vec<String> {
    vec![or_dash(row.partition), row.group.as_ref().map_or("(all)".to_owned(), |group| visible(group))]
}

/// Whole where programs read it.
fn shown(digest: Option<Digest>, format: TextFormat) -> String {
    match format {
        TextFormat::Csv => or_dash(digest),
        _ => digest.map_or("-".to_owned(), |digest| format!("{digest:.16}")),
    }
}

fn in_format(format: TextFormat, looks: Looks, table: &Table, values: impl Iterator<Item = Value>) -> String {
    match format {
        TextFormat::Table => table.text(looks),
        TextFormat::Csv => table.csv(),
        TextFormat::Json | TextFormat::Jsonl => document(format, values),
    }
}
