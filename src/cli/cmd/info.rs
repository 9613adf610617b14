//! `info`: what is here, from batch headers only.

use super::Outcome;
use crate::cli::args::{InfoArgs, TextFormat};
use crate::cli::input::{self, Partition};
use crate::cli::render::info::{self, Found};
use crate::cli::render::info_json;
use crate::cli::talk::Context;
use crate::json::{Json, Style};
use crate::log::dir::OtherKind;
use crate::log::log_dir::LogDirFiles;
use crate::log::{Inflater, Inventory, Segment, checkpoint};
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

/// How many holes of a partition are named on stderr.
const HOLES_NAMED: usize = 5;

/// Runs it.
pub fn run(args: &InfoArgs, context: &mut Context) -> Result<Outcome> {
    let partitions = input::open(&args.input, context)?;
    note_missing(args, &partitions, context);
    let mut inflater = args.input.reading.inflater();
    context.begin(partitions.iter().map(Partition::bytes).sum());
    let mut done = 0;
    let mut log_dirs = Vec::new();
    let mut found = Vec::new();
    for partition in partitions {
        let inventory = take(&partition, &mut inflater, done, context)?;
        done += partition.bytes();
        let log_dir = log_dir_of(&partition, &mut log_dirs, context)?;
        let topic_id = topic_id(&partition, context);
        found.push(Found { partition, inventory, log_dir, topic_id });
    }
    context.end();
    let mut out = Json::new(Style::Lossless);
    match args.format {
        TextFormat::Table => info::table(&found, context.looks(), &mut out),
        TextFormat::Csv => info::csv(&found, &mut out),
        TextFormat::Json => info_json::json(&found, &mut out),
        TextFormat::Jsonl => info_json::jsonl(&found, &mut out),
    }
    context.out.rest(&mut out)?;
    Ok(note_holes(&found, context))
}

fn take(partition: &Partition, inflater: &mut Inflater, done: u64, context: &Context) -> Result<Inventory> {
    let mut inventory = Inventory::new();
    let mut before = done;
    for file in &partition.segments {
        let segment = Segment::open(&file.path).with_context(|| file.path.display().to_string())?;
        inventory.add(&segment, inflater, |position| context.at(before + position));
        before += file.len;
    }
    Ok(inventory)
}

/// What stands around a partition; read once for all partitions of one log dir.
fn log_dir_of(
    partition: &Partition,
    known: &mut Vec<Rc<LogDirFiles>>,
    context: &Context,
) -> Result<Option<Rc<LogDirFiles>>> {
    let Some(folder) = partition.folder() else { return Ok(None) };
    if let Some(known) = known.iter().find(|known| folder.parent() == Some(&known.path)) {
        return Ok(Some(known.clone()));
    }
    let Some(files) = LogDirFiles::around(folder).with_context(|| folder.display().to_string())? else {
        return Ok(None);
    };
    for (name, why) in &files.unreadable {
        not_read(&files.path.join(name), why, context);
    }
    let files = Rc::new(files);
    for file in &files.checkpoints {
        let path = files.path.join(file.name);
        file.content.oddities.iter().for_each(|odd| context.detail(&format!("{}: {odd}", path.display())));
    }
    known.push(files.clone());
    Ok(Some(files))
}

fn topic_id(partition: &Partition, context: &Context) -> Option<[u8; 16]> {
    let file = partition.dir.as_ref()?.other(OtherKind::PartitionMetadata)?;
    match crate::files::read(&file.path) {
        Ok(bytes) => checkpoint::topic_id(&bytes),
        Err(error) => {
            not_read(&file.path, &error, context);
            None
        }
    }
}

fn not_read(path: &Path, why: &dyn std::fmt::Display, context: &Context) {
    context.note(&format!("{}: not read: {why} (side-file-unreadable)", path.display()));
    context.miss();
}

/// With -v: which partitions a log dir does not hold.
fn note_missing(args: &InfoArgs, partitions: &[Partition], context: &Context) {
    let in_log_dir = |partition: &&Partition| {
        let parent = partition.dir.as_ref().and_then(|dir| dir.path.parent());
        parent.is_some_and(|parent| args.input.paths.iter().any(|path| Path::new(path) == parent))
    };
    let numbers: BTreeSet<i32> =
        partitions.iter().filter(in_log_dir).filter_map(|partition| partition.number).collect();
    let Some(greatest) = numbers.last().filter(|_| args.input.reading.partition.is_none()) else { return };
    let missing: Vec<_> = (0..*greatest).filter(|number| !numbers.contains(number)).collect();
    if let (Some(first), n) = (missing.first(), missing.len()) {
        context.detail(&format!(
            "{n} of the partitions 0 to {greatest} are not in the log dirs given (the first is {first}): normal for a \
             broker among several, or with several disks"
        ));
    }
}

/// Names the holes; any but zeros at the end of a file are findings.
fn note_holes(found: &[Found], context: &Context) -> Outcome {
    let mut outcome = Outcome::Clean;
    for Found { inventory, partition, .. } in found {
        let damage = inventory.damage();
        if damage.number == 0 {
            continue;
        }
        outcome = Outcome::Findings;
        let folder = partition.folder().unwrap_or(Path::new(""));
        let damaged = inventory.hole_places().iter().filter(|place| place.hole.fault.is_damage());
        for place in damaged.take(HOLES_NAMED) {
            let (hole, path) = (&place.hole, folder.join(&place.segment));
            let (at, length) = (hole.position, hole.length);
            context.note(&format!(
                "{}: at byte {at}, {length} bytes that are no batch: {}",
                path.display(),
                hole.fault
            ));
        }
        if damage.number > HOLES_NAMED as u64 {
            let (n, bytes) = (damage.number, damage.bytes);
            context.note(&format!("{}: {n} such holes in all, of {bytes} bytes", folder.display()));
        }
    }
    outcome
}
