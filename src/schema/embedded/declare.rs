//! How a payload is declared: one list of fields gives the struct, its reader and its JSON.
//!
//! Must not know: any one payload.

use super::pieces::Wire;
use crate::bytes::Cursor;
use crate::fault::Fault;
use std::ops::RangeInclusive;

/// Reads the fields of a versioned payload, in order.
pub struct Reader<'a> {
    /// Where it stands.
    pub cursor: Cursor<'a>,
    /// The payload's version. Below zero counts as zero, as Kafka's own dump tool has it.
    pub version: i32,
    /// Names of fields that the version has and the bytes lack.
    pub missing: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// Goes on behind the version.
    pub fn new(cursor: Cursor<'a>, version: i32) -> Self {
        Reader { cursor, version: version.max(0), missing: Vec::new() }
    }

    /// A field that must be there if the version has it.
    pub fn needed<T: Wire<'a>>(&mut self, _: &'static str, of: RangeInclusive<i32>, other: T) -> Result<T, Fault> {
        if of.contains(&self.version) { T::read(&mut self.cursor) } else { Ok(other) }
    }

    /// A field that writers may leave out together with all that follow: the payload just ends before it.
    pub fn optional<T: Wire<'a>>(&mut self, name: &'static str, of: RangeInclusive<i32>, other: T) -> Result<T, Fault> {
        if of.contains(&self.version) && self.cursor.remaining() == 0 {
            self.missing.push(name);
            return Ok(other);
        }
        self.needed(name, of, other)
    }
}

/// Declares a payload that starts with its version: struct, reader and JSON from one list of fields.
///
/// `field "jsonName" versions, needed|optional, default => type;`
macro_rules! payload {
    ($(#[$doc:meta])* $name:ident, $version:ident {
        $($(#[$about:meta])* $field:ident $json:literal $of:expr, $how:ident, $other:expr => $type:ty;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name<'a> {
            /// As the bytes say, also where it is newer than what is known here.
            pub version: $version,
            $($(#[$about])* pub $field: $type,)*
            /// Names of fields that this version has and the bytes lack; they hold their defaults.
            pub missing: Vec<&'static str>,
            /// Bytes left over behind the last known field.
            pub trailing: usize,
        }

        impl<'a> $name<'a> {
            /// Reads it: the known prefix of any version. Fails where a field is cut or null against the rules.
            pub fn read(bytes: &'a [u8]) -> Result<Self, $crate::fault::Fault> {
                let mut cursor = $crate::bytes::Cursor::new(bytes);
                let version = cursor.$version()?;
                let mut reader = $crate::schema::embedded::declare::Reader::new(cursor, i32::from(version));
                $(let $field = reader.$how($json, $of, $other)?;)*
                Ok($name { version, $($field,)* trailing: reader.cursor.remaining(), missing: reader.missing })
            }

            /// Writes the fields that its version has.
            fn fields(&self, object: &mut $crate::schema::embedded::pieces::Object<'_>) {
                let version = i32::from(self.version).max(0);
                $(if ($of).contains(&version) {
                    $crate::schema::embedded::pieces::Wire::json(
                        &self.$field,
                        object.key(concat!(",\"", $json, "\":")),
                    );
                })*
            }

            /// Writes it as an object that names its kind, its version, and what is missing or left over.
            pub fn json(&self, kind: &str, json: &mut $crate::json::Json) {
                let mut object = $crate::schema::embedded::pieces::Object::of_kind(json, kind);
                object.key(",\"version\":").int(self.version);
                self.fields(&mut object);
                object.rest(&self.missing, self.trailing);
                object.close();
            }
        }
    };
}
pub(super) use payload;

/// Declares a struct inside payloads: struct, reader and JSON from one list of fields.
macro_rules! piece {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? {
        $($(#[$about:meta])* $field:ident $json:literal => $type:ty;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name $(<$life>)? {
            $($(#[$about])* pub $field: $type,)*
        }

        impl<'a> $crate::schema::embedded::pieces::Wire<'a> for $name $(<$life>)? {
            const LEAST: usize = 0 $(+ <$type as $crate::schema::embedded::pieces::Wire<'a>>::LEAST)*;

            fn read(cursor: &mut $crate::bytes::Cursor<'a>) -> Result<Self, $crate::fault::Fault> {
                $(let $field = $crate::schema::embedded::pieces::Wire::read(cursor)?;)*
                Ok($name { $($field),* })
            }

            fn json(&self, json: &mut $crate::json::Json) {
                let mut object = $crate::schema::embedded::pieces::Object::open(json);
                $($crate::schema::embedded::pieces::Wire::json(
                    &self.$field,
                    object.key(concat!(",\"", $json, "\":")),
                );)*
                object.close();
            }
        }
    };
}
pub(super) use piece;

/// Any version from this one on.
pub const fn since(version: i32) -> RangeInclusive<i32> {
    version..=i32::MAX
}
