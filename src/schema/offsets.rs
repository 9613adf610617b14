//! Committed offsets: record types 0 and 1.

use super::define::message;
use super::wire::{Text, Uuid};

message! {
    /// Names a committed offset: one group, one topic partition.
    OffsetCommitKey 0..0 inflexible {
        group: Text<'a> [0+],
        topic: Text<'a> [0+],
        partition: i32 [0+],
    }

    /// A committed offset as brokers before 0.9 wrote it. Times are milliseconds since 1970.
    LegacyOffsetCommitValue 0..0 inflexible {
        offset: i64 [0+],
        metadata: Text<'a> [0+],
        commit_timestamp: i64 [0+],
    }

    /// A committed offset. Version 1 is written by 0.9 to 2.0, and later for a commit that asks for its own retention;
    /// 2 and 3 by 2.1 and later; 4 by 4.1 and later (KIP-848, topic id KIP-516). Times are milliseconds since 1970, -1
    /// where there is none; `leader_epoch` is -1 where none was given (KIP-320).
    OffsetCommitValue 0..4 flexible 4 {
        offset: i64 [0+],
        leader_epoch: i32 [3+] = -1,
        metadata: Text<'a> [0+],
        commit_timestamp: i64 [0+],
        expire_timestamp: i64 [1] = -1,
        topic_id: Uuid [4+] tag 0,
    }
}
