//! Every record type, version and shape: what is written reads back, what is cut is a fault, nothing panics.

use grouplog::json::{Json, Style};
use grouplog::schema::sample::Sampler;
use grouplog::schema::{Key, RecordType, Value, VersionedValue};

const ROUNDS: u64 = 200;

fn encoded(value: &VersionedValue) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out);
    out
}

fn samples() -> impl Iterator<Item = (RecordType, VersionedValue<'static>)> {
    RecordType::ALL.iter().flat_map(|&record_type| {
        (0..ROUNDS).flat_map(move |seed| {
            let values = record_type.sample_values(&mut Sampler::new(seed * 31 + record_type.number() as u64));
            values.into_iter().map(move |value| (record_type, value))
        })
    })
}

#[test]
fn keys_come_back() {
    for &record_type in RecordType::ALL {
        for seed in 0..ROUNDS {
            let key = record_type.sample_key(&mut Sampler::new(seed));
            let mut bytes = Vec::new();
            key.encode(&mut bytes);
            assert_eq!(Key::decode(&bytes).as_ref(), Ok(&key));
            for cut in 0..bytes.len() {
                assert!(Key::decode(&bytes[..cut]).is_err(), "{record_type:?} key cut at {cut}");
            }
        }
    }
}

#[test]
fn values_come_back() {
    let (mut tried, mut taken_for_another) = (0, 0);
    for (record_type, value) in samples() {
        let bytes = encoded(&value);
        let back = record_type.decode_value(&bytes).unwrap();
        assert_eq!(encoded(&back), bytes, "{record_type:?} {value:?}");
        tried += 1;
        // Shapes share version 0, so one can be read as another; that must stay rare, and lose no byte.
        if back.whose == value.whose {
            assert_eq!(back, value);
        } else {
            assert!(back.trailing.is_empty());
            // Version 0 of types 0 and 1 is the same to the last byte.
            taken_for_another += u32::from(record_type != RecordType::LegacyOffsetCommit);
        }
    }
    assert!(taken_for_another * 50 < tried, "{taken_for_another} of {tried} values were taken for another shape");
    println!("{tried} values written and read back, {taken_for_another} of them fit another shape of their type too");
}

#[test]
fn shown_at_once_or_decoded_first_is_the_same() {
    let (mut at_once, mut decoded) = (Json::new(Style::Lossless), Json::new(Style::Lossless));
    for (record_type, value) in samples() {
        let mut bytes = encoded(&value);
        for cut in [0, 1, bytes.len() / 2] {
            bytes.truncate(bytes.len() - cut);
            at_once.clear();
            decoded.clear();
            let shown = record_type.transcode_value(&bytes, &mut at_once);
            let decoded_value = record_type.decode_value(&bytes);
            let left = decoded_value.as_ref().map(|value| value.trailing.len()).map_err(Clone::clone);
            assert_eq!(record_type.check_value(&bytes), left);
            match decoded_value {
                Ok(value) => {
                    value.data.json(&mut decoded, value.version);
                    let shown = shown.unwrap();
                    assert_eq!(
                        (shown.version, shown.whose, shown.trailing),
                        (value.version, value.whose, value.trailing)
                    );
                }
                Err(fault) => assert_eq!(shown, Err(fault.clone()), "{fault}"),
            }
            assert_eq!(String::from_utf8_lossy(at_once.bytes()), String::from_utf8_lossy(decoded.bytes()));
        }
    }
}

#[test]
fn a_cut_value_is_a_fault() {
    for (record_type, value) in samples().step_by(7) {
        let bytes = encoded(&value);
        for cut in 0..bytes.len() {
            // A shorter shape of the same type may fit what is left; the value's own shape must not.
            if let Ok(found) = record_type.decode_value(&bytes[..cut]) {
                assert_ne!(found.whose, value.whose, "{record_type:?} cut at {cut}: {value:?}");
            }
        }
    }
}

#[test]
fn flipped_bits_do_not_panic_and_show_as_json() {
    let mut json = Json::new(Style::Lossless);
    let mut shown = 0;
    for (record_type, value) in samples().step_by(11) {
        let bytes = encoded(&value);
        for bit in 0..bytes.len().min(96) * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(value) = record_type.decode_value(&flipped) {
                json.clear();
                value.data.json(&mut json, value.version);
                serde_json::from_slice::<serde_json::Value>(json.bytes()).unwrap();
                shown += 1;
            }
        }
    }
    assert!(shown > 10_000, "{shown}");
}

#[test]
fn a_hostile_count_costs_nothing() {
    // A group value whose member count claims two thousand million.
    let bytes = [0, 3, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff];
    assert_eq!(RecordType::GroupMetadata.decode_value(&bytes).unwrap_err().kind.code(), "short-buffer");
}

#[test]
fn unknown_tags_stay() {
    // A commit of version 4 with tag 7 of 300 bytes, whose size takes two bytes.
    let mut bytes = b"\0\x04\0\0\0\0\0\0\0\x2a\xff\xff\xff\xff\x01\0\0\x01\x8b\xcf\xe5\x68\0\x01\x07\xac\x02".to_vec();
    bytes.extend([0x55; 300]);
    let value = RecordType::OffsetCommit.decode_value(&bytes).unwrap();
    assert_eq!(encoded(&value), bytes);
    let mut json = Json::new(Style::Lossless);
    value.data.json(&mut json, 4);
    let shown: serde_json::Value = serde_json::from_slice(json.bytes()).unwrap();
    assert_eq!(shown["unknownTags"]["7"].as_str().unwrap().len(), 400);
}

/// The field tables of all types are compared with a committed text, so that no field changes by accident.
#[test]
fn the_fields_are_those_of_the_committed_text() {
    let mut text = String::new();
    for record_type in RecordType::ALL {
        text += &format!("{} {}\n", record_type.number(), record_type.name());
        fields(&mut text, "key", &record_type.key_doc());
        for (whose, doc) in record_type.value_docs() {
            fields(&mut text, &whose.map_or("value".to_owned(), |whose| format!("value ({whose})")), &doc);
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/schema-fields.txt");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    if committed != text {
        let fresh = concat!(env!("CARGO_TARGET_TMPDIR"), "/schema-fields.txt");
        std::fs::write(fresh, &text).unwrap();
        panic!("the field tables are not those of {path}; what they are now is in {fresh}");
    }
}

fn fields(text: &mut String, what: &str, doc: &grouplog::schema::doc::MessageDoc) {
    let flexible = doc.flexible.map_or("none".to_owned(), |first| format!("{first}+"));
    let (first, last) = doc.versions;
    *text += &format!("  {what} versions {first}-{last} flexible {flexible}\n");
    lines(text, 4, &doc.fields);
}

fn lines(text: &mut String, indent: usize, fields: &[grouplog::schema::doc::FieldDoc]) {
    for field in fields {
        let nullable = if field.kind.nullable { " nullable" } else { "" };
        let tag = field.tag.map_or(String::new(), |tag| format!(" tag {tag}"));
        let default = field.default.map_or(String::new(), |default| format!(" default {default}"));
        let (name, kind, versions) = (field.name, field.kind.notation(), field.versions());
        *text += &format!("{:indent$}{name}: {kind} [{versions}]{nullable}{tag}{default}\n", "");
        lines(text, indent + 2, &field.kind.fields);
    }
}

/// Brokers write null outright, since what is missing is a struct of defaults to them: a classic member (asked of 4.0.0 and
/// 4.4.0, which called consumers classic whose null was left out).
#[test]
fn a_missing_tagged_struct_is_not_null() {
    let before = b"\x00\x00\x00\x00\x02c\x02h\x01\x00\x00\x00\x00\x07\x00";
    for (tags, expected) in [(&b"\x00"[..], Some(0)), (b"\x01\x00\x01\x00", None)] {
        let bytes = [&before[..], tags].concat();
        let value = RecordType::ConsumerGroupMemberMetadata.decode_value(&bytes).unwrap();
        let Value::ConsumerGroupMemberMetadata(data) = &value.data else { panic!("{value:?}") };
        assert_eq!(data.classic_member_metadata.as_ref().map(|it| it.session_timeout_ms), expected);
        let mut again = Vec::new();
        value.encode(&mut again);
        assert_eq!(again, bytes);
    }
}
