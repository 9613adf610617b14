//! Which segment files of a folder count for `salvage`: those that count for a broker, but for `.swap` files that would do
//! harm.
//!
//! Must not know: what is made of them.

use super::FileIn;
use crate::log::dir::{PartitionDir, SegmentFile};
use crate::model::swapped::taken;
use std::collections::BTreeSet;
use std::io;

/// The segment files of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sides {
    /// Those that count, in order.
    pub own: Vec<FileIn>,
    /// Those that do not.
    pub leftovers: Vec<FileIn>,
    /// Names of `.swap` files that would count for a broker, to the log's harm, and do not here.
    pub set_aside: Vec<String>,
    /// Names of the segments that count in their place; none where they hold nothing that is alive.
    pub back: Vec<String>,
}

/// Takes sides in a folder. A `.swap` file is set aside if it is empty, or if all of them together do not hold what is alive in
/// the segments that they replace; `start` is the first offset that counts.
///
/// # Errors
/// If a segment that counts can be opened no more.
pub fn sides(dir: &PartitionDir, start: i64, max_inflated: usize) -> io::Result<Sides> {
    let replaced: BTreeSet<i64> = dir.replaced().map(|file| file.base_offset).collect();
    let takes = !taken(dir, start, max_inflated)?.is_empty();
    // One without the segment that it was made of may be all there is.
    let is_set_aside =
        |file: &&SegmentFile| file.is_empty_swap() || takes && file.is_swap() && replaced.contains(&file.base_offset);
    let set_aside: Vec<&SegmentFile> = dir.segments.iter().filter(is_set_aside).collect();
    let back: Vec<&SegmentFile> = dir.replaced().filter(|_| !set_aside.is_empty()).collect();
    let mut own: Vec<&SegmentFile> = dir.segments.iter().filter(|file| !is_set_aside(file)).collect();
    own.extend(&back);
    own.sort_by_key(|file| (file.base_offset, file.kind));
    let left_out = dir.left_out.iter().map(|left_out| &left_out.file);
    let leftovers = left_out.filter(|file| !back.contains(file)).chain(set_aside.iter().copied());
    let names = |files: &[&SegmentFile]| files.iter().map(|file| file.name.clone()).collect();
    // Where nothing alive was replaced, it makes no difference which of the two is read.
    let told: Vec<&SegmentFile> =
        set_aside.iter().copied().filter(|swap| takes || !replaced.contains(&swap.base_offset)).collect();
    let back_told = if takes { names(&back) } else { Vec::new() };
    Ok(Sides {
        own: own.into_iter().map(file_in).collect(),
        leftovers: leftovers.map(file_in).collect(),
        set_aside: names(&told),
        back: back_told,
    })
}

fn file_in(file: &SegmentFile) -> FileIn {
    FileIn { path: file.path.clone(), base_offset: Some(file.base_offset), len: file.len }
}
