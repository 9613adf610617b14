//! The assignor's own bytes inside the consumer protocol, and who knows how to read them.
//!
//! Must not know: the payload around them.

use super::pieces::{Blob, Object, Wire};
use super::sticky::Sticky;
use super::streams::SubscriptionInfo;
use super::streams_assignment::AssignmentInfo;
use crate::bytes::Cursor;
use crate::fault::Fault;
use crate::json::Json;

/// User data: the bytes as they stand, and what they say if their assignor is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserData<'a> {
    /// The bytes. Java consumers from 2.4 on write null where older ones and other libraries write none at all.
    pub raw: Option<&'a [u8]>,
    /// What they say. Null, empty, undecodable and unknown bytes say nothing.
    pub known: Option<Known<'a>>,
}

/// User data of a known assignor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known<'a> {
    /// What the sticky assignor gave out last: `sticky` of most libraries, `cooperative-sticky` of franz-go.
    Sticky(Sticky<'a>),
    /// The generation that Java's `cooperative-sticky` remembers.
    Generation(i32),
    /// The member's rack, from `rack-affinity` of segmentio's kafka-go.
    Rack(&'a [u8]),
    /// What a Kafka Streams thread says of itself.
    StreamsSubscription(Box<SubscriptionInfo<'a>>),
    /// What the leading Kafka Streams thread decided.
    StreamsAssignment(Box<AssignmentInfo<'a>>),
}

impl<'a> UserData<'a> {
    /// Null.
    pub const fn none() -> Self {
        UserData { raw: None, known: None }
    }

    /// Reads the bytes of a subscription by the name of the group's protocol.
    pub(super) fn resolve_subscription(&mut self, protocol: Option<&[u8]>) {
        self.known = self.written().and_then(|bytes| match protocol {
            Some(b"stream" | b"streams") => {
                let info = SubscriptionInfo::read(bytes).ok().filter(|it| it.version >= 1);
                info.map(|it| Known::StreamsSubscription(Box::new(it)))
            }
            Some(b"rack-affinity") => Some(Known::Rack(bytes)),
            other => sticky(other, bytes),
        });
    }

    /// Reads the bytes of an assignment by the name of the group's protocol. sarama repeats the sticky plan here.
    pub(super) fn resolve_assignment(&mut self, protocol: Option<&[u8]>) {
        self.known = self.written().and_then(|bytes| match protocol {
            Some(b"stream" | b"streams") => {
                AssignmentInfo::read(bytes).ok().map(|it| Known::StreamsAssignment(Box::new(it)))
            }
            other => sticky(other, bytes),
        });
    }

    fn written(&self) -> Option<&'a [u8]> {
        self.raw.filter(|bytes| !bytes.is_empty())
    }
}

/// Reads the user data of sticky assignors. Four bytes of `cooperative-sticky` are Java's generation; franz-go writes
/// the whole sticky shape under that name, which is at least eight bytes long.
fn sticky<'a>(protocol: Option<&[u8]>, bytes: &'a [u8]) -> Option<Known<'a>> {
    match protocol {
        Some(b"cooperative-sticky") if bytes.len() == 4 => Cursor::new(bytes).i32().ok().map(Known::Generation),
        Some(b"sticky" | b"cooperative-sticky") => Sticky::read(bytes).ok().map(Known::Sticky),
        _ => None,
    }
}

impl<'a> Wire<'a> for UserData<'a> {
    const LEAST: usize = 4;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let raw = Option::<Blob>::read(cursor)?.map(|blob| blob.0);
        Ok(UserData { raw, known: None })
    }

    /// An object where it is known, else base64 (`""` where empty) or null.
    fn json(&self, json: &mut Json) {
        match &self.known {
            Some(known) => known.json(json),
            None => self.raw.map(Blob).json(json),
        }
    }
}

impl Known<'_> {
    fn json(&self, json: &mut Json) {
        match self {
            Known::Sticky(sticky) => sticky.json(json),
            Known::StreamsSubscription(info) => info.json("streams-subscription", json),
            Known::StreamsAssignment(info) => info.json(json),
            Known::Generation(generation) => {
                let mut object = Object::of_kind(json, "cooperative-sticky");
                object.field("generation", generation);
                object.close();
            }
            Known::Rack(rack) => {
                let mut object = Object::of_kind(json, "rack-affinity");
                object.field("rack", rack);
                object.close();
            }
        }
    }
}
