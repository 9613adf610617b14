//! What embedded payloads are made of: counted strings, bytes and arrays, read and shown the same way everywhere.
//!
//! Must not know: any one payload. Nothing here allocates more than a small multiple of the bytes that are there.

use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use crate::json::Json;

/// A value inside a payload: how it is read and how it is shown. `&[u8]` is a string (int16 length).
pub trait Wire<'a>: Sized {
    /// The fewest bytes such a value takes, at least 1: bounds what an array's count may reserve.
    const LEAST: usize;

    /// Reads one value. Lengths below zero are null, as Kafka reads them.
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault>;

    /// Writes it.
    fn json(&self, json: &mut Json);
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl<'a> Wire<'a> for $type {
            const LEAST: usize = size_of::<$type>();

            fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
                cursor.$type()
            }

            fn json(&self, json: &mut Json) {
                json.int(*self);
            }
        }
    )*};
}
integers!(i8 i16 i32 i64);

/// Bytes (int32 length), shown as base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blob<'a>(pub &'a [u8]);

/// Text with an int32 length, which Streams calls bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongText<'a>(pub &'a [u8]);

/// Text with an unsigned 16-bit length, as Java's `writeUTF` makes it (modified UTF-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Utf<'a>(pub &'a [u8]);

/// Sixteen bytes, shown as Kafka shows a uuid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uuid<'a>(pub Option<&'a [u8; 16]>);

/// An array of 32-bit integers, left where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ints<'a>(&'a [[u8; 4]]);

impl<'a> Ints<'a> {
    /// The integers, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i32> + Clone + use<'a> {
        self.0.iter().map(|bytes| i32::from_be_bytes(*bytes))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A length that may be null, checked against what is left where each unit takes `least` bytes.
fn counted(cursor: &mut Cursor<'_>, n: i32, start: usize, least: usize) -> Result<Option<usize>, Fault> {
    match usize::try_from(n) {
        Err(_) => Ok(None),
        Ok(n) if n > cursor.remaining() / least => Err(FaultKind::BadLength(n as i64).at(start as u64)),
        Ok(n) => Ok(Some(n)),
    }
}

/// Reads something nullable where null is not allowed.
fn present<'a, T>(cursor: &mut Cursor<'a>) -> Result<T, Fault>
where
    Option<T>: Wire<'a>,
{
    let start = cursor.at() as u64;
    Option::<T>::read(cursor)?.ok_or_else(|| FaultKind::UnexpectedNull.at(start))
}

/// Reads bytes behind an int32 length.
fn long_bytes<'a>(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Fault> {
    let start = cursor.at();
    let n = cursor.i32()?;
    counted(cursor, n, start, 1)?.map(|n| cursor.take(n)).transpose()
}

impl<'a> Wire<'a> for Option<&'a [u8]> {
    const LEAST: usize = 2;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let start = cursor.at();
        let n = i32::from(cursor.i16()?);
        counted(cursor, n, start, 1)?.map(|n| cursor.take(n)).transpose()
    }

    fn json(&self, json: &mut Json) {
        or_null(self.as_ref(), json);
    }
}

impl<'a> Wire<'a> for &'a [u8] {
    const LEAST: usize = 2;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        present(cursor)
    }

    fn json(&self, json: &mut Json) {
        json.string(self);
    }
}

impl<'a> Wire<'a> for Option<Blob<'a>> {
    const LEAST: usize = 4;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(long_bytes(cursor)?.map(Blob))
    }

    fn json(&self, json: &mut Json) {
        match self {
            Some(blob) => json.base64(blob.0),
            None => json.raw("null"),
        }
    }
}

impl<'a> Wire<'a> for Option<LongText<'a>> {
    const LEAST: usize = 4;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(long_bytes(cursor)?.map(LongText))
    }

    fn json(&self, json: &mut Json) {
        or_null(self.as_ref(), json);
    }
}

impl<'a> Wire<'a> for LongText<'a> {
    const LEAST: usize = 4;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        present(cursor)
    }

    fn json(&self, json: &mut Json) {
        json.string(self.0);
    }
}

impl<'a> Wire<'a> for Utf<'a> {
    const LEAST: usize = 2;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let n = cursor.u16()?;
        Ok(Utf(cursor.take(usize::from(n))?))
    }

    fn json(&self, json: &mut Json) {
        json.string(self.0);
    }
}

impl<'a> Wire<'a> for Uuid<'a> {
    const LEAST: usize = 16;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        Ok(Uuid(Some(cursor.array()?)))
    }

    fn json(&self, json: &mut Json) {
        match self.0 {
            Some(id) => json.uuid(id),
            None => json.raw("null"),
        }
    }
}

impl<'a> Wire<'a> for Ints<'a> {
    const LEAST: usize = 4;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let start = cursor.at();
        let n = cursor.i32()?;
        let n = counted(cursor, n, start, 4)?.ok_or_else(|| FaultKind::UnexpectedNull.at(start as u64))?;
        Ok(Ints(cursor.take(n * 4)?.as_chunks().0))
    }

    fn json(&self, json: &mut Json) {
        list(json, self.iter(), |json, n| json.int(n));
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for Option<Vec<T>> {
    const LEAST: usize = 4;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let start = cursor.at();
        let n = cursor.i32()?;
        let Some(n) = counted(cursor, n, start, T::LEAST)? else { return Ok(None) };
        let mut items = Vec::with_capacity(n);
        for _ in 0..n {
            items.push(T::read(cursor)?);
        }
        Ok(Some(items))
    }

    fn json(&self, json: &mut Json) {
        or_null(self.as_ref(), json);
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for Vec<T> {
    const LEAST: usize = 4;

    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        present(cursor)
    }

    fn json(&self, json: &mut Json) {
        list(json, self, |json, item| item.json(json));
    }
}

fn or_null<'a, T: Wire<'a>>(value: Option<&T>, json: &mut Json) {
    match value {
        Some(value) => value.json(json),
        None => json.raw("null"),
    }
}

/// Writes a JSON array.
pub fn list<T>(json: &mut Json, items: impl IntoIterator<Item = T>, each: impl Fn(&mut Json, T)) {
    json.raw("[");
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            json.raw(",");
        }
        each(json, item);
    }
    json.raw("]");
}

/// A JSON object being written.
pub struct Object<'j> {
    json: &'j mut Json,
    empty: bool,
}

impl<'j> Object<'j> {
    /// Begins it.
    pub fn open(json: &'j mut Json) -> Self {
        json.raw("{");
        Object { json, empty: true }
    }

    /// Begins it with what every payload starts with.
    pub fn of_kind(json: &'j mut Json, kind: &str) -> Self {
        let mut object = Object::open(json);
        object.key(",\"kind\":").string(kind.as_bytes());
        object
    }

    /// Writes a field's name; the value is to follow. Names are our own and need no escapes.
    pub fn name(&mut self, name: &str) -> &mut Json {
        self.json.raw(if self.empty { "\"" } else { ",\"" });
        self.empty = false;
        self.json.raw(name);
        self.json.raw("\":");
        self.json
    }

    /// As [`Self::name`], of `,"name":`: one piece, whose length is known when the program is compiled.
    #[inline(always)]
    pub fn key(&mut self, key: &'static str) -> &mut Json {
        self.json.raw(if self.empty { key.get(1..).unwrap_or_default() } else { key });
        self.empty = false;
        self.json
    }

    /// Writes a whole field.
    pub fn field<'a>(&mut self, name: &str, value: &impl Wire<'a>) {
        value.json(self.name(name));
    }

    /// Writes what is known of the end of a payload, if there is anything to say.
    pub fn rest(&mut self, missing: &[&str], trailing: usize) {
        if !missing.is_empty() {
            list(self.name("missing"), missing, |json, name| json.string(name.as_bytes()));
        }
        if trailing > 0 {
            self.name("trailing").int(trailing);
        }
    }

    /// Ends it.
    pub fn close(self) {
        self.json.raw("}");
    }
}
