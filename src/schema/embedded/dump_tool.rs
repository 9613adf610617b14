//! Values as Kafka 4.4's own dump tool shows them: JSON as elsewhere, but in classic groups of consumers each member's
//! subscription and assignment as an object.
//!
//! Must not know: how payloads are read, which fields a value has, and what stands around a value.

use super::consumer::{dump_tool_assignment, dump_tool_subscription};
use crate::json::Json;
use crate::schema::Value;
use memchr::memmem;

/// Writes the fields of a value. What cannot be shown as an object stays base64, as in the tool.
pub fn json(json: &mut Json, value: &Value<'_>, version: i16) {
    let start = json.bytes().len();
    value.json(json, version);
    let Value::GroupMetadata(group) = value else { return };
    if group.protocol_type.0 != b"consumer" || group.members.is_empty() {
        return;
    }
    let plain = json.bytes().get(start..).unwrap_or_default().to_vec();
    json.truncate(start);
    let mut rest = plain.as_slice();
    for member in &group.members {
        rest = replace(json, rest, b"\"subscription\":", |json| dump_tool_subscription(member.subscription.0, json));
        rest = replace(json, rest, b"\"assignment\":", |json| dump_tool_assignment(member.assignment.0, json));
    }
    json.extend(rest);
}

/// Copies up to the next field of this name, writes another value in place of its base64, and gives what follows.
/// The name is that of a field and not a piece of some string: in a string its quotes would be escaped.
fn replace<'t>(json: &mut Json, text: &'t [u8], name: &[u8], value: impl FnOnce(&mut Json)) -> &'t [u8] {
    let Some((before, after)) = memmem::find(text, name).and_then(|at| text.split_at_checked(at + name.len())) else {
        return text;
    };
    json.extend(before);
    value(json);
    let mut quotes = memchr::memchr_iter(b'"', after);
    let end = quotes.nth(1).map_or(after.len(), |last| last + 1);
    after.get(end..).unwrap_or_default()
}
