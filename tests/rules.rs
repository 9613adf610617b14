//! Rules of replay that differ between releases (`--as-broker`), on partitions made for the purpose.
//!
//! tests/broker.rs loads the same bytes into brokers 3.9.2 and 4.4.0. What they answered is what is expected here.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::craft::Meetings;
use common::facts;
use common::told::describe;
use std::path::Path;

/// The committed offset of `orders-0`; none if the group is not listed.
fn committed(log_dir: &Path, options: &[&str], group: &str) -> Option<String> {
    let groups = facts::of_describe(&describe(log_dir, options));
    groups.get(group)?.offsets.as_ref()?.get("orders-0")?.get("offset").cloned()
}

#[test]
fn a_tombstone_that_meets_commits_that_wait() {
    let dir = tempfile::tempdir().unwrap();
    let meetings = Meetings::in_partition(0, 50);
    meetings.partition().write(dir.path(), 0);
    let old = ["--as-broker", "3.9"];
    let answers = |options: &[&str]| {
        [&meetings.plain, &meetings.foreign, &meetings.own, &meetings.later]
            .map(|group| committed(dir.path(), options, group))
    };
    let offset = |offset: &str| Some(offset.to_owned());
    // 4.4.0: a tombstone takes everything, whoever wrote it.
    assert_eq!(answers(&[]), [None, None, None, offset("30")]);
    // 3.9.2: a plain tombstone leaves what waits, and the marker brings the offset back; a transactional one takes only
    // what waits of its own producer, never what is committed.
    assert_eq!(answers(&old), [offset("20"), offset("10"), offset("10"), offset("30")]);
}
