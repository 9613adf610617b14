//! Bytes as a key, as a value of any type, and as a payload inside one.
//!
//! Must not know: records and batches.

use super::assert_json;
use grouplog::json::{Json, Style};
use grouplog::schema::embedded::streams_commit::commit_metadata;
use grouplog::schema::embedded::{member_assignment, member_subscription, within};
use grouplog::schema::{Key, RecordType, Value};

/// What is kept between calls.
pub struct Scratch {
    json: Json,
    other: Json,
    bytes: Vec<u8>,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch { json: Json::new(Style::Lossless), other: Json::new(Style::Lossless), bytes: Vec::new() }
    }
}

/// A key, and the value that stands with it.
pub fn record(key: Option<&[u8]>, value: Option<&[u8]>, scratch: &mut Scratch) {
    let Some(key) = key else { return };
    if let (Some(record_type), Some(bytes)) = (self::key(key, scratch), value) {
        self::value(record_type, bytes, scratch);
    }
}

/// A key: what is read is written again with the same meaning, and shown as JSON.
pub fn key(bytes: &[u8], scratch: &mut Scratch) -> Option<RecordType> {
    let whole = Key::type_of_whole(bytes);
    let key = match Key::decode(bytes) {
        Ok(key) => key,
        Err(bad) => {
            assert_eq!(whole, None);
            assert!(bad.fault.at <= bytes.len() as u64);
            return None;
        }
    };
    assert_eq!(whole, key.trailing.is_empty().then_some(key.record_type));
    scratch.bytes.clear();
    key.encode(&mut scratch.bytes);
    // No key has a field that could be written in two ways, but for tags that are none.
    assert_eq!(Key::decode(&scratch.bytes).as_ref(), Ok(&key));
    scratch.json.clear();
    key.json(&mut scratch.json);
    assert_json(scratch.json.bytes());
    let _ = (key.group(), key.member(), key.topic_partition(), key.is_utf8());
    Some(key.record_type)
}

/// A value: checked, decoded, shown at once and after decoding, written again.
pub fn value(record_type: RecordType, bytes: &[u8], scratch: &mut Scratch) {
    let Scratch { json, other, bytes: again } = scratch;
    let (decoded, checked) = (record_type.decode_value(bytes), record_type.check_value(bytes));
    json.clear();
    let transcoded = record_type.transcode_value(bytes, json);
    let value = match decoded {
        Ok(value) => value,
        Err(fault) => {
            assert_eq!((checked.err(), transcoded.err()), (Some(fault.clone()), Some(fault)));
            assert!(json.bytes().is_empty() && !record_type.is_whole_value(bytes));
            return;
        }
    };
    assert_eq!(checked, Ok(value.trailing.len()));
    assert_eq!(record_type.is_whole_value(bytes), value.trailing.is_empty());
    let transcoded = transcoded.unwrap();
    assert_eq!(
        (transcoded.version, transcoded.whose, transcoded.trailing),
        (value.version, value.whose, value.trailing)
    );
    assert_json(json.bytes());
    other.clear();
    value.data.json(other, value.version);
    assert_eq!(json.bytes(), other.bytes());
    again.clear();
    value.encode(again);
    // A length may have been written in more bytes than it needs; what it says must be the same.
    assert!(again.len() <= bytes.len());
    if again.as_slice() != bytes {
        let back = record_type.decode_value(again).unwrap();
        if back.whose == value.whose {
            assert_eq!((back.version, &back.data, back.trailing), (value.version, &value.data, value.trailing));
        }
    }
    payloads(&value.data, other);
}

fn payloads(value: &Value<'_>, json: &mut Json) {
    json.clear();
    json.raw("{\"value\":null");
    within::json(json, value);
    json.raw("}");
    assert_json(json.bytes());
    match value {
        Value::OffsetCommit(commit) => metadata(commit.metadata.0, json),
        Value::LegacyOffsetCommit(commit) => metadata(commit.metadata.0, json),
        _ => {}
    }
}

/// A commit's metadata.
pub fn metadata(bytes: &[u8], json: &mut Json) {
    if let Some(metadata) = commit_metadata(bytes) {
        json.clear();
        metadata.json(json);
        assert_json(json.bytes());
    }
}

/// Bytes as a payload of every kind.
pub fn payload(bytes: &[u8], json: &mut Json) {
    for protocol_type in [&b"consumer"[..], b"connect", b"sr", b"other"] {
        for protocol in [None, Some(&b"range"[..]), Some(b"sticky"), Some(b"stream"), Some(b"compatible")] {
            for payload in
                [member_subscription(protocol_type, protocol, bytes), member_assignment(protocol_type, protocol, bytes)]
            {
                json.clear();
                payload.json(json);
                assert_json(json.bytes());
            }
        }
    }
}

/// Bytes as everything: the first one says as what.
pub fn run(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let mut scratch = Scratch::new();
    match usize::from(*kind) {
        0 => drop(key(bytes, &mut scratch)),
        1 => payload(bytes, &mut scratch.json),
        2 => metadata(bytes, &mut scratch.json),
        kind => {
            let types = RecordType::ALL;
            if let Some(record_type) = types.get((kind - 3) % types.len()) {
                value(*record_type, bytes, &mut scratch);
            }
        }
    }
}
