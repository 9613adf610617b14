//! Whose a copy is, by the files beside its segments: another cluster's log, or another topic's of the same name, is none.
//!
//! Must not know: what the segments say.

use crate::cli::Usage;
use crate::cli::input::Partition;
use crate::cli::talk::Context;
use crate::log::checkpoint::partition_metadata;
use crate::log::log_dir::LogDirFiles;
use anyhow::{Result, bail};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a file says that is the same in all copies of a partition.
struct Id {
    /// For people.
    name: &'static str,
    value: String,
    file: PathBuf,
    /// What to pass a copy of, without the file, if it is a copy all the same.
    of: &'static str,
}

/// Merged, what one copy has deleted or compacted away would come back from the other. Partitions of other clusters may have
/// the same number.
pub(super) fn refuse_copies(partitions: &[Partition], context: &Context) -> Result<()> {
    let mut seen: BTreeMap<_, Vec<&Partition>> = BTreeMap::new();
    for partition in partitions {
        let same = seen.entry(partition.number).or_default();
        let (path, number) = (partition.path().display(), partition.number.unwrap_or_default());
        if let Some(other) = same.iter().find(|other| are_copies(other, partition) == Some(true)) {
            return Err(Usage(format!(
                "{path}: partition {number} of the same topic was given before ({}); merged, what one copy has deleted would \
                 come back: pass one copy of each partition, that which goes furthest ('grouplog info'), or one that \
                 'grouplog salvage --also' joins",
                other.path().display()
            ))
            .into());
        }
        if let Some(other) = same.iter().find(|other| are_copies(other, partition).is_none()) {
            context.note(&format!(
                "{path}: partition {number} was given before ({}), and no partition.metadata says that it is another \
                 topic's: if they are copies, what one has deleted comes back",
                other.path().display()
            ));
        }
        same.push(partition);
    }
    Ok(())
}

/// Whether two are copies of one partition of one topic, as far as files beside them tell.
fn are_copies(one: &Partition, other: &Partition) -> Option<bool> {
    let (one, other) = (topic_id(one)?, topic_id(other)?);
    Some(one.value == other.value)
}

/// Whether two may be copies of one partition: nothing says that they are of two topics.
pub(super) fn may_be_copies(one: &Partition, other: &Partition) -> bool {
    one.number.is_some() && one.number == other.number && are_copies(one, other) != Some(false)
}

/// An error if a copy names another topic id or another cluster than the log or a copy before it. Where a file is missing, or
/// cannot be made sense of, it says nothing.
pub(super) fn check(own: &Partition, copies: &[&Partition]) -> Result<()> {
    for id_of in [topic_id, cluster_id] {
        let mut known = std::iter::once(own).chain(copies.iter().copied()).filter_map(id_of);
        let Some(first) = known.next() else { continue };
        let Some(other) = known.find(|id| id.value != first.value) else { continue };
        let file_name = other.file.file_name().unwrap_or_default().display();
        bail!(
            "{}: {} is {}, but {} of {}: no copy of the same partition; nothing was written. If it is meant all the same, \
             pass a copy of the {} without {file_name} with --also",
            other.file.display(),
            other.name,
            other.value,
            first.value,
            first.file.display(),
            other.of,
        );
    }
    Ok(())
}

fn topic_id(partition: &Partition) -> Option<Id> {
    let file = partition.folder()?.join("partition.metadata");
    let metadata = partition_metadata(&crate::files::read(&file).ok()?);
    let id = metadata.topic_id.filter(|_| metadata.malformed.is_none())?;
    Some(Id { name: "topic_id", value: URL_SAFE_NO_PAD.encode(id), file, of: "folder" })
}

fn cluster_id(partition: &Partition) -> Option<Id> {
    let log_dir = LogDirFiles::around(partition.folder()?).ok()??;
    let value = log_dir.meta?.cluster_id.filter(|id| !id.is_empty())?;
    Some(Id { name: "cluster.id", value, file: log_dir.path.join("meta.properties"), of: "log dir" })
}
