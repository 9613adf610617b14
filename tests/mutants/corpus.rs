//! What the fuzz targets begin with: every shape of key, value, payload, compressed body and file beside the segments
//! that the exhibits hold, and stretches of their segments.
//!
//! Must not know: what is done with it.

use crate::mutate::Source;
use grouplog::log::Codec;
use grouplog::schema::{Key, RecordType, Value};
use std::collections::{BTreeMap, BTreeSet};

/// By target, what to begin with.
pub type Corpus = BTreeMap<&'static str, Vec<Vec<u8>>>;

/// So many of the same type, version and rough length are enough.
const OF_A_SHAPE: usize = 3;

/// Of these segments and side files.
pub fn corpus(sources: &[Source], side_files: &[(String, Vec<u8>)]) -> Corpus {
    let mut corpus = Corpus::new();
    let mut shapes = BTreeMap::<Vec<u8>, usize>::new();
    let mut is_new = |shape: Vec<u8>| {
        let seen = shapes.entry(shape).or_default();
        *seen += 1;
        *seen <= OF_A_SHAPE
    };
    for source in sources {
        for part in &source.parts {
            let head = &part.header;
            let size = part.bytes.len().ilog2() as u8;
            if is_new([&b"body"[..], part.class().as_bytes(), &[size]].concat()) {
                if let Some(target) = codec_target(head.codec)
                    && head.magic == 2
                {
                    corpus.entry(target).or_default().push(part.bytes[61..].to_vec());
                }
                corpus.entry("scan").or_default().push(part.bytes.clone());
            }
            for record in &part.records {
                let Some(key) = &record.key else { continue };
                if is_new([b"key", key.get(..2).unwrap_or_default()].concat()) {
                    corpus.entry("schema").or_default().push([&[0], key.as_slice()].concat());
                }
                let (Ok(key), Some(value)) = (Key::decode(key), &record.value) else { continue };
                let number = key.record_type.number() as u8;
                if value.len() > 2 && is_new([b"value", &value[..2], &[number, value.len().ilog2() as u8]].concat()) {
                    let place = RecordType::ALL.iter().position(|it| *it == key.record_type).unwrap();
                    let schema = corpus.entry("schema").or_default();
                    schema.push([&[3 + place as u8], value.as_slice()].concat());
                    payloads(key.record_type, value, schema);
                }
            }
        }
        let stretch: Vec<u8> = source.parts.iter().flat_map(|part| part.bytes.iter().copied()).take(8 << 10).collect();
        corpus.entry("replay").or_default().push(stretch);
    }
    let kinds: BTreeSet<_> = side_files.iter().map(|(name, bytes)| (kind_of(name), bytes)).collect();
    let side = kinds.into_iter().filter_map(|(kind, bytes)| Some([&[kind?], bytes.as_slice()].concat()));
    corpus.insert("side", side.collect());
    corpus
}

fn codec_target(codec: Codec) -> Option<&'static str> {
    Some(match codec {
        Codec::Gzip => "codec_gzip",
        Codec::Snappy => "codec_snappy",
        Codec::Lz4 => "codec_lz4",
        Codec::Zstd => "codec_zstd",
        Codec::None | Codec::Unknown(_) => return None,
    })
}

fn payloads(record_type: RecordType, value: &[u8], schema: &mut Vec<Vec<u8>>) {
    let Ok(value) = record_type.decode_value(value) else { return };
    match value.data {
        Value::GroupMetadata(group) => {
            for member in &group.members {
                schema.push([&[1], member.subscription.0].concat());
                schema.push([&[1], member.assignment.0].concat());
            }
        }
        Value::OffsetCommit(commit) if commit.metadata.0.len() >= 12 => {
            schema.push([&[2], commit.metadata.0].concat());
        }
        _ => {}
    }
}

/// The byte that the target `side` takes for it.
fn kind_of(name: &str) -> Option<u8> {
    let endings = [
        ".index",
        ".timeindex",
        ".txnindex",
        ".snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "offset-checkpoint",
        "meta.properties",
    ];
    endings.iter().position(|ending| name.ends_with(ending)).map(|place| place as u8)
}
