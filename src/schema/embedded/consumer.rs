//! The consumer protocol: what a classic consumer subscribed to and what its leader assigned to it.
//!
//! Sources: `ConsumerProtocolSubscription` v0-v3 and `ConsumerProtocolAssignment` v0-v3; v1 is KIP-429 (2.4),
//! v2 KIP-792 (3.4), v3 KIP-881 (3.5). A newer version only appends, so its known prefix is read and the rest counted.
//!
//! Must not know: assignors. User data is resolved in [`super::user_data`].

use super::declare::{payload, piece, since};
use super::pieces::{Ints, Object};
use super::user_data::UserData;
use crate::json::Json;

piece! {
    /// Partitions of one topic.
    TopicPartitions<'a> {
        /// The topic's name.
        topic "topic" => &'a [u8];
        /// Partition numbers in the order of the bytes, which may repeat.
        partitions "partitions" => Ints<'a>;
    }
}

payload! {
    /// What a member asked for. segmentio's kafka-go writes version 1 and stops behind the user data.
    Subscription, i16 {
        /// Topic names.
        topics "topics" since(0), needed, Vec::new() => Vec<&'a [u8]>;
        /// The assignor's own bytes. Null and empty mean the same and are told apart.
        user_data "userData" since(0), optional, UserData::none() => UserData<'a>;
        /// What the member held when it joined (v1 on).
        owned_partitions "ownedPartitions" since(1), optional, Vec::new() => Vec<TopicPartitions<'a>>;
        /// The generation in which it held them, or -1 (v2 on).
        generation_id "generationId" since(2), optional, -1 => i32;
        /// The member's rack (v3 on).
        rack_id "rackId" since(3), optional, None => Option<&'a [u8]>;
    }
}

payload! {
    /// What a member got.
    Assignment, i16 {
        /// Topics and partitions; a topic may stand there more than once.
        assigned_partitions "assignedPartitions" since(0), needed, Vec::new() => Vec<TopicPartitions<'a>>;
        /// The assignor's own bytes. Null and empty mean the same and are told apart.
        user_data "userData" since(0), optional, UserData::none() => UserData<'a>;
    }
}

/// The newest version that Kafka 4.4 knows.
const NEWEST: i16 = 3;

/// Writes a subscription of a `consumer` group as Kafka 4.4's own dump tool does: an object of the fields of its
/// version if it holds them all, else base64. A version below 0 is taken for 0; of one above 3 the tool takes the fields
/// of 3, but fails at the first topic with partitions. Bytes left over are passed over in silence.
pub fn dump_tool_subscription(bytes: &[u8], json: &mut Json) {
    match Subscription::read(bytes) {
        Ok(it) if it.missing.is_empty() && (it.version <= NEWEST || it.owned_partitions.is_empty()) => {
            shown(json, |object| it.fields(object));
        }
        _ => json.base64(bytes),
    }
}

/// Writes an assignment of a `consumer` group as Kafka 4.4's own dump tool does, by the same rules.
pub fn dump_tool_assignment(bytes: &[u8], json: &mut Json) {
    match Assignment::read(bytes) {
        Ok(it) if it.missing.is_empty() && (it.version <= NEWEST || it.assigned_partitions.is_empty()) => {
            shown(json, |object| it.fields(object));
        }
        _ => json.base64(bytes),
    }
}

fn shown(json: &mut Json, fields: impl Fn(&mut Object<'_>)) {
    let mut object = Object::open(json);
    fields(&mut object);
    object.close();
}
