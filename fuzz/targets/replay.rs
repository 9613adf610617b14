//! Bytes as a segment of a partition: replayed into groups, told as stories, verified, judged for brokers.
//!
//! Must not know: what stands in the log.

use super::{MAX_INFLATED, assert_json};
use grouplog::audit::Severity;
use grouplog::audit::verify::brokers::of_verdicts;
use grouplog::audit::verify::{Depth, Verified, Verifying, verify};
use grouplog::cli::render::findings::finding_json;
use grouplog::cli::render::{group_json, history_json};
use grouplog::log::dir::PartitionDir;
use grouplog::log::log_dir::LogDirFiles;
use grouplog::log::{Inflater, Inventory, Segment};
use grouplog::model::assemble::Groups;
use grouplog::model::digest::Digests;
use grouplog::model::history::{CommitsTold, Storms, Stretch, Teller, Telling};
use grouplog::model::load::{Loading, Until, load};
use grouplog::model::preflight::{Coordinator, preflight};
use grouplog::model::replay::Helper;
use grouplog::model::rules::{Release, Rules};
use grouplog::model::topics::Topics;
use std::path::{Path, PathBuf};

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Replay and verify.
    Little,
    /// All there is.
    Much,
}

/// One segment after the other, in a folder that is used again.
pub struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    pub fn new() -> Folder {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("__consumer_offsets-0")).unwrap();
        Folder { dir }
    }

    pub fn log_dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn partition(&self) -> PathBuf {
        self.dir.path().join("__consumer_offsets-0")
    }

    /// Writes a segment. Its file is removed first: a mapped one would change under its reader.
    pub fn put(&self, bytes: &[u8], base: i64) -> PathBuf {
        let path = self.partition().join(format!("{:020}.log", base.max(0)));
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

/// Does it with a segment.
pub fn run(path: &Path, effort: Effort) {
    let paths = [path.to_owned()];
    groups(&paths, Rules::default());
    let verified = verified(&paths, None, None, Helper::None);
    if effort == Effort::Little {
        return;
    }
    groups(&paths, Rules::of(Release { major: 2, minor: 8 }));
    let again = self::verified(&paths, None, None, Helper::ChecksCrcs);
    assert_eq!((again.findings, again.counts), (verified.findings, verified.counts), "a helper sees something else");
    stories(&paths);
    for finding in
        of_verdicts(Some(0), &preflight(&paths, &Coordinator::all(), None, MAX_INFLATED, &mut |_| {}).unwrap())
    {
        assert_json(finding_json(&finding).to_string().as_bytes());
    }
    let mut inventory = Inventory::new();
    inventory.add(&Segment::open(path).unwrap(), &mut Inflater::with_limit(MAX_INFLATED), |_| {});
    assert_eq!(inventory.bytes(), std::fs::metadata(path).unwrap().len());
}

fn groups(paths: &[PathBuf], rules: Rules) {
    let how = Loading {
        rules,
        until: Until::End,
        log_start: None,
        max_inflated: MAX_INFLATED,
        helper: Helper::None,
        wanted: &|_| true,
    };
    let state = load(paths, &how, &mut |_| {}).unwrap();
    let groups = Groups::of(&state);
    let mut topics = Topics::default();
    groups.learn_topics(&mut topics);
    for name in groups.names() {
        if let Some(group) = groups.group(name, &topics) {
            assert_json(group_json::group(Some(0), &group, Some(1000)).to_string().as_bytes());
        }
    }
    let _ = Digests::of(&state);
}

/// What `verify` says: of a partition alone, or of its folder in a log dir.
pub fn verified(
    paths: &[PathBuf],
    dir: Option<&PartitionDir>,
    log_dir: Option<&LogDirFiles>,
    helper: Helper,
) -> Verified {
    let depth = Depth::Records;
    let how = Verifying { partition: Some(0), dir, log_dir, depth, max_inflated: MAX_INFLATED, helper };
    let verified = verify(paths, &how, &mut |_| {}).unwrap();
    for finding in &verified.findings {
        assert_json(finding_json(finding).to_string().as_bytes());
        assert!(!finding.code.is_normal() || finding.severity == Severity::Info);
    }
    verified
}

fn stories(paths: &[PathBuf]) {
    let telling = Telling { commits: CommitsTold::Each, storms: Storms::Told, retention: 1000 };
    let stretch = Stretch { offsets: i64::MIN..i64::MAX, times: None };
    let mut teller = Teller::new(telling, Rules::default(), (None, i64::MAX), stretch, &|_| true);
    let mut inflater = Inflater::with_limit(MAX_INFLATED);
    for path in paths {
        teller.segment(&Segment::open(path).unwrap(), &mut inflater).unwrap();
    }
    let topics = teller.topics().clone();
    for story in teller.finish(&topics).stories {
        for event in &story.events {
            assert_json(history_json::event(Some(0), &story.group, event).to_string().as_bytes());
        }
    }
}

/// Verifies the folder as it stands, with all the files beside the segments.
pub fn run_folder(folder: &Folder) {
    let dir = PartitionDir::open(&folder.partition()).unwrap();
    let log_dir = LogDirFiles::around(&folder.partition()).unwrap();
    let paths: Vec<_> = dir.segments.iter().map(|segment| segment.path.clone()).collect();
    verified(&paths, Some(&dir), log_dir.as_ref(), Helper::None);
    if let Some(log_dir) = &log_dir {
        for finding in grouplog::audit::side::of_log_dir(log_dir) {
            assert_json(finding_json(&finding).to_string().as_bytes());
        }
    }
}

/// For a fuzzer: the bytes as they are.
pub fn run_bytes(bytes: &[u8], folder: &Folder) {
    run(&folder.put(bytes, 0), Effort::Much);
}
