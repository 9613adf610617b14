//! Bytes as a file beside the segments: an index, a snapshot, a checkpoint.
//!
//! Must not know: the log.

use super::assert_json;
use grouplog::cli::render::jsonl::Framing;
use grouplog::cli::render::side::{RenderSide, Shown, SideJson};
use grouplog::log::side_file::{SideFile, SideKind};

/// Every kind.
pub const KINDS: [SideKind; 8] = [
    SideKind::OffsetIndex(0),
    SideKind::TimeIndex(0),
    SideKind::TxnIndex(0),
    SideKind::Snapshot(0),
    SideKind::LeaderEpochs,
    SideKind::PartitionMetadata,
    SideKind::Offsets,
    SideKind::Properties,
];

/// Reads them as one kind of file, and shows what stands in it.
pub fn run(kind: SideKind, bytes: &[u8]) {
    let file = SideFile::read(kind, bytes);
    let length = file.len();
    assert!(length <= bytes.len(), "{length} entries in {} bytes", bytes.len());
    assert!(file.padding() <= bytes.len() as u64);
    let mut before = None;
    for index in 0..length {
        let position = file.position(index);
        assert!(position <= bytes.len() as u64 && before.is_none_or(|before| before <= position), "{kind:?} {index}");
        before = Some(position);
    }
    let mut render = SideJson::new(Framing::Lines);
    render.file(&Shown { partition: Some(0), path: "x".into(), name: "x".into(), file }, u64::MAX);
    render.end();
    for line in render.buffer().bytes().split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert_json(line);
    }
}

/// For a fuzzer: the first byte says as which.
pub fn run_any(bytes: &[u8]) {
    if let Some((kind, bytes)) = bytes.split_first() {
        run(KINDS[usize::from(*kind) % KINDS.len()], bytes);
    }
}
