//! Names replaced for sharing: groups, topics, members, clients, hosts, racks, metadata, ids of topics; in keys, values
//! and the payloads of members. Lengths stay, and so do numbers, times and everything that a broker reads.
//!
//! A name becomes another of the same shape: letters letters, digits digits, the rest (dots, dashes, slashes) as it is; a
//! character of more bytes becomes one of as many. The same name of one kind becomes the same everywhere, and two
//! different ones never become the same: each character is moved by a number that follows from the seed, the kind and
//! the characters before it. So names that begin alike still do, and nobody can tell what they were without the seed.
//! Protocol types and assignors are replaced, too, but for those that everybody has ([`WELL_KNOWN`]): what somebody wrote
//! for themselves may bear their name. Bytes that nobody here can read become zeros; what has no readable key goes.
//! Must not know: which partition a name hashes to.

use super::rename::copied;
use super::{Draft, Note};
use crate::schema::embedded::copy::{Copied, Unreadable};
use crate::schema::names::{Kind, Names, Payload, in_key, in_value};
use crate::schema::wire::{UnknownTags, Uuid};
use crate::schema::{Key, RecordType};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Protocol types and assignors of Kafka and of clients that many use: they tell of nobody, and readers go by them.
pub const WELL_KNOWN: &[&str] = &[
    // Protocol types: consumers, Connect, Schema Registry.
    "consumer",
    "connect",
    "sr",
    "share",
    "streams",
    // Of consumers; the last two of Kafka Streams and KafkaJS.
    "range",
    "roundrobin",
    "sticky",
    "cooperative-sticky",
    "uniform",
    "simple",
    "stream",
    "RoundRobinAssigner",
    // Of Connect, and of Schema Registry.
    "default",
    "compatible",
    "sessioned",
    "v0",
];

/// So many bytes of names are remembered: a log names the same ones over and over.
const REMEMBERED: usize = 16 << 20;

/// Replaces names.
#[derive(Debug)]
pub struct Redact {
    seed: Vec<u8>,
    remembered: Mutex<Remembered>,
}

/// New names by kind and old ones.
#[derive(Debug, Default)]
struct Remembered {
    names: HashMap<(Kind, Box<[u8]>), Vec<u8>>,
    bytes: usize,
}

impl Redact {
    /// The same seed gives the same names.
    pub fn new(seed: &[u8]) -> Self {
        Redact { seed: seed.to_vec(), remembered: Mutex::default() }
    }

    /// What stands in place of a name.
    pub fn name(&self, kind: Kind, name: &[u8]) -> Vec<u8> {
        if kind == Kind::Unreadable {
            return vec![0; name.len()];
        }
        if kind == Kind::Protocol && WELL_KNOWN.iter().any(|known| known.as_bytes() == name) {
            return name.to_vec();
        }
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (kind, name.into());
        if let Some(new) = remembered.names.get(&key) {
            return new.clone();
        }
        if remembered.bytes > REMEMBERED {
            *remembered = Remembered::default();
        }
        remembered.bytes += 2 * name.len() + size_of::<(Kind, Box<[u8]>, Vec<u8>)>();
        remembered.names.entry(key).or_insert_with(|| self.made(kind, name)).clone()
    }

    fn made(&self, kind: Kind, name: &[u8]) -> Vec<u8> {
        let mut hash = Sha256::new();
        hash.update((self.seed.len() as u64).to_be_bytes());
        hash.update(&self.seed);
        hash.update([kind as u8]);
        let mut out = Vec::with_capacity(name.len());
        for chunk in name.utf8_chunks() {
            for character in chunk.valid().chars() {
                let digest = hash.clone().finalize();
                let number = digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
                let mut buffer = [0; 4];
                hash.update(character.encode_utf8(&mut buffer).as_bytes());
                out.extend_from_slice(moved(character, number).encode_utf8(&mut buffer).as_bytes());
            }
            // What is no UTF-8 stays: it is few bytes, and any other could become UTF-8 with its neighbours.
            out.extend_from_slice(chunk.invalid());
            hash.update(chunk.invalid());
        }
        out
    }

    fn id(&self, id: Uuid) -> Uuid {
        let mut hash = Sha256::new();
        hash.update((self.seed.len() as u64).to_be_bytes());
        hash.update(&self.seed);
        hash.update([u8::MAX]);
        hash.update(id.0);
        hash.finalize().first_chunk().map_or(id, |bytes| Uuid(*bytes))
    }

    /// Replaces the names in a record; why it goes, if it cannot be read.
    pub(super) fn apply(&self, draft: &mut Draft<'_>) -> Option<Note> {
        let bytes = draft.key.clone().into_owned();
        let Ok(mut key) = Key::decode(&bytes) else {
            let why = "its key cannot be read, so it may hold any name".to_owned();
            return Some(Note::saying("redact-unreadable", why));
        };
        let mut places = Places::new(self, &bytes);
        in_key(&mut key, &mut places);
        draft.key = Cow::Owned(places.new);
        draft.notes.push(Note::new("redact"));
        if let Some(value) = draft.value.take() {
            draft.value = Some(Cow::Owned(self.value(key.record_type, &value, &mut draft.notes)));
        }
        None
    }

    fn value(&self, record_type: RecordType, bytes: &[u8], notes: &mut Vec<Note>) -> Vec<u8> {
        let Ok(mut value) = record_type.decode_value(bytes) else {
            notes.push(Note::saying("redact-zeros", "the value cannot be decoded".to_owned()));
            return blank(bytes);
        };
        let mut places = Places::new(self, bytes);
        in_value(&mut value.data, &mut places);
        places.text(Kind::Unreadable, &mut value.trailing);
        let Places { new, has_ids, .. } = places;
        if has_ids { self.with_new_ids(record_type, new) } else { new }
    }

    /// A value that can be read, with other ids in it.
    fn with_new_ids(&self, record_type: RecordType, bytes: Vec<u8>) -> Vec<u8> {
        let Ok(mut value) = record_type.decode_value(&bytes) else { return blank(&bytes) };
        let mut out = Vec::with_capacity(bytes.len());
        in_value(&mut value.data, &mut Ids(self));
        value.encode(&mut out);
        out
    }
}

/// Zeros behind the version.
fn blank(value: &[u8]) -> Vec<u8> {
    let version = value.get(..2).unwrap_or(value);
    version.iter().copied().chain(std::iter::repeat_n(0, value.len() - version.len())).collect()
}

/// Replaces ids where they are decoded.
struct Ids<'r>(&'r Redact);

impl<'a> Names<'a> for Ids<'_> {
    fn text(&mut self, _: Kind, _: &mut &'a [u8]) {}

    fn payload(&mut self, _: Payload<'a>, _: &mut &'a [u8]) {}

    fn id(&mut self, id: &mut Uuid) {
        if *id != Uuid::default() {
            *id = self.0.id(*id);
        }
    }
}

/// Another character of the same class, whose width in UTF-8 is the same.
fn moved(character: char, number: u64) -> char {
    let code = match character as u32 {
        code @ 0x61..=0x7a => within(code, 0x61, 26, number),
        code @ 0x41..=0x5a => within(code, 0x41, 26, number),
        code @ 0x30..=0x39 => within(code, 0x30, 10, number),
        code @ 0..=0x7f => code,
        code @ 0x80..=0x7ff => within(code, 0x80, 0x800 - 0x80, number),
        // Surrogates are no characters: their 2048 numbers are passed over.
        code @ 0x800..=0xffff => {
            let dense = if code >= 0xe000 { code - 0x800 } else { code };
            let dense = within(dense, 0x800, 0x10000 - 0x800 - 0x800, number);
            if dense >= 0xd800 { dense + 0x800 } else { dense }
        }
        code => within(code, 0x10000, 0x100000, number),
    };
    char::from_u32(code).unwrap_or(character)
}

fn within(code: u32, first: u32, count: u32, number: u64) -> u32 {
    let place = (u64::from(code - first) + number % u64::from(count)) % u64::from(count);
    first + place as u32
}

/// Puts new names where the old ones stand: decoded texts are pieces of the bytes that they were decoded from.
struct Places<'r> {
    redact: &'r Redact,
    old: &'r [u8],
    new: Vec<u8>,
    /// Whether ids were met. They are copied when they are decoded, so that it is not known where they stand.
    has_ids: bool,
}

impl<'r> Places<'r> {
    fn new(redact: &'r Redact, old: &'r [u8]) -> Self {
        Places { redact, old, new: old.to_vec(), has_ids: false }
    }

    fn put(&mut self, piece: &[u8], new: &[u8]) {
        let start = (piece.as_ptr() as usize).wrapping_sub(self.old.as_ptr() as usize);
        let room = start.checked_add(piece.len()).and_then(|end| self.new.get_mut(start..end));
        if let Some(room) = room.filter(|room| room.len() == new.len()) {
            room.copy_from_slice(new);
        }
    }
}

impl<'a> Names<'a> for Places<'_> {
    fn text(&mut self, kind: Kind, text: &mut &'a [u8]) {
        let new = self.redact.name(kind, text);
        self.put(text, &new);
    }

    fn payload(&mut self, payload: Payload<'a>, bytes: &mut &'a [u8]) {
        let redact = self.redact;
        let mut rename = |kind: Kind, name: &[u8]| Some(redact.name(kind, name));
        let new = match copied(payload, bytes, Unreadable::Zeros, &mut rename) {
            Copied::New(new) if new.len() == bytes.len() => new,
            Copied::Same => return,
            Copied::New(_) | Copied::Opaque => vec![0; bytes.len()],
        };
        self.put(bytes, &new);
    }

    fn id(&mut self, id: &mut Uuid) {
        self.has_ids |= *id != Uuid::default();
    }

    fn tags(&mut self, tags: &mut UnknownTags<'a>) {
        for bytes in tags.bytes_mut() {
            self.text(Kind::Unreadable, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_keep_their_shape_and_stay_apart() {
        let redact = Redact::new(b"seed");
        let name = |text: &str| String::from_utf8(redact.name(Kind::Group, text.as_bytes())).unwrap();
        for text in ["orders-EU.v2", "", "größe-\u{d7ff}\u{e000}\u{ffff}-🚀\u{10ffff}", "/10.0.0.1:9092"] {
            let new = name(text);
            assert_eq!(new.chars().count(), text.chars().count(), "{text}");
            for (old, new) in text.chars().zip(new.chars()) {
                assert_eq!(old.len_utf8(), new.len_utf8());
                assert_eq!(old.is_ascii_digit(), new.is_ascii_digit());
                assert_eq!(old.is_ascii_lowercase(), new.is_ascii_lowercase());
                assert_eq!(
                    old.is_ascii() && !old.is_ascii_alphanumeric(),
                    new.is_ascii() && !new.is_ascii_alphanumeric()
                );
            }
        }
        // As many new names as old ones, whatever they share.
        let all: BTreeSet<String> = (0..2000).map(|n| name(&format!("{n}"))).collect();
        assert_eq!(all.len(), 2000);
        let letters: BTreeSet<String> = ('a'..='z').map(|letter| name(&letter.to_string())).collect();
        assert_eq!(letters.len(), 26);
        // Names that begin alike still do; kinds and seeds differ.
        assert_eq!(name("orders-1")[..7], name("orders-2")[..7]);
        assert_ne!(redact.name(Kind::Topic, b"orders"), redact.name(Kind::Group, b"orders"));
        assert_ne!(Redact::new(b"other").name(Kind::Group, b"orders"), redact.name(Kind::Group, b"orders"));
        assert_eq!(redact.name(Kind::Group, b"a\xff\xfe"), [&redact.name(Kind::Group, b"a")[..], b"\xff\xfe"].concat());
        assert_eq!(redact.name(Kind::Unreadable, b"secret"), [0; 6]);
        assert_eq!(redact.name(Kind::Protocol, b"cooperative-sticky"), b"cooperative-sticky");
        assert_ne!(redact.name(Kind::Protocol, b"acme-rack-aware"), b"acme-rack-aware");
    }

    #[test]
    fn moving_is_one_to_one() {
        for number in [0, 1, 12345, u64::MAX] {
            for range in [0x80..0x800, 0x800..0x10000u32] {
                let all: Vec<_> = range.filter_map(char::from_u32).collect();
                let moved: BTreeSet<_> = all.iter().map(|it| moved(*it, number)).collect();
                assert_eq!(moved.len(), all.len());
            }
        }
    }
}
