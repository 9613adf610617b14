//! The primitives of Kafka's wire format as field types: integers, strings, bytes, arrays, uuids, nullable structs.
//!
//! Each says once how it is read, written, shown, sampled and named; [`super::define`] makes structs of them.
//! Must not know: any particular record type, and where the bytes come from.

use super::doc::TypeDoc;
use super::sample::Sampler;
use super::skip;
use crate::bytes::{Cursor, put_uvarint};
use crate::fault::{Fault, FaultKind};
use crate::json::Json;

/// How a message is laid out: its version, and whether that version is flexible (KIP-482).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The version that stands in front of the value; 0 for a key.
    pub version: i16,
    /// Lengths are unsigned varints of n + 1, and structs end in tagged fields.
    pub flexible: bool,
    /// How strictly it is read.
    pub reading: Reading,
}

/// How strictly a message is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// What no writer could have meant is a fault.
    Strict,
    /// As a broker's own reader does: any length below zero is null; tagged fields may stand in any order, and one that
    /// it knows is read without regard to the size in front of it; a string may have 32767 bytes; bits of a varint beyond
    /// the 32nd are dropped.
    AsBroker {
        /// Its release knows the tags below this one: any other is passed over by its size.
        known_tags: u32,
    },
}

/// A type that a field can have.
pub trait Field<'a>: Sized + PartialEq {
    /// The value of a field that its version does not have and that declares no default.
    fn absent() -> Self;
    /// Reads one.
    fn decode(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Self, Fault>;
    /// Writes one.
    fn encode(&self, out: &mut Vec<u8>, layout: Layout);
    /// Shows one as Kafka's JSON does.
    fn json(&self, json: &mut Json, layout: Layout);
    /// Where the next piece begins behind the one at `at`, without making it: the hot path of replay and verification.
    /// None, or a position behind the end of `bytes`, exactly where [`Field::decode`] fails, which then says why.
    #[inline]
    fn skip(bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
        let mut cursor = Cursor::new(bytes.get(at..)?);
        Self::decode(&mut cursor, layout).ok()?;
        Some(bytes.len() - cursor.remaining())
    }
    /// Reads one and shows it at once, without making it: the hot path of `dump`. Shows what [`Field::decode`] and
    /// [`Field::json`] together would; what was shown before a fault is for the caller to take back.
    #[inline]
    fn transcode(cursor: &mut Cursor<'a>, layout: Layout, json: &mut Json) -> Result<(), Fault> {
        Self::decode(cursor, layout)?.json(json, layout);
        Ok(())
    }
    /// As [`Field::transcode`], behind the field's name: the first of two if it is the object's first field.
    #[cfg_attr(debug_assertions, inline)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn transcode_named(
        names: [&'static str; 2],
        first: bool,
        cursor: &mut Cursor<'a>,
        layout: Layout,
        json: &mut Json,
    ) -> Result<(), Fault> {
        if first {
            json.raw(names[0])
        } else {
            json.raw(names[1])
        }
        Self::transcode(cursor, layout, json)
    }
    /// Makes one up.
    fn sample(sampler: &mut Sampler, layout: Layout) -> Self;
    /// Names the type.
    fn doc() -> TypeDoc;

    /// The value of a tagged field that is missing and that declares no default.
    #[inline]
    fn tag_default() -> Self {
        Self::absent()
    }

    /// Reads one that is a tagged field: a nullable struct has another presence mark there.
    fn decode_tagged(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Self, Fault> {
        Self::decode(cursor, layout)
    }
    /// Whether the bytes of a tagged field are sound, to the last one.
    #[inline]
    fn fills_tag(inside: &'a [u8], layout: Layout) -> bool {
        let mut cursor = Cursor::new(inside);
        Self::decode_tagged(&mut cursor, layout).is_ok() && cursor.remaining() == 0
    }
    /// Writes one that is a tagged field.
    fn encode_tagged(&self, out: &mut Vec<u8>, layout: Layout) {
        self.encode(out, layout);
    }
    /// Whether Kafka's JSON leaves this tagged field out.
    fn hidden_when_tagged(&self, default: &Self) -> bool {
        self == default
    }
}

/// A type that can be null in some field; [`Option`] of it is a [`Field`].
pub trait Nullable<'a>: Field<'a> {
    /// Reads one or null.
    fn decode_nullable(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Option<Self>, Fault>;
    /// Writes null.
    fn encode_null(out: &mut Vec<u8>, layout: Layout);
    /// Writes one where null could stand.
    fn encode_present(&self, out: &mut Vec<u8>, layout: Layout) {
        self.encode(out, layout);
    }
    /// What is left behind one or null, as [`Field::skip`].
    #[inline]
    fn skip_nullable(bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
        let mut cursor = Cursor::new(bytes.get(at..)?);
        Self::decode_nullable(&mut cursor, layout).ok()?;
        Some(bytes.len() - cursor.remaining())
    }
    /// Reads one or null, and shows it.
    fn transcode_nullable(cursor: &mut Cursor<'a>, layout: Layout, json: &mut Json) -> Result<(), Fault> {
        Self::decode_nullable(cursor, layout)?.json(json, layout);
        Ok(())
    }
    /// Reads one or null, as a tagged field.
    fn decode_nullable_tagged(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Option<Self>, Fault> {
        Self::decode_nullable(cursor, layout)
    }
    /// Writes one or null, as a tagged field.
    fn encode_nullable_tagged(value: &Option<Self>, out: &mut Vec<u8>, layout: Layout) {
        value.encode(out, layout);
    }
    /// The value of a nullable tagged field that is missing.
    #[inline]
    fn tag_default() -> Option<Self> {
        None
    }
    /// Whether Kafka's JSON leaves this tagged field out.
    fn nullable_hidden_when_tagged(value: &Option<Self>) -> bool {
        value.is_none()
    }
}

macro_rules! integers {
    ($($type:ident $name:literal),*) => {$(
        impl<'a> Field<'a> for $type {
            #[inline]
            fn absent() -> Self {
                0
            }
            #[inline]
            fn decode(cursor: &mut Cursor<'a>, _: Layout) -> Result<Self, Fault> {
                cursor.$type()
            }
            fn encode(&self, out: &mut Vec<u8>, _: Layout) {
                out.extend_from_slice(&self.to_be_bytes());
            }
            #[inline(always)]
            fn skip(_: &'a [u8], at: usize, _: Layout) -> Option<usize> {
                at.checked_add(size_of::<$type>())
            }
            #[inline]
            fn json(&self, json: &mut Json, _: Layout) {
                json.int(*self);
            }
            #[cfg_attr(debug_assertions, inline)]
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn transcode_named(
                names: [&'static str; 2],
                first: bool,
                cursor: &mut Cursor<'a>,
                _: Layout,
                json: &mut Json,
            ) -> Result<(), Fault> {
                let n = cursor.$type()?;
                if first { json.raw_int(names[0], n) } else { json.raw_int(names[1], n) }
                Ok(())
            }
            fn sample(sampler: &mut Sampler, _: Layout) -> Self {
                sampler.bits() as $type
            }
            fn doc() -> TypeDoc {
                TypeDoc::plain($name)
            }
        }
    )*};
}
integers!(i8 "int8", i16 "int16", u16 "uint16", i32 "int32", i64 "int64");

/// A string: bytes that should be UTF-8, which is checked where it is shown and not before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text<'a>(pub &'a [u8]);

/// A byte string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Blob<'a>(pub &'a [u8]);

/// A topic id (KIP-516); all zeros means none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

/// Reads a length in front of something: -1 (or 0 as a varint) is null.
#[inline]
fn length(
    cursor: &mut Cursor<'_>,
    layout: Layout,
    plain: fn(&mut Cursor<'_>) -> Result<i64, Fault>,
) -> Result<Option<usize>, Fault> {
    let start = cursor.clone();
    let n = if !layout.flexible {
        plain(cursor)?
    } else if layout.reading == Reading::Strict {
        i64::from(cursor.uvarint()?) - 1
    } else {
        i64::from((cursor.uvarint_of_low_bits()? as i32).wrapping_sub(1))
    };
    match usize::try_from(n) {
        Ok(n) if n <= cursor.remaining() => Ok(Some(n)),
        Ok(n) => {
            let fault = FaultKind::ShortBuffer { need: n as u64, have: cursor.remaining() as u64 };
            Err(start.fault(fault))
        }
        Err(_) if n == -1 || layout.reading != Reading::Strict => Ok(None),
        Err(_) => Err(start.fault(FaultKind::BadLength(n))),
    }
}

fn short_length(cursor: &mut Cursor<'_>) -> Result<i64, Fault> {
    cursor.i16().map(i64::from)
}

fn long_length(cursor: &mut Cursor<'_>) -> Result<i64, Fault> {
    cursor.i32().map(i64::from)
}

fn not_null<T>(cursor: &Cursor<'_>, value: Option<T>) -> Result<T, Fault> {
    value.ok_or_else(|| cursor.fault(FaultKind::UnexpectedNull))
}

fn put_length(out: &mut Vec<u8>, layout: Layout, n: usize) {
    if layout.flexible { put_uvarint(out, n as u32 + 1) } else { out.extend_from_slice(&(n as i32).to_be_bytes()) }
}

impl<'a> Field<'a> for Text<'a> {
    fn absent() -> Self {
        Text(b"")
    }
    // As below.
    #[inline(always)]
    fn decode(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Self, Fault> {
        let value = Self::decode_nullable(cursor, layout)?;
        not_null(cursor, value)
    }
    #[inline(always)]
    fn skip(bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
        let (n, at) = skip::length(bytes, at, layout, skip::short_length)?;
        at.checked_add(n?)
    }
    fn encode(&self, out: &mut Vec<u8>, layout: Layout) {
        if layout.flexible {
            put_uvarint(out, self.0.len() as u32 + 1);
        } else {
            out.extend_from_slice(&(self.0.len() as i16).to_be_bytes());
        }
        out.extend_from_slice(self.0);
    }
    #[inline]
    fn json(&self, json: &mut Json, _: Layout) {
        json.string(self.0);
    }
    #[inline(always)]
    fn transcode(cursor: &mut Cursor<'a>, layout: Layout, json: &mut Json) -> Result<(), Fault> {
        let text = Self::decode(cursor, layout)?;
        json.string(text.0);
        Ok(())
    }
    fn sample(sampler: &mut Sampler, _: Layout) -> Self {
        Text(sampler.text().as_bytes())
    }
    fn doc() -> TypeDoc {
        TypeDoc::plain("string")
    }
}

impl<'a> Nullable<'a> for Text<'a> {
    // Called, it would hand its result over in memory.
    #[inline(always)]
    fn decode_nullable(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Option<Self>, Fault> {
        match length(cursor, layout, short_length)? {
            Some(n) if layout.reading != Reading::Strict && n > i16::MAX as usize => {
                Err(cursor.fault(FaultKind::BadLength(n as i64)))
            }
            Some(n) => cursor.take(n).map(|bytes| Some(Text(bytes))),
            None => Ok(None),
        }
    }
    #[inline(always)]
    fn skip_nullable(bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
        let (n, at) = skip::length(bytes, at, layout, skip::short_length)?;
        at.checked_add(n.unwrap_or(0))
    }
    fn encode_null(out: &mut Vec<u8>, layout: Layout) {
        if layout.flexible { out.push(0) } else { out.extend_from_slice(&(-1i16).to_be_bytes()) }
    }
}

impl<'a> Field<'a> for Blob<'a> {
    fn absent() -> Self {
        Blob(b"")
    }
    fn decode(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Self, Fault> {
        match length(cursor, layout, long_length)? {
            Some(n) => cursor.take(n).map(Blob),
            None => Err(cursor.fault(FaultKind::UnexpectedNull)),
        }
    }
    #[inline]
    fn skip(bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
        let (n, at) = skip::length(bytes, at, layout, skip::long_length)?;
        at.checked_add(n?)
    }
    fn encode(&self, out: &mut Vec<u8>, layout: Layout) {
        put_length(out, layout, self.0.len());
        out.extend_from_slice(self.0);
    }
    fn json(&self, json: &mut Json, _: Layout) {
        json.base64(self.0);
    }
    fn sample(sampler: &mut Sampler, _: Layout) -> Self {
        Blob(sampler.text().as_bytes())
    }
    fn doc() -> TypeDoc {
        TypeDoc::plain("bytes")
    }
}

impl<'a> Field<'a> for Uuid {
    fn absent() -> Self {
        Uuid::default()
    }
    fn decode(cursor: &mut Cursor<'a>, _: Layout) -> Result<Self, Fault> {
        cursor.array().map(|bytes| Uuid(*bytes))
    }
    #[inline(always)]
    fn skip(_: &'a [u8], at: usize, _: Layout) -> Option<usize> {
        at.checked_add(16)
    }
    #[inline(always)]
    fn fills_tag(inside: &'a [u8], _: Layout) -> bool {
        inside.len() == 16
    }
    fn encode(&self, out: &mut Vec<u8>, _: Layout) {
        out.extend_from_slice(&self.0);
    }
    fn json(&self, json: &mut Json, _: Layout) {
        json.uuid(&self.0);
    }
    fn sample(sampler: &mut Sampler, _: Layout) -> Self {
        let (high, low) = (sampler.bits().to_be_bytes(), sampler.bits().to_be_bytes());
        let mut id = [0; 16];
        id.iter_mut().zip(high.iter().chain(&low)).for_each(|(to, from)| *to = *from);
        Uuid(id)
    }
    fn doc() -> TypeDoc {
        TypeDoc::plain("uuid")
    }
}

impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    fn absent() -> Self {
        Vec::new()
    }
    fn decode(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Self, Fault> {
        let value = Self::decode_nullable(cursor, layout)?;
        not_null(cursor, value)
    }
    fn encode(&self, out: &mut Vec<u8>, layout: Layout) {
        put_length(out, layout, self.len());
        self.iter().for_each(|item| item.encode(out, layout));
    }
    fn json(&self, json: &mut Json, layout: Layout) {
        json.raw("[");
        for item in self {
            item.json(json, layout);
            json.raw(",");
        }
        json.close(b']');
    }
    fn skip(bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
        let (n, at) = skip::length(bytes, at, layout, skip::long_length)?;
        skip_items::<T>(n?, bytes, at, layout)
    }
    fn transcode(cursor: &mut Cursor<'a>, layout: Layout, json: &mut Json) -> Result<(), Fault> {
        let n = length(cursor, layout, long_length)?;
        let n = not_null(cursor, n)?;
        items::<T>(n, cursor, layout, json)
    }
    fn sample(sampler: &mut Sampler, layout: Layout) -> Self {
        (0..sampler.below(4)).map(|_| T::sample(sampler, layout)).collect()
    }
    fn doc() -> TypeDoc {
        T::doc().array()
    }
}

/// Where `n` items end. As every item takes a byte at least, no more than there are bytes are gone through.
#[inline]
fn skip_items<'a, T: Field<'a>>(n: usize, bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
    if n > bytes.len().saturating_sub(at) {
        return None;
    }
    (0..n).try_fold(at, |at, _| T::skip(bytes, at, layout))
}

/// Reads and shows the items of an array.
fn items<'a, T: Field<'a>>(n: usize, cursor: &mut Cursor<'a>, layout: Layout, json: &mut Json) -> Result<(), Fault> {
    json.raw("[");
    for i in 0..n {
        if i > 0 {
            json.raw(",");
        }
        T::transcode(cursor, layout, json)?;
    }
    json.raw("]");
    Ok(())
}

impl<'a, T: Field<'a>> Nullable<'a> for Vec<T> {
    fn skip_nullable(bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
        let (n, at) = skip::length(bytes, at, layout, skip::long_length)?;
        skip_items::<T>(n.unwrap_or(0), bytes, at, layout)
    }
    fn transcode_nullable(cursor: &mut Cursor<'a>, layout: Layout, json: &mut Json) -> Result<(), Fault> {
        match length(cursor, layout, long_length)? {
            Some(n) => items::<T>(n, cursor, layout, json),
            None => {
                json.raw("null");
                Ok(())
            }
        }
    }
    fn decode_nullable(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Option<Self>, Fault> {
        // Every item takes a byte at least, so a count beyond the bytes that are left is refused by `length`. The room
        // is not reserved in advance: a hostile count costs no more memory than the bytes that bear it out.
        let Some(n) = length(cursor, layout, long_length)? else { return Ok(None) };
        let mut items = Vec::with_capacity(n.min(64));
        for _ in 0..n {
            items.push(T::decode(cursor, layout)?);
        }
        Ok(Some(items))
    }
    fn encode_null(out: &mut Vec<u8>, layout: Layout) {
        if layout.flexible { out.push(0) } else { out.extend_from_slice(&(-1i32).to_be_bytes()) }
    }
    fn nullable_hidden_when_tagged(value: &Option<Self>) -> bool {
        value.as_ref().is_none_or(Vec::is_empty)
    }
}

impl<'a, T: Nullable<'a>> Field<'a> for Option<T> {
    fn absent() -> Self {
        None
    }
    #[inline]
    fn decode(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Self, Fault> {
        T::decode_nullable(cursor, layout)
    }
    fn encode(&self, out: &mut Vec<u8>, layout: Layout) {
        match self {
            Some(value) => value.encode_present(out, layout),
            None => T::encode_null(out, layout),
        }
    }
    #[inline]
    fn json(&self, json: &mut Json, layout: Layout) {
        match self {
            Some(value) => value.json(json, layout),
            None => json.raw("null"),
        }
    }
    #[inline]
    fn skip(bytes: &'a [u8], at: usize, layout: Layout) -> Option<usize> {
        T::skip_nullable(bytes, at, layout)
    }
    #[inline]
    fn transcode(cursor: &mut Cursor<'a>, layout: Layout, json: &mut Json) -> Result<(), Fault> {
        T::transcode_nullable(cursor, layout, json)
    }
    fn sample(sampler: &mut Sampler, layout: Layout) -> Self {
        (sampler.below(3) > 0).then(|| T::sample(sampler, layout))
    }
    fn doc() -> TypeDoc {
        T::doc().nullable()
    }
    #[inline]
    fn tag_default() -> Self {
        <T as Nullable>::tag_default()
    }
    fn decode_tagged(cursor: &mut Cursor<'a>, layout: Layout) -> Result<Self, Fault> {
        T::decode_nullable_tagged(cursor, layout)
    }
    fn encode_tagged(&self, out: &mut Vec<u8>, layout: Layout) {
        T::encode_nullable_tagged(self, out, layout);
    }
    fn hidden_when_tagged(&self, _: &Self) -> bool {
        T::nullable_hidden_when_tagged(self)
    }
}

/// A tagged field without a name: its tag and its bytes.
type UnknownTag<'a> = (u32, &'a [u8]);

/// The tagged fields of a struct that this release has no name for, in the order in which they stand. There are hardly
/// ever any, so that none of them takes one word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(clippy::box_collection)]
pub struct UnknownTags<'a>(Option<Box<Vec<UnknownTag<'a>>>>);

impl<'a> UnknownTags<'a> {
    /// Adds one.
    pub fn push(&mut self, tag: u32, bytes: &'a [u8]) {
        self.0.get_or_insert_default().push((tag, bytes));
    }

    /// The bytes of each, to put others in their place.
    pub fn bytes_mut(&mut self) -> impl Iterator<Item = &mut &'a [u8]> {
        self.0.iter_mut().flat_map(|tags| tags.iter_mut().map(|(_, bytes)| bytes))
    }

    /// Tag and bytes of each.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &'a [u8])> + '_ {
        self.0.iter().flat_map(|tags| tags.iter().copied())
    }
}

/// Reads the tagged fields at the end of a flexible struct. `known` takes those it knows, and says whether it did.
pub fn decode_tags<'a>(
    cursor: &mut Cursor<'a>,
    layout: Layout,
    mut known: impl FnMut(u32, &mut Cursor<'a>) -> Result<bool, Fault>,
) -> Result<UnknownTags<'a>, Fault> {
    if let Reading::AsBroker { known_tags } = layout.reading {
        return decode_tags_as_broker(cursor, known_tags, known);
    }
    let mut unknown = UnknownTags::default();
    let mut last = None;
    for _ in 0..cursor.uvarint()? {
        let tag = cursor.uvarint()?;
        if last.replace(tag).is_some_and(|last| last >= tag) {
            return Err(cursor.fault(FaultKind::TagOrder(tag)));
        }
        let size = cursor.uvarint()? as usize;
        let start = cursor.at() as u64;
        let bytes = cursor.take(size)?;
        let mut inside = Cursor::new(bytes);
        let moved = |fault: Fault| fault.kind.at(start + fault.at);
        if !known(tag, &mut inside).map_err(moved)? {
            unknown.push(tag, bytes);
        } else if inside.remaining() > 0 {
            return Err(moved(inside.fault(FaultKind::TrailingBytes(inside.remaining() as u64))));
        }
    }
    Ok(unknown)
}

/// As [`decode_tags`] in [`Reading::AsBroker`]. Numbers are signed there: fewer than no fields are none.
fn decode_tags_as_broker<'a>(
    cursor: &mut Cursor<'a>,
    known_tags: u32,
    mut known: impl FnMut(u32, &mut Cursor<'a>) -> Result<bool, Fault>,
) -> Result<UnknownTags<'a>, Fault> {
    let mut unknown = UnknownTags::default();
    for _ in 0..cursor.uvarint_of_low_bits()? as i32 {
        let tag = cursor.uvarint_of_low_bits()?;
        let size = cursor.uvarint_of_low_bits()? as usize;
        if tag >= known_tags || !known(tag, cursor)? {
            unknown.push(tag, cursor.take(size)?);
        }
    }
    Ok(unknown)
}

/// Writes the tagged fields at the end of a flexible struct, ascending by tag.
pub fn encode_tags(out: &mut Vec<u8>, mut known: Vec<(u32, Vec<u8>)>, unknown: &UnknownTags<'_>) {
    known.extend(unknown.iter().map(|(tag, bytes)| (tag, bytes.to_vec())));
    known.sort_by_key(|(tag, _)| *tag);
    put_uvarint(out, known.len() as u32);
    for (tag, bytes) in known {
        put_uvarint(out, tag);
        put_uvarint(out, bytes.len() as u32);
        out.extend_from_slice(&bytes);
    }
}
