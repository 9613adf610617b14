//! Groups of the classic protocol: record type 2.

use super::define::message;
use super::wire::{Blob, Text};

message! {
    /// Names a classic group.
    GroupMetadataKey 0..0 inflexible {
        group: Text<'a> [0+],
    }

    /// A classic group, whole: every write replaces the one before. Version 0 is written by 0.9 and 0.10.0, 1 by 0.10.1
    /// to 2.0, 2 by 2.1 and 2.2, 3 by 2.3 and later (KIP-345); 4 is read from 3.4 on and written by none (KIP-915).
    /// Times are milliseconds since 1970, timeouts are milliseconds.
    GroupMetadataValue 0..4 flexible 4 {
        protocol_type: Text<'a> [0+],
        generation: i32 [0+],
        protocol: Option<Text<'a>> [0+],
        leader: Option<Text<'a>> [0+],
        current_state_timestamp: i64 [2+] = -1,
        members: Vec<MemberMetadata<'a>> [0+],
    }

    /// A member of a classic group. What `subscription` and `assignment` hold depends on the group's protocol type.
    part MemberMetadata {
        member_id: Text<'a> [0+],
        group_instance_id: Option<Text<'a>> [3+],
        client_id: Text<'a> [0+],
        client_host: Text<'a> [0+],
        rebalance_timeout: i32 [1+] = -1,
        session_timeout: i32 [0+],
        subscription: Blob<'a> [0+],
        assignment: Blob<'a> [0+],
    }
}
