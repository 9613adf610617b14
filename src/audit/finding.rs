//! A finding: what is odd, where, how bad, and the numbers behind the sentence.
//!
//! Must not know: how it was found, and how it is printed.

use super::code::Code;
use std::path::{Path, PathBuf};

/// How bad a finding is. Errors and warnings make the exit status 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing to do.
    Info,
    /// Something is off, but nothing is lost and a broker would get along with it.
    Warning,
    /// Bytes are lost or wrong, or a broker would refuse them.
    Error,
}

impl Severity {
    /// As it stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A number or a name behind a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A number: of bytes, records, an offset, a time in ms since 1970.
    Int(i64),
    /// Yes or no.
    Bool(bool),
    /// Text of ours.
    Text(String),
    /// A name out of the log, which need not be UTF-8.
    Name(Vec<u8>),
    /// Several.
    List(Vec<Fact>),
    /// Several, with names.
    Object(Vec<(&'static str, Fact)>),
    /// It is not known, or there is none.
    Null,
}

impl From<i64> for Fact {
    fn from(n: i64) -> Self {
        Fact::Int(n)
    }
}

impl From<i32> for Fact {
    fn from(n: i32) -> Self {
        Fact::Int(i64::from(n))
    }
}

impl From<u64> for Fact {
    fn from(n: u64) -> Self {
        Fact::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Fact {
    fn from(n: u32) -> Self {
        Fact::Int(i64::from(n))
    }
}

impl From<bool> for Fact {
    fn from(is: bool) -> Self {
        Fact::Bool(is)
    }
}

impl From<&str> for Fact {
    fn from(text: &str) -> Self {
        Fact::Text(text.to_owned())
    }
}

impl From<String> for Fact {
    fn from(text: String) -> Self {
        Fact::Text(text)
    }
}

impl<T: Into<Fact>> From<Option<T>> for Fact {
    fn from(fact: Option<T>) -> Self {
        fact.map_or(Fact::Null, Into::into)
    }
}

/// What is odd, where, and how bad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Of what kind.
    pub code: Code,
    /// The code's own, unless where it stands makes it better or worse.
    pub severity: Severity,
    /// The partition of `__consumer_offsets`, if it is known.
    pub partition: Option<i32>,
    /// The partition's folder, or its segment if that alone was read; which broker's copy that is.
    pub path: Option<PathBuf>,
    /// The name of the file: a segment, or one beside it. None for a finding on a whole partition.
    pub segment: Option<String>,
    /// Of the batch or hole in a segment, or the entry in another file: in bytes from its start.
    pub position: Option<u64>,
    /// The log offset it concerns: of a record, or the base offset of a batch.
    pub offset: Option<i64>,
    /// The group it concerns.
    pub group: Option<Vec<u8>>,
    /// One sentence for people.
    pub message: String,
    /// The numbers and names in it, for scripts.
    pub facts: Vec<(&'static str, Fact)>,
}

impl Finding {
    /// Of a kind, with the kind's severity, on a whole partition.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Finding {
            code,
            severity: code.severity(),
            partition: None,
            path: None,
            segment: None,
            position: None,
            offset: None,
            group: None,
            message: message.into(),
            facts: Vec::new(),
        }
    }

    /// With another severity than the code's own.
    pub fn severity(self, severity: Severity) -> Self {
        Finding { severity, ..self }
    }

    /// In a partition's folder, or in a segment that was read by itself.
    pub fn path(self, path: &Path) -> Self {
        Finding { path: Some(path.to_owned()), ..self }
    }

    /// In a file.
    pub fn file(self, name: impl Into<String>) -> Self {
        Finding { segment: Some(name.into()), ..self }
    }

    /// At a byte of a file.
    pub fn position(self, position: u64) -> Self {
        Finding { position: Some(position), ..self }
    }

    /// At a log offset.
    pub fn offset(self, offset: i64) -> Self {
        Finding { offset: Some(offset), ..self }
    }

    /// Of a group.
    pub fn group(self, group: &[u8]) -> Self {
        Finding { group: Some(group.to_vec()), ..self }
    }

    /// With an age in ms, None if it is not known. It is never below 0: `aheadMs` then says by how much what it is the age of
    /// lies ahead of now.
    pub fn age(self, age: Option<i64>) -> Self {
        let finding = self.fact("ageMs", age.map(|age| age.max(0)));
        match age {
            Some(ahead @ ..0) => finding.fact("aheadMs", ahead.saturating_neg()),
            _ => finding,
        }
    }

    /// With the command that puts it right, if there is one.
    pub fn command(self, command: Option<String>) -> Self {
        match command {
            Some(command) => self.fact("command", command),
            None => self,
        }
    }

    /// With a fact.
    pub fn fact(mut self, name: &'static str, fact: impl Into<Fact>) -> Self {
        self.facts.push((name, fact.into()));
        self
    }
}
