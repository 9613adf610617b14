//! What a declaration says about itself: the field tables behind `grouplog schema`.
//!
//! Must not know: how a table is laid out for people.

/// One field of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDoc {
    /// As in Kafka's JSON: lower camel case.
    pub name: &'static str,
    /// Its type.
    pub kind: TypeDoc,
    /// First version that has it.
    pub since: i16,
    /// Last version that has it; none where it is still there.
    pub until: Option<i16>,
    /// Its tag, if it is a tagged field (KIP-482).
    pub tag: Option<u32>,
    /// What stands in for it where its version lacks it, if the declaration names something.
    pub default: Option<&'static str>,
}

impl FieldDoc {
    /// The versions that have the field, in Kafka's notation: `0+`, `1`, `0-3`.
    pub fn versions(&self) -> String {
        match self.until {
            None => format!("{}+", self.since),
            Some(until) if until == self.since => format!("{until}"),
            Some(until) => format!("{}-{until}", self.since),
        }
    }
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeDoc {
    /// `int32`, `string`, or the name of a struct.
    pub name: &'static str,
    /// An array of these.
    pub array: bool,
    /// May be null.
    pub nullable: bool,
    /// The fields, if it is a struct.
    pub fields: Vec<FieldDoc>,
}

impl TypeDoc {
    /// A type without fields of its own.
    pub fn plain(name: &'static str) -> Self {
        TypeDoc { name, array: false, nullable: false, fields: Vec::new() }
    }

    /// An array of this.
    pub fn array(self) -> Self {
        TypeDoc { array: true, ..self }
    }

    /// This or null.
    pub fn nullable(self) -> Self {
        TypeDoc { nullable: true, ..self }
    }

    /// In the notation of the field tables: `[]TopicPartition`, `string`.
    pub fn notation(&self) -> String {
        format!("{}{}", if self.array { "[]" } else { "" }, self.name)
    }
}

/// One message: a key, or one shape of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageDoc {
    /// What it is, in a sentence or two.
    pub about: String,
    /// First and last version of it.
    pub versions: (i16, i16),
    /// First flexible version, if any is.
    pub flexible: Option<i16>,
    /// Its fields, in their order on the wire.
    pub fields: Vec<FieldDoc>,
}
