//! Kafka Connect's worker metadata and assignments: version 0 is `default` (eager), 1 `compatible` (KIP-415, 2.3),
//! 2 `sessioned` (KIP-507, 2.4), which differs from 1 in its number only.
//!
//! Must not know: the group around them.

use super::declare::{payload, piece, since};
use super::pieces::{Blob, Ints, Wire};
use crate::bytes::Cursor;
use crate::fault::Fault;
use crate::json::Json;

piece! {
    /// Tasks of one connector.
    ConnectorTasks<'a> {
        /// The connector's name.
        connector "connector" => &'a [u8];
        /// Task numbers; -1 is the connector itself.
        tasks "tasks" => Ints<'a>;
    }
}

payload! {
    /// What a worker says of itself when it joins.
    Worker, i16 {
        /// Where its REST interface is.
        url "url" since(0), needed, [].as_slice() => &'a [u8];
        /// How far it read the config topic, or -1.
        config_offset "configOffset" since(0), needed, -1 => i64;
        /// What it runs at present (v1 on).
        allocation "allocation" since(1), optional, Allocation::Null => Allocation<'a>;
    }
}

payload! {
    /// What a worker is to run.
    ConnectAssignment, i16 {
        /// 0, or 1 where the leader had not read the config topic far enough.
        error "error" since(0), needed, 0 => i16;
        /// The member id of the leader.
        leader "leader" since(0), needed, [].as_slice() => &'a [u8];
        /// Where the leader's REST interface is.
        leader_url "leaderUrl" since(0), needed, [].as_slice() => &'a [u8];
        /// The config topic's offset that this was made of.
        config_offset "configOffset" since(0), needed, -1 => i64;
        /// What to run; null is nothing (v1 on: what to add to the present).
        assignment "assignment" since(0), optional, None => Option<Vec<ConnectorTasks<'a>>>;
        /// What to stop (v1 on).
        revoked "revoked" since(1), optional, None => Option<Vec<ConnectorTasks<'a>>>;
        /// Milliseconds until the next rebalance, 0 for none (v1 on).
        delay "delay" since(1), optional, 0 => i32;
    }
}

/// The assignment inside a worker's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allocation<'a> {
    /// There is none.
    Null,
    /// Bytes that are no assignment, or no bytes at all.
    Raw(&'a [u8]),
    /// What the worker runs.
    Known(Box<ConnectAssignment<'a>>),
}

impl<'a> Wire<'a> for Allocation<'a> {
    const LEAST: usize = 4;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(match Option::<Blob>::read(cursor)? {
            None => Allocation::Null,
            Some(Blob(bytes)) => match ConnectAssignment::read(bytes) {
                Ok(assignment) => Allocation::Known(Box::new(assignment)),
                Err(_) => Allocation::Raw(bytes),
            },
        })
    }

    fn json(&self, json: &mut Json) {
        match self {
            Allocation::Null => json.raw("null"),
            Allocation::Raw(bytes) => json.base64(bytes),
            Allocation::Known(assignment) => assignment.json("connect-assignment", json),
        }
    }
}
