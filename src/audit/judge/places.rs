//! Where records lie that findings name by their offset: segment, and position of the batch.
//!
//! Must not know: what the findings are about.

use crate::audit::Finding;
use crate::log::{Segment, Span};

/// Fills in segment and position where only the offset is known. Only heads of batches are read, and only of segments
/// that a finding lies in.
pub(super) fn fill(findings: &mut [Finding], segments: &[Segment]) {
    let mut open: Vec<(i64, &mut Finding)> = findings
        .iter_mut()
        .filter(|finding| finding.segment.is_none())
        .filter_map(|finding| Some((finding.offset?, finding)))
        .collect();
    open.sort_by_key(|(offset, _)| *offset);
    let mut open = open.into_iter().peekable();
    for (i, segment) in segments.iter().enumerate() {
        let next = segments.get(i + 1).and_then(Segment::base_offset);
        let inside = |offset: i64| next.is_none_or(|next| offset < next);
        if open.peek().is_none_or(|(offset, _)| !inside(*offset)) {
            continue;
        }
        for span in segment.spans() {
            let Span::Batch(batch) = span else { continue };
            let last = batch.header().last_offset;
            while let Some((_, finding)) = open.next_if(|(offset, _)| *offset <= last) {
                finding.segment = Some(segment.name().to_owned());
                finding.position = Some(batch.position());
            }
            if open.peek().is_none_or(|(offset, _)| !inside(*offset)) {
                break;
            }
        }
    }
}
