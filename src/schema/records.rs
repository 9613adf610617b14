//! The table of record types: which key each has, and which shapes its value may have, newest first.
//!
//! A key is `int16 type` and fields, a value `int16 version` and fields; a null value is a tombstone.
//! Must not know: the fields of any message.

use super::classic::*;
use super::consumer::*;
use super::doc::MessageDoc;
use super::offsets::*;
use super::preview::*;
use super::share::*;
use super::streams::*;
use super::{Message, decode_body, skip_body, transcode_body};
use crate::bytes::Cursor;
use crate::fault::{Fault, FaultKind};
use crate::json::Json;
use crate::schema::sample::Sampler;

/// Declares the record types: `number Name(Key) { Shape: Message, OlderShape: Message = "whose shape" }`.
macro_rules! records {
    ($( $number:literal $type:ident($key_variant:ident $key:ident) { $($variant:ident: $(@$flat:ident)? $shape:ident $(= $whose:literal)?),+ $(,)? } )+) => {
        /// A type of record.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        #[allow(missing_docs)] // Kafka's own names
        pub enum RecordType { $($type = $number,)+ }

        impl RecordType {
            /// Every type, by number.
            pub const ALL: &'static [RecordType] = &[$(RecordType::$type),+];

            /// The type of a number.
            #[inline]
            pub fn from_number(number: i16) -> Option<Self> {
                match number {
                    $($number => Some(RecordType::$type),)+
                    _ => None,
                }
            }

            /// Kafka's name for it, as in `ConsumerGroupMemberMetadata`.
            pub fn name(self) -> &'static str {
                match self { $(RecordType::$type => stringify!($type),)+ }
            }

            /// The key's field table.
            pub fn key_doc(self) -> MessageDoc {
                match self { $(RecordType::$type => $key::message_doc(),)+ }
            }

            /// The field tables of the value's shapes, newest first; the older ones with whose they are.
            pub fn value_docs(self) -> Vec<(Option<&'static str>, MessageDoc)> {
                match self { $(RecordType::$type => vec![$((whose!($($whose)?), $shape::message_doc())),+],)+ }
            }

            #[inline]
            fn decode_key_fields<'a>(self, cursor: &mut Cursor<'a>) -> Result<(KeyFields<'a>, &'a [u8]), Fault> {
                match self { $(
                    RecordType::$type => decode_body::<$key<'a>>(cursor, 0).map(|(key, rest)| (KeyFields::$key_variant(key), rest)),
                )+ }
            }

            /// Tries the shapes in turn: the first that takes every byte, else the newest that fits at all.
            #[inline]
            fn decode_shapes<'a>(self, bytes: &'a [u8], version: i16) -> Result<VersionedValue<'a>, Fault> {
                match self { $(RecordType::$type => {
                    let mut best: Option<Result<VersionedValue<'a>, Fault>> = None;
                    $(
                        match decode_body::<$shape<'a>>(&mut behind_version(bytes), version) {
                            Ok((data, trailing)) => {
                                let found = VersionedValue { version, whose: whose!($($whose)?), data: Value::$variant(data.into()), trailing };
                                if trailing.is_empty() {
                                    return Ok(found);
                                }
                                if !matches!(best, Some(Ok(_))) {
                                    best = Some(Ok(found));
                                }
                            }
                            Err(fault) if best.is_none() => best = Some(Err(fault)),
                            Err(_) => {}
                        }
                    )+
                    best.unwrap_or_else(|| Err(FaultKind::UnknownVersion(version).at(0)))
                })+ }
            }

            /// As `decode_shapes`, but shows what it reads at once.
            #[inline]
            fn transcode_shapes<'a>(
                self,
                bytes: &'a [u8],
                version: i16,
                json: &mut Json,
            ) -> Result<Transcoded<'a>, Fault> {
                let start = json.bytes().len();
                match self { $(RecordType::$type => {
                    $(
                        match transcode_body::<$shape<'a>>(&mut behind_version(bytes), version, json) {
                            Ok([]) => return Ok(Transcoded { version, whose: whose!($($whose)?), trailing: &[] }),
                            _ => json.truncate(start),
                        }
                    )+
                })+ }
                self.transcode_best(bytes, version, json)
            }

            /// No shape fits to the last byte, which is rare: the slow way says what fits best.
            #[cold]
            #[inline(never)]
            fn transcode_best<'a>(self, bytes: &'a [u8], version: i16, json: &mut Json) -> Result<Transcoded<'a>, Fault> {
                let value = self.decode_shapes(bytes, version)?;
                value.data.json(json, version);
                Ok(Transcoded { version, whose: value.whose, trailing: value.trailing })
            }

            /// How many bytes the best shape leaves over, as `decode_shapes` would choose it.
            #[inline(always)]
            fn skip_shapes(self, rest: &[u8], version: i16) -> Option<usize> {
                match self { $(RecordType::$type => {
                    let mut best = None;
                    $(
                        match skip_body::<$shape<'_>>(rest, version) {
                            Some(0) => return Some(0),
                            left => best = best.or(left),
                        }
                    )+
                    best
                })+ }
            }

            #[inline(always)]
            fn skip_key_fields(self, rest: &[u8]) -> Option<usize> {
                match self { $(RecordType::$type => skip_body::<$key<'_>>(rest, 0),)+ }
            }

            /// Makes up a value of each version of each shape.
            pub fn sample_values(self, sampler: &mut Sampler) -> Vec<VersionedValue<'static>> {
                match self { $(RecordType::$type => {
                    let mut samples = Vec::new();
                    $(for version in $shape::FIRST..=$shape::LAST {
                        samples.push(VersionedValue {
                            version,
                            whose: whose!($($whose)?),
                            data: Value::$variant(<$shape as super::wire::Field>::sample(sampler, $shape::layout(version)).into()),
                            trailing: &[],
                        });
                    })+
                    samples
                })+ }
            }

            /// Makes up a key.
            pub fn sample_key(self, sampler: &mut Sampler) -> Key<'static> {
                let fields = match self { $(RecordType::$type =>
                    KeyFields::$key_variant(super::wire::Field::sample(sampler, $key::layout(0))),
                )+ };
                Key { record_type: self, fields, trailing: &[] }
            }
        }

        /// A decoded value, by its shape.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)] // a variant a shape; the shapes are documented
        pub enum Value<'a> { $($($variant(held!($($flat)? $shape<'a>)),)+)+ }

        impl<'a> Value<'a> {
            fn encode(&self, out: &mut Vec<u8>, version: i16) {
                match self { $($(Value::$variant(data) => <$shape as super::wire::Field>::encode(data, out, $shape::layout(version)),)+)+ }
            }

            /// Shows the fields as Kafka's JSON does.
            #[inline]
            pub fn json(&self, json: &mut Json, version: i16) {
                match self { $($(Value::$variant(data) => <$shape as super::wire::Field>::json(data, json, $shape::layout(version)),)+)+ }
            }
        }
    };
}

/// A cursor at a value's first field. Made anew for each shape: a copy of one would go through memory.
#[inline(always)]
fn behind_version(bytes: &[u8]) -> Cursor<'_> {
    let mut cursor = Cursor::new(bytes);
    // Whoever asks has read the version.
    let _ = cursor.i16();
    cursor
}

/// How a shape is held in [`Value`]: in a box, so that the enum stays as small as its commonest case, which is flat.
macro_rules! held {
    (flat $($shape:tt)+) => { $($shape)+ };
    ($($shape:tt)+) => { Box<$($shape)+> };
}

macro_rules! whose {
    () => {
        None
    };
    ($whose:literal) => {
        Some($whose)
    };
}

records! {
    0 LegacyOffsetCommit(Offset OffsetCommitKey) {
        LegacyOffsetCommit: LegacyOffsetCommitValue,
        // 4.x reads version 0 only under this type, earlier releases 0 to 3.
        LegacyOffsetCommitOfLaterVersion: OffsetCommitValue = "type 1",
    }
    1 OffsetCommit(Offset OffsetCommitKey) { OffsetCommit: @flat OffsetCommitValue }
    2 GroupMetadata(Classic GroupMetadataKey) { GroupMetadata: GroupMetadataValue }
    3 ConsumerGroupMetadata(Group GroupKey) { ConsumerGroupMetadata: ConsumerGroupMetadataValue }
    4 ConsumerGroupPartitionMetadata(Group GroupKey) {
        ConsumerGroupPartitionMetadata: ConsumerGroupPartitionMetadataValue,
        ConsumerGroupPartitionMetadata37: ConsumerGroupPartitionMetadataValue37 = "3.7",
    }
    5 ConsumerGroupMemberMetadata(Member MemberKey) {
        ConsumerGroupMemberMetadata: ConsumerGroupMemberMetadataValue,
        ConsumerGroupMemberMetadata37: ConsumerGroupMemberMetadataValue37 = "3.7",
    }
    6 ConsumerGroupTargetAssignmentMetadata(Group GroupKey) {
        ConsumerGroupTargetAssignmentMetadata: ConsumerGroupTargetAssignmentMetadataValue,
    }
    7 ConsumerGroupTargetAssignmentMember(Member MemberKey) {
        ConsumerGroupTargetAssignmentMember: ConsumerGroupTargetAssignmentMemberValue,
        ConsumerGroupTargetAssignmentMember37: ConsumerGroupTargetAssignmentMemberValue37 = "3.7",
    }
    8 ConsumerGroupCurrentMemberAssignment(Member MemberKey) {
        ConsumerGroupCurrentMemberAssignment: ConsumerGroupCurrentMemberAssignmentValue,
        ConsumerGroupCurrentMemberAssignment37: ConsumerGroupCurrentMemberAssignmentValue37 = "3.7",
    }
    9 ShareGroupPartitionMetadata(Group GroupKey) {
        ShareGroupPartitionMetadata: ShareGroupPartitionMetadataValue = "4.0",
        ShareGroupPartitionMetadata39: ShareGroupPartitionMetadataValue39 = "3.9",
    }
    10 ShareGroupMemberMetadata(Member MemberKey) { ShareGroupMemberMetadata: ShareGroupMemberMetadataValue }
    11 ShareGroupMetadata(Group GroupKey) {
        ShareGroupMetadata: ShareGroupMetadataValue,
        ShareGroupMetadata40: ShareGroupMetadataValue40 = "4.0",
    }
    12 ShareGroupTargetAssignmentMetadata(Group GroupKey) {
        ShareGroupTargetAssignmentMetadata: ShareGroupTargetAssignmentMetadataValue,
    }
    13 ShareGroupTargetAssignmentMember(Member MemberKey) {
        ShareGroupTargetAssignmentMember: ShareGroupTargetAssignmentMemberValue,
    }
    14 ShareGroupCurrentMemberAssignment(Member MemberKey) {
        ShareGroupCurrentMemberAssignment: ShareGroupCurrentMemberAssignmentValue,
    }
    15 ShareGroupStatePartitionMetadata(Group GroupKey) {
        ShareGroupStatePartitionMetadata: ShareGroupStatePartitionMetadataValue,
        ShareGroupStatePartitionMetadata40: ShareGroupStatePartitionMetadataValue40 = "4.0",
    }
    16 ConsumerGroupRegularExpression(RegularExpression RegularExpressionKey) {
        ConsumerGroupRegularExpression: ConsumerGroupRegularExpressionValue,
    }
    17 StreamsGroupMetadata(Group GroupKey) { StreamsGroupMetadata: StreamsGroupMetadataValue }
    18 StreamsGroupPartitionMetadata(Group GroupKey) {
        StreamsGroupPartitionMetadata: StreamsGroupPartitionMetadataValue = "before 4.1",
        StreamsGroupTopologyNumbered18: StreamsGroupTopologyValue = "type 23",
    }
    19 StreamsGroupMemberMetadata(Member MemberKey) { StreamsGroupMemberMetadata: StreamsGroupMemberMetadataValue }
    20 StreamsGroupTargetAssignmentMetadata(Group GroupKey) {
        StreamsGroupTargetAssignmentMetadata: StreamsGroupTargetAssignmentMetadataValue,
    }
    21 StreamsGroupTargetAssignmentMember(Member MemberKey) {
        StreamsGroupTargetAssignmentMember: StreamsGroupTargetAssignmentMemberValue,
    }
    22 StreamsGroupCurrentMemberAssignment(Member MemberKey) {
        StreamsGroupCurrentMemberAssignment: StreamsGroupCurrentMemberAssignmentValue,
    }
    23 StreamsGroupTopology(Group GroupKey) { StreamsGroupTopology: StreamsGroupTopologyValue }
    24 StreamsGroupTargetAssignmentResolvedTopicIds(Group GroupKey) {
        StreamsGroupTargetAssignmentResolvedTopicIds: StreamsGroupTargetAssignmentResolvedTopicIdsValue = "after 4.4",
    }
}

impl RecordType {
    /// Its number: the first two bytes of a key.
    pub fn number(self) -> i16 {
        self as i16
    }

    /// Reads a value: its version, then its fields.
    ///
    /// Fails with `empty-value`, `unknown-version`, or what stopped the newest shape.
    #[inline]
    pub fn decode_value(self, bytes: &[u8]) -> Result<VersionedValue<'_>, Fault> {
        if bytes.is_empty() {
            return Err(FaultKind::EmptyValue.at(0));
        }
        self.decode_shapes(bytes, Cursor::new(bytes).i16()?)
    }

    /// Whether a value can be read: fails exactly where [`Self::decode_value`] does, and makes nothing. Gives the number
    /// of bytes that are left over behind the last field.
    #[inline]
    pub fn check_value(self, bytes: &[u8]) -> Result<usize, Fault> {
        match self.skip_value(bytes) {
            Some(left) => Ok(left),
            None => self.decode_value(bytes).map(|value| value.trailing.len()),
        }
    }

    /// Whether a value can be read to the last byte.
    #[inline(always)]
    pub fn is_whole_value(self, bytes: &[u8]) -> bool {
        if self != RecordType::OffsetCommit {
            return self.skip_value(bytes) == Some(0);
        }
        let Some((version, rest)) = bytes.split_first_chunk() else { return false };
        let left = match i16::from_be_bytes(*version) {
            // Known in advance, a version needs no questions: this is what brokers write since 2.1.
            3 => skip_body::<OffsetCommitValue<'_>>(rest, 3),
            other => skip_body::<OffsetCommitValue<'_>>(rest, other),
        };
        left == Some(0)
    }

    #[inline(never)]
    fn of_other_whole(number: i16, rest: &[u8]) -> Option<RecordType> {
        let record_type = RecordType::from_number(number)?;
        (record_type.skip_key_fields(rest) == Some(0)).then_some(record_type)
    }

    #[inline(never)]
    fn skip_value(self, bytes: &[u8]) -> Option<usize> {
        let (version, rest) = bytes.split_first_chunk()?;
        self.skip_shapes(rest, i16::from_be_bytes(*version))
    }

    /// Shows a value's fields as Kafka's JSON does, without making it: what [`Self::decode_value`] and [`Value::json`]
    /// together would, faster. Writes nothing where it fails.
    #[inline]
    pub fn transcode_value<'a>(self, bytes: &'a [u8], json: &mut Json) -> Result<Transcoded<'a>, Fault> {
        if bytes.is_empty() {
            return Err(FaultKind::EmptyValue.at(0));
        }
        self.transcode_shapes(bytes, Cursor::new(bytes).i16()?, json)
    }
}

/// What was shown of a value without making it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transcoded<'a> {
    /// The version in front of it.
    pub version: i16,
    /// Whose shape it has, if not today's: a release, or another type.
    pub whose: Option<&'static str>,
    /// Bytes left over behind the last field.
    pub trailing: &'a [u8],
}

/// A decoded key.
#[derive(Debug, Clone, PartialEq)]
pub struct Key<'a> {
    /// Its type.
    pub record_type: RecordType,
    /// Its fields.
    pub fields: KeyFields<'a>,
    /// Bytes left over behind the last field.
    pub trailing: &'a [u8],
}

/// The fields of a key, which several types share.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyFields<'a> {
    /// Types 0 and 1.
    Offset(OffsetCommitKey<'a>),
    /// Type 2.
    Classic(GroupMetadataKey<'a>),
    /// What concerns a whole group.
    Group(GroupKey<'a>),
    /// What concerns one member.
    Member(MemberKey<'a>),
    /// Type 16.
    RegularExpression(RegularExpressionKey<'a>),
}

/// A key that could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadKey {
    /// The number in its first two bytes, if it has as many.
    pub number: Option<i16>,
    /// What is wrong with it.
    pub fault: Fault,
}

impl<'a> Key<'a> {
    /// Reads a key: its type, then its fields.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BadKey> {
        let mut cursor = Cursor::new(bytes);
        let Ok(number) = cursor.i16() else {
            return Err(BadKey { number: None, fault: FaultKind::KeyTooShort.at(0) });
        };
        let bad = |fault| BadKey { number: Some(number), fault };
        let record_type = RecordType::from_number(number).ok_or_else(|| bad(FaultKind::UnknownType(number).at(0)))?;
        let (fields, trailing) = record_type.decode_key_fields(&mut cursor).map_err(bad)?;
        Ok(Key { record_type, fields, trailing })
    }

    /// The type of a key that can be read to the last byte; None if [`Self::decode`] fails or leaves bytes over. Makes
    /// nothing.
    #[inline(always)]
    pub fn type_of_whole(bytes: &[u8]) -> Option<RecordType> {
        let (number, rest) = bytes.split_first_chunk()?;
        match i16::from_be_bytes(*number) {
            // Commits are most of every log: the jump through the table of types is not for them.
            1 if skip_body::<OffsetCommitKey<'_>>(rest, 0) == Some(0) => Some(RecordType::OffsetCommit),
            1 => None,
            other => RecordType::of_other_whole(other, rest),
        }
    }

    /// Writes it as it stands in a record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        use super::wire::Field;
        out.extend_from_slice(&self.record_type.number().to_be_bytes());
        match &self.fields {
            KeyFields::Offset(key) => key.encode(out, OffsetCommitKey::layout(0)),
            KeyFields::Classic(key) => key.encode(out, GroupMetadataKey::layout(0)),
            KeyFields::Group(key) => key.encode(out, GroupKey::layout(0)),
            KeyFields::Member(key) => key.encode(out, MemberKey::layout(0)),
            KeyFields::RegularExpression(key) => key.encode(out, RegularExpressionKey::layout(0)),
        }
        out.extend_from_slice(self.trailing);
    }

    /// The group it belongs to.
    #[inline]
    pub fn group(&self) -> &'a [u8] {
        match &self.fields {
            KeyFields::Offset(key) => key.group.0,
            KeyFields::Classic(key) => key.group.0,
            KeyFields::Group(key) => key.group_id.0,
            KeyFields::Member(key) => key.group_id.0,
            KeyFields::RegularExpression(key) => key.group_id.0,
        }
    }

    /// The member it belongs to, if it belongs to one.
    pub fn member(&self) -> Option<&'a [u8]> {
        match &self.fields {
            KeyFields::Member(key) => Some(key.member_id.0),
            _ => None,
        }
    }

    /// The topic partition of a committed offset.
    pub fn topic_partition(&self) -> Option<(&'a [u8], i32)> {
        match &self.fields {
            KeyFields::Offset(key) => Some((key.topic.0, key.partition)),
            _ => None,
        }
    }

    /// Whether the names in it are UTF-8.
    pub fn is_utf8(&self) -> bool {
        let topic = self.topic_partition().map(|(topic, _)| topic);
        let mut texts = [Some(self.group()), self.member(), topic].into_iter().flatten();
        texts.all(|text| std::str::from_utf8(text).is_ok())
    }

    /// Shows the fields as Kafka's JSON does.
    #[inline]
    pub fn json(&self, json: &mut Json) {
        use super::wire::Field;
        match &self.fields {
            KeyFields::Offset(key) => key.json(json, OffsetCommitKey::layout(0)),
            KeyFields::Classic(key) => key.json(json, GroupMetadataKey::layout(0)),
            KeyFields::Group(key) => key.json(json, GroupKey::layout(0)),
            KeyFields::Member(key) => key.json(json, MemberKey::layout(0)),
            KeyFields::RegularExpression(key) => key.json(json, RegularExpressionKey::layout(0)),
        }
    }
}

/// A decoded value.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionedValue<'a> {
    /// The version in front of it.
    pub version: i16,
    /// Whose shape it has, if not today's: a release, or another type.
    pub whose: Option<&'static str>,
    /// Its fields.
    pub data: Value<'a>,
    /// Bytes left over behind the last field.
    pub trailing: &'a [u8],
}

impl VersionedValue<'_> {
    /// Writes it as it stands in a record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version.to_be_bytes());
        self.data.encode(out, self.version);
        out.extend_from_slice(self.trailing);
    }
}
