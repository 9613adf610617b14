//! User data of sticky assignors: the partitions given out last, and from 2.3 on (KIP-341) the generation of that.
//!
//! Written by Java's `StickyAssignor`, sarama, franz-go and kafka-python. It has no version: only its length tells.
//!
//! Must not know: under which name the assignor goes.

use super::consumer::TopicPartitions;
use super::pieces::{Object, Wire};
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use crate::json::Json;

/// What a sticky assignor remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sticky<'a> {
    /// The partitions that the member held.
    pub previous_assignment: Vec<TopicPartitions<'a>>,
    /// The generation in which it held them; the older shape has none.
    pub generation: Option<i32>,
}

impl<'a> Sticky<'a> {
    /// Reads either shape; anything left over means that it is neither.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes);
        let previous_assignment = Vec::read(&mut cursor)?;
        let generation = if cursor.remaining() == 0 { None } else { Some(cursor.i32()?) };
        match cursor.remaining() {
            0 => Ok(Sticky { previous_assignment, generation }),
            n => Err(cursor.fault(FaultKind::TrailingBytes(n as u64))),
        }
    }

    /// Writes it as an object.
    pub fn json(&self, json: &mut Json) {
        let mut object = Object::of_kind(json, "sticky");
        object.field("previousAssignment", &self.previous_assignment);
        if let Some(generation) = &self.generation {
            object.field("generation", generation);
        }
        object.close();
    }
}
