//! The Scala coordinator's own readers, without a broker around them, read what `rewrite --target` made of every log. What
//! brokers say of it is in proof.rs.
//!
//! Needs a JDK and Kafka's jars (tests/broker/README.md); without them it says what is missing and passes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/rewritten.rs"]
mod rewritten;

use common::{exhibits, kafka};
use rewritten::*;

#[test]
fn the_old_loader_reads_every_log_made_for_2_8() {
    if !kafka::ready(&["2.8.2"]) {
        return;
    }
    for exhibit in exhibits() {
        let log_dir = exhibit.dir.join(&exhibit.log_dirs()[0]);
        let new = rewrite(&["--target", "2.8"], &[&log_dir]);
        assert_eq!(new.code, 0, "{}: {}", exhibit.name, new.said);
        let refused = kafka::refused_by_old_loader("2.8.2", &new.out);
        assert!(refused.is_empty(), "{}: {refused:?}", exhibit.name);
    }
}
