//! The notation in which messages are declared, and what follows from a declaration.
//!
//! ```text
//! message! {
//!     /// What it is.
//!     OffsetCommitValue 0..4 flexible 4 {
//!         offset: i64 [0+],                      // in every version from 0 on
//!         leader_epoch: i32 [3+] = -1,           // -1 where the version lacks it
//!         expire_timestamp: i64 [1] = -1,        // in version 1 only
//!         topic_id: Uuid [4+] tag 0,             // a tagged field
//!     }
//! }
//! ```
//!
//! Decode, encode, JSON, field table and samples all come from it. A struct inside a message is declared the same
//! way with `part`, without versions of its own: it is read in its message's.
//! Must not know: any particular message.

/// Declares messages (`Name first..last flexible n { … }`, or `… inflexible { … }`) and their parts (`part Name { … }`).
macro_rules! message {
    ($(#[doc = $about:literal])+ $name:ident $first:literal .. $last:literal flexible $flexible:literal { $($fields:tt)* } $($rest:tt)*) => {
        $crate::schema::define::structure! { [$($about)+] $name { $($fields)* } }
        $crate::schema::define::versions_of! { $name $first $last Some($flexible), [$($about)+] }
        $crate::schema::define::message! { $($rest)* }
    };
    ($(#[doc = $about:literal])+ $name:ident $first:literal .. $last:literal inflexible { $($fields:tt)* } $($rest:tt)*) => {
        $crate::schema::define::structure! { [$($about)+] $name { $($fields)* } }
        $crate::schema::define::versions_of! { $name $first $last None, [$($about)+] }
        $crate::schema::define::message! { $($rest)* }
    };
    ($(#[doc = $about:literal])+ part $name:ident { $($fields:tt)* } $($rest:tt)*) => {
        $crate::schema::define::structure! { [$($about)+] $name { $($fields)* } }
        $crate::schema::define::message! { $($rest)* }
    };
    () => {};
}

/// What makes a struct a whole message: its versions.
macro_rules! versions_of {
    ($name:ident $first:literal $last:literal $flexible:expr, [$($about:literal)+]) => {
        impl<'a> $crate::schema::Message<'a> for $name<'a> {
            const FIRST: i16 = $first;
            const LAST: i16 = $last;
            const FLEXIBLE: Option<i16> = $flexible;
            const ABOUT: &'static str = concat!($($about),+);
        }
    };
}

/// A struct with everything that its fields give it.
macro_rules! structure {
    ([$($about:literal)+] $name:ident { $(
        $(#[doc = $field_about:literal])*
        $field:ident: $type:ty [$($versions:tt)+] $(tag $tag:literal)? $(= $default:literal)?
    ),* $(,)? }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)] // the names of Kafka's own schemas; units and ranges stand in the message's text
        pub struct $name<'a> {
            $( $(#[doc = $field_about])* pub $field: $type, )*
            /// Tagged fields that this release has no name for.
            pub unknown_tags: $crate::schema::wire::UnknownTags<'a>,
        }

        #[allow(unused_variables, unused_mut)]
        impl<'a> $crate::schema::wire::Field<'a> for $name<'a> {
            fn absent() -> Self {
                $name {
                    $( $field: $crate::schema::define::default_of!($type $(, $default)?), )*
                    unknown_tags: Default::default(),
                }
            }

            #[inline]
            fn decode(
                cursor: &mut $crate::bytes::Cursor<'a>,
                layout: $crate::schema::wire::Layout,
            ) -> Result<Self, $crate::fault::Fault> {
                $(
                    let mut $field = $crate::schema::define::if_untagged!([$($tag)?] {
                        if $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                            <$type as $crate::schema::wire::Field>::decode(cursor, layout)?
                        } else {
                            $crate::schema::define::default_of!($type $(, $default)?)
                        }
                    } else {
                        $crate::schema::define::tag_default_of!($type $(, $default)?)
                    });
                )*
                let unknown_tags = if layout.flexible {
                    $crate::schema::wire::decode_tags(cursor, layout, |tag, inside| {
                        $( $crate::schema::define::if_untagged!([$($tag)?] {} else {
                            if [$(tag == $tag,)?] == [true] && $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                                $field = <$type as $crate::schema::wire::Field>::decode_tagged(inside, layout)?;
                                return Ok(true);
                            }
                        }); )*
                        Ok(false)
                    })?
                } else {
                    Default::default()
                };
                Ok($name { $($field,)* unknown_tags })
            }

            fn encode(&self, out: &mut Vec<u8>, layout: $crate::schema::wire::Layout) {
                $( $crate::schema::define::if_untagged!([$($tag)?] {
                    if $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                        self.$field.encode(out, layout);
                    }
                } else {}); )*
                if layout.flexible {
                    let mut known = Vec::new();
                    $( $crate::schema::define::if_untagged!([$($tag)?] {} else {
                        let default = $crate::schema::define::tag_default_of!($type $(, $default)?);
                        if $crate::schema::define::in_versions!(layout.version, $($versions)+) && self.$field != default {
                            let mut bytes = Vec::new();
                            self.$field.encode_tagged(&mut bytes, layout);
                            $( known.push(($tag, bytes)); )?
                        }
                    }); )*
                    $crate::schema::wire::encode_tags(out, known, &self.unknown_tags);
                }
            }

            fn json(&self, json: &mut $crate::json::Json, layout: $crate::schema::wire::Layout) {
                let mut first = true;
                $(
                    let shown = $crate::schema::define::if_untagged!([$($tag)?] { true } else {
                        !self.$field.hidden_when_tagged(&$crate::schema::define::tag_default_of!($type $(, $default)?))
                    });
                    if shown && $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                        $crate::schema::define::json_field_name!(json, first, $field);
                        self.$field.json(json, layout);
                    }
                )*
                $crate::schema::define::json_open_if(json, first);
                $crate::schema::define::json_unknown_tags(json, &self.unknown_tags);
                json.raw("}");
            }

            // Wherever it is asked for in what is released: elsewhere that would only take the compiler's time.
            #[cfg_attr(debug_assertions, inline)]
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn skip(bytes: &'a [u8], at: usize, layout: $crate::schema::wire::Layout) -> Option<usize> {
                $( let at = $crate::schema::define::if_untagged!([$($tag)?] {
                    if $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                        <$type as $crate::schema::wire::Field>::skip(bytes, at, layout)?
                    } else {
                        at
                    }
                } else { at }); )*
                if !layout.flexible {
                    return Some(at);
                }
                $crate::schema::skip::tags(bytes, at, |tag, inside| {
                    $( $crate::schema::define::if_untagged!([$($tag)?] {} else {
                        if [$(tag == $tag,)?] == [true] && $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                            return <$type as $crate::schema::wire::Field>::fills_tag(inside, layout).then_some(true);
                        }
                    }); )*
                    Some(false)
                })
            }

            // Tagged fields stand behind the others in every declaration, as they do on the wire.
            fn transcode(
                cursor: &mut $crate::bytes::Cursor<'a>,
                layout: $crate::schema::wire::Layout,
                json: &mut $crate::json::Json,
            ) -> Result<(), $crate::fault::Fault> {
                let mut first = true;
                $( $crate::schema::define::if_untagged!([$($tag)?] {
                    if $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                        <$type as $crate::schema::wire::Field>::transcode_named(
                            [$crate::schema::define::json_key!(b'{', $field), $crate::schema::define::json_key!(b',', $field)],
                            std::mem::take(&mut first),
                            cursor,
                            layout,
                            json,
                        )?;
                    }
                } else {}); )*
                if layout.flexible {
                    $( $crate::schema::define::if_untagged_let!([$($tag)?] $field =
                        $crate::schema::define::tag_default_of!($type $(, $default)?)); )*
                    let unknown_tags = $crate::schema::wire::decode_tags(cursor, layout, |tag, inside| {
                        $( $crate::schema::define::if_untagged!([$($tag)?] {} else {
                            if [$(tag == $tag,)?] == [true] && $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                                $field = <$type as $crate::schema::wire::Field>::decode_tagged(inside, layout)?;
                                return Ok(true);
                            }
                        }); )*
                        Ok(false)
                    })?;
                    $( $crate::schema::define::if_untagged!([$($tag)?] {} else {
                        let default = $crate::schema::define::tag_default_of!($type $(, $default)?);
                        let shown = $crate::schema::define::in_versions!(layout.version, $($versions)+);
                        if shown && !$crate::schema::wire::Field::hidden_when_tagged(&$field, &default) {
                            $crate::schema::define::json_field_name!(json, first, $field);
                            $crate::schema::wire::Field::json(&$field, json, layout);
                        }
                    }); )*
                    $crate::schema::define::json_open_if(json, std::mem::take(&mut first));
                    $crate::schema::define::json_unknown_tags(json, &unknown_tags);
                }
                $crate::schema::define::json_open_if(json, first);
                json.raw("}");
                Ok(())
            }

            fn sample(
                sampler: &mut $crate::schema::sample::Sampler,
                layout: $crate::schema::wire::Layout,
            ) -> Self {
                $(
                    let $field = if $crate::schema::define::in_versions!(layout.version, $($versions)+) {
                        <$type as $crate::schema::wire::Field>::sample(sampler, layout)
                    } else {
                        $crate::schema::define::default_of!($type $(, $default)?)
                    };
                )*
                let mut unknown_tags = $crate::schema::wire::UnknownTags::default();
                if layout.flexible && sampler.below(4) == 0 {
                    unknown_tags.push(1000, sampler.text().as_bytes());
                }
                $name { $($field,)* unknown_tags }
            }

            fn doc() -> $crate::schema::doc::TypeDoc {
                let fields = vec![ $( $crate::schema::doc::FieldDoc {
                    name: $crate::schema::define::json_name!($field),
                    kind: <$type as $crate::schema::wire::Field>::doc(),
                    since: $crate::schema::define::since!($($versions)+),
                    until: $crate::schema::define::until!($($versions)+),
                    tag: None $(.or(Some($tag)))?,
                    default: None $(.or(Some(stringify!($default))))?,
                }, )* ];
                $crate::schema::doc::TypeDoc { fields, ..$crate::schema::doc::TypeDoc::plain(stringify!($name)) }
            }
        }

        impl<'a> $crate::schema::wire::Nullable<'a> for $name<'a> {
            fn decode_nullable(
                cursor: &mut $crate::bytes::Cursor<'a>,
                layout: $crate::schema::wire::Layout,
            ) -> Result<Option<Self>, $crate::fault::Fault> {
                if cursor.i8()? < 0 { Ok(None) } else { $crate::schema::wire::Field::decode(cursor, layout).map(Some) }
            }
            fn encode_null(out: &mut Vec<u8>, _: $crate::schema::wire::Layout) {
                out.push(0xff);
            }
            fn encode_present(&self, out: &mut Vec<u8>, layout: $crate::schema::wire::Layout) {
                out.push(1);
                $crate::schema::wire::Field::encode(self, out, layout);
            }
            fn skip_nullable(bytes: &'a [u8], at: usize, layout: $crate::schema::wire::Layout) -> Option<usize> {
                let mark = *bytes.get(at)?;
                if mark >= 0x80 {
                    Some(at + 1)
                } else {
                    <Self as $crate::schema::wire::Field>::skip(bytes, at + 1, layout)
                }
            }
            fn transcode_nullable(
                cursor: &mut $crate::bytes::Cursor<'a>,
                layout: $crate::schema::wire::Layout,
                json: &mut $crate::json::Json,
            ) -> Result<(), $crate::fault::Fault> {
                if cursor.i8()? < 0 {
                    json.raw("null");
                    return Ok(());
                }
                <Self as $crate::schema::wire::Field>::transcode(cursor, layout, json)
            }
            fn decode_nullable_tagged(
                cursor: &mut $crate::bytes::Cursor<'a>,
                layout: $crate::schema::wire::Layout,
            ) -> Result<Option<Self>, $crate::fault::Fault> {
                if cursor.uvarint()? == 0 { Ok(None) } else { $crate::schema::wire::Field::decode(cursor, layout).map(Some) }
            }
            fn encode_nullable_tagged(value: &Option<Self>, out: &mut Vec<u8>, layout: $crate::schema::wire::Layout) {
                match value {
                    Some(value) => $crate::schema::wire::Nullable::encode_present(value, out, layout),
                    None => out.push(0),
                }
            }
            // Where a tagged struct is missing, a broker takes it for one of defaults, not for null: seen with 4.0 and 4.4,
            // which take a member of a consumer group without ClassicMemberMetadata for a classic one.
            fn tag_default() -> Option<Self> {
                Some($crate::schema::wire::Field::absent())
            }
            fn nullable_hidden_when_tagged(value: &Option<Self>) -> bool {
                *value == <Self as $crate::schema::wire::Nullable>::tag_default()
            }
        }
    };
}

/// The first block for an ordinary field, the second for one with a tag.
macro_rules! if_untagged {
    ([] { $($yes:tt)* } else { $($no:tt)* }) => {{ $($yes)* }};
    ([$tag:literal] { $($yes:tt)* } else { $($no:tt)* }) => {{ $($no)* }};
}

/// A variable for a field with a tag; nothing for an ordinary one.
macro_rules! if_untagged_let {
    ([] $field:ident = $default:expr) => {};
    ([$tag:literal] $field:ident = $default:expr) => {
        let mut $field = $default;
    };
}

/// What stands in for a field that is absent.
macro_rules! default_of {
    ($type:ty) => {
        <$type as $crate::schema::wire::Field>::absent()
    };
    ($type:ty, $default:literal) => {
        $default
    };
}

/// As [`default_of`], of a tagged field.
macro_rules! tag_default_of {
    ($type:ty) => {
        <$type as $crate::schema::wire::Field>::tag_default()
    };
    ($type:ty, $default:literal) => {
        $default
    };
}

/// Whether a version is in a range: `0+`, `1`, `0-3`.
macro_rules! in_versions {
    ($version:expr, 0 +) => {
        true
    };
    ($version:expr, $since:literal +) => {
        $version >= $since
    };
    ($version:expr, $only:literal) => {
        $version == $only
    };
}

/// First version of a range.
macro_rules! since {
    ($since:literal +) => {
        $since
    };
    ($only:literal) => {
        $only
    };
}

/// Last version of a range.
macro_rules! until {
    ($since:literal +) => {
        None
    };
    ($only:literal) => {
        Some($only)
    };
}

/// Writes a field's name, behind a comma, or behind the bracket that opens the object if it is the first.
macro_rules! json_field_name {
    ($json:ident, $first:ident, $field:ident) => {
        if std::mem::replace(&mut $first, false) {
            $json.raw($crate::schema::define::json_key!(b'{', $field));
        } else {
            $json.raw($crate::schema::define::json_key!(b',', $field));
        }
    };
}

/// `topic_id` as `topicId`.
macro_rules! json_name {
    ($field:ident) => {{
        const KEY: &str = $crate::schema::define::json_key!(b',', $field);
        $crate::schema::define::without_quotes(KEY)
    }};
}

/// `topic_id` as `,"topicId":`, made when the program is compiled.
macro_rules! json_key {
    ($before:literal, $field:ident) => {{
        const SNAKE: &str = stringify!($field);
        const KEY: [u8; $crate::schema::define::camel_key_len(SNAKE)] =
            $crate::schema::define::camel_key($before, SNAKE);
        const TEXT: &str = match std::str::from_utf8(&KEY) {
            Ok(text) => text,
            Err(_) => "",
        };
        TEXT
    }};
}

pub(crate) use {
    default_of, if_untagged, if_untagged_let, in_versions, json_field_name, json_key, json_name, message, since,
    structure, tag_default_of, until, versions_of,
};

use super::wire::UnknownTags;
use crate::json::{Json, Style};

/// How long `,"camelCase":` is for a snake case name.
pub(crate) const fn camel_key_len(snake: &str) -> usize {
    let bytes = snake.as_bytes();
    let (mut i, mut len) = (0, 4);
    while i < bytes.len() {
        if bytes[i] != b'_' {
            len += 1;
        }
        i += 1;
    }
    len
}

/// `,"camelCase":` for a snake case name, or with something else before it. A name that did not fit would not compile.
pub(crate) const fn camel_key<const N: usize>(before: u8, snake: &str) -> [u8; N] {
    let bytes = snake.as_bytes();
    let mut key = [b'"'; N];
    key[0] = before;
    let (mut from, mut to) = (0, 2);
    while from < bytes.len() {
        if bytes[from] == b'_' {
            from += 1;
            key[to] = bytes[from].to_ascii_uppercase();
        } else {
            key[to] = bytes[from];
        }
        from += 1;
        to += 1;
    }
    key[N - 1] = b':';
    key
}

/// Opens an object that is to be closed without a field.
#[inline]
pub(crate) fn json_open_if(json: &mut Json, first: bool) {
    if first {
        json.raw("{");
    }
}

/// `,"name":` as `name`.
pub(crate) fn without_quotes(key: &'static str) -> &'static str {
    key.trim_matches([',', '"', ':'])
}

/// Shows tagged fields without a name as `"unknownTags":{"7":"base64"}`, where there are any and nothing may be lost.
pub(crate) fn json_unknown_tags(json: &mut Json, tags: &UnknownTags<'_>) {
    if json.style() == Style::Kafka || tags.iter().next().is_none() {
        return;
    }
    json.raw(",\"unknownTags\":{");
    for (tag, bytes) in tags.iter() {
        json.raw("\"");
        json.int(tag);
        json.raw("\":");
        json.base64(bytes);
        json.raw(",");
    }
    json.close(b'}');
}
