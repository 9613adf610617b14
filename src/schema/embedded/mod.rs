//! Payloads inside records: what clients of one kind tell each other through the group, which brokers only carry.
//!
//! The group's protocol type says whose payload it is, the protocol's name says who wrote the user data inside.
//! Nothing here fails a group: what cannot be read stays [`Payload::Opaque`].
//!
//! Must not know: records, groups, and how anything is printed beyond its JSON object.

pub mod connect;
pub mod consumer;
pub mod copy;
mod declare;
pub mod dump_tool;
pub mod pieces;
pub mod registry;
pub mod sticky;
pub mod streams;
pub mod streams_assignment;
pub mod streams_commit;
pub mod user_data;
pub mod within;

use crate::fault::Fault;
use crate::json::Json;
use connect::{ConnectAssignment, Worker};
use consumer::{Assignment, Subscription};
use pieces::Object;
use registry::Registry;

/// A payload of a classic group's member.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload<'a> {
    /// No bytes: legal everywhere. The member has no assignment yet.
    Empty,
    /// What a consumer subscribed to.
    ConsumerSubscription(Subscription<'a>),
    /// What a consumer got.
    ConsumerAssignment(Assignment<'a>),
    /// What a Connect worker says of itself.
    ConnectWorker(Worker<'a>),
    /// What a Connect worker is to run.
    ConnectAssignment(ConnectAssignment<'a>),
    /// A Schema Registry's identity.
    RegistrySubscription(Registry),
    /// Which Schema Registry leads.
    RegistryAssignment(Registry),
    /// Bytes of an unknown kind, or bytes that are not what their kind should be, and what is wrong then.
    Opaque(&'a [u8], Option<Fault>),
}

/// Reads the subscription of a member (type 2) or the metadata of a supported protocol (type 5; its protocol type is
/// `consumer`). `protocol` is the name of the protocol that the payload belongs to.
pub fn member_subscription<'a>(protocol_type: &[u8], protocol: Option<&[u8]>, bytes: &'a [u8]) -> Payload<'a> {
    let read = match protocol_type {
        _ if bytes.is_empty() => Ok(Payload::Empty),
        b"consumer" => Subscription::read(bytes).map(|mut it| {
            it.user_data.resolve_subscription(protocol);
            Payload::ConsumerSubscription(it)
        }),
        b"connect" => Worker::read(bytes).map(Payload::ConnectWorker),
        b"sr" => Ok(Registry::read(bytes).map_or(Payload::Opaque(bytes, None), Payload::RegistrySubscription)),
        _ => Ok(Payload::Opaque(bytes, None)),
    };
    read.unwrap_or_else(|fault| Payload::Opaque(bytes, Some(fault)))
}

/// Reads the assignment of a member (type 2).
pub fn member_assignment<'a>(protocol_type: &[u8], protocol: Option<&[u8]>, bytes: &'a [u8]) -> Payload<'a> {
    let read = match protocol_type {
        _ if bytes.is_empty() => Ok(Payload::Empty),
        b"consumer" => Assignment::read(bytes).map(|mut it| {
            it.user_data.resolve_assignment(protocol);
            Payload::ConsumerAssignment(it)
        }),
        b"connect" => ConnectAssignment::read(bytes).map(Payload::ConnectAssignment),
        b"sr" => Ok(Registry::read(bytes).map_or(Payload::Opaque(bytes, None), Payload::RegistryAssignment)),
        _ => Ok(Payload::Opaque(bytes, None)),
    };
    read.unwrap_or_else(|fault| Payload::Opaque(bytes, Some(fault)))
}

impl Payload<'_> {
    /// Writes an object whose `kind` says what it is.
    pub fn json(&self, json: &mut Json) {
        match self {
            Payload::Empty => Object::of_kind(json, "empty").close(),
            Payload::ConsumerSubscription(it) => it.json("consumer-subscription", json),
            Payload::ConsumerAssignment(it) => it.json("consumer-assignment", json),
            Payload::ConnectWorker(it) => it.json("connect-worker", json),
            Payload::ConnectAssignment(it) => it.json("connect-assignment", json),
            Payload::RegistrySubscription(it) => it.json("registry-subscription", json),
            Payload::RegistryAssignment(it) => it.json("registry-assignment", json),
            Payload::Opaque(bytes, fault) => opaque(bytes, fault.as_ref(), json),
        }
    }
}

fn opaque(bytes: &[u8], fault: Option<&Fault>, json: &mut Json) {
    let mut object = Object::of_kind(json, "opaque");
    object.name("length").int(bytes.len());
    object.name("bytes").base64(bytes);
    if let Some(fault) = fault {
        let mut inner = Object::open(object.name("fault"));
        inner.field("code", &fault.kind.code().as_bytes());
        inner.name("at").int(fault.at);
        inner.field("message", &fault.kind.to_string().as_bytes());
        inner.close();
    }
    object.close();
}

#[cfg(test)]
mod tests;
