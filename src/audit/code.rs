//! The codes of findings, made of the [catalogue](super::catalogue): each with its area, severity, what it means, how it
//! comes about, what to do, since when.
//!
//! Must not know: how a finding is found. A code is declared once; tests and man pages go through [`Code::ALL`].

use super::finding::Severity;
use crate::fault::FaultKind;

/// Where a code belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// Stretches of a segment that are no batch.
    Bytes,
    /// Whole partitions.
    Partitions,
    /// Batches.
    Batches,
    /// Records.
    Records,
    /// What a broker would make of it.
    Broker,
    /// Files beside the segments.
    Side,
    /// Members of groups.
    Members,
    /// Groups.
    Groups,
    /// Committed offsets.
    Offsets,
    /// Transactions.
    Transactions,
    /// The log as a whole.
    Log,
    /// What a copy gives away.
    Privacy,
}

impl Area {
    /// As a heading.
    pub fn title(self) -> &'static str {
        match self {
            Area::Bytes => "Bytes that are no batch",
            Area::Partitions => "Whole partitions",
            Area::Batches => "Batches",
            Area::Records => "Records",
            Area::Broker => "What a broker would make of it",
            Area::Side => "Files beside the segments",
            Area::Members => "Members",
            Area::Groups => "Groups",
            Area::Offsets => "Offsets",
            Area::Transactions => "Transactions",
            Area::Log => "The log as a whole",
            Area::Privacy => "Security and privacy",
        }
    }

    /// In one word, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Area::Bytes => "bytes",
            Area::Partitions => "partitions",
            Area::Batches => "batches",
            Area::Records => "records",
            Area::Broker => "broker",
            Area::Side => "side-files",
            Area::Members => "members",
            Area::Groups => "groups",
            Area::Offsets => "offsets",
            Area::Transactions => "transactions",
            Area::Log => "log",
            Area::Privacy => "privacy",
        }
    }
}

/// Makes the enum of what the areas' files declare.
macro_rules! codes {
    (@normal normal) => { true };
    (@normal) => { false };
    (@since $since:literal) => { $since };
    (@since) => { "Every release." };
    (=> $($area:ident { $($name:ident $code:literal $severity:ident $($normal:ident)? {
        means $meaning:literal comes $cause:literal next $next:literal $(since $since:literal)?
    })+ })+) => {
        /// A kind of finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[doc = $meaning] $name,)+)+ }

        impl Code {
            /// Every code, in the order of the catalogue.
            pub const ALL: &'static [Code] = &[$($(Code::$name,)+)+];

            /// The stable name, which scripts may depend on.
            pub fn name(self) -> &'static str {
                match self { $($(Code::$name => $code,)+)+ }
            }

            /// Where it belongs.
            pub fn area(self) -> Area {
                match self { $($(Code::$name => Area::$area,)+)+ }
            }

            /// How bad it is, unless where it stands makes it better or worse.
            pub fn severity(self) -> Severity {
                match self { $($(Code::$name => Severity::$severity,)+)+ }
            }

            /// Whether sound logs have it, too, so that it is told only to who asks for more.
            pub fn is_normal(self) -> bool {
                match self { $($(Code::$name => codes!(@normal $($normal)?),)+)+ }
            }

            /// What it means.
            pub fn meaning(self) -> &'static str {
                match self { $($(Code::$name => $meaning,)+)+ }
            }

            /// How it comes about.
            pub fn cause(self) -> &'static str {
                match self { $($(Code::$name => $cause,)+)+ }
            }

            /// What to do.
            pub fn next_step(self) -> &'static str {
                match self { $($(Code::$name => $next,)+)+ }
            }

            /// Since which release, or where, it applies.
            pub fn since(self) -> &'static str {
                match self { $($(Code::$name => codes!(@since $($since)?),)+)+ }
            }
        }
    };
}

bytes! { partitions batches records broker side members groups offsets transactions log privacy codes => }

impl Code {
    /// The code of a name.
    pub fn of_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }

    /// The code for what is wrong with a batch or a stretch of a segment.
    pub fn of_fault(fault: &FaultKind) -> Code {
        match fault {
            FaultKind::TornBatch { .. } => Code::TornBatch,
            FaultKind::ZeroTail => Code::ZeroTail,
            FaultKind::ZeroHole => Code::ZeroHole,
            FaultKind::BadMagic(_) => Code::BadMagic,
            FaultKind::BadBatchLength(_) => Code::BadBatchLength,
            FaultKind::NotABatch => Code::NotABatch,
            FaultKind::FileCut => Code::FileCut,
            FaultKind::CrcMismatch { .. } => Code::CrcMismatch,
            FaultKind::OffsetOrder { .. } => Code::OffsetOrder,
            FaultKind::UnknownCodec(_) => Code::UnknownCodec,
            FaultKind::Inflate(_) => Code::Inflate,
            FaultKind::InflatedTooLarge(_) => Code::InflatedTooLarge,
            FaultKind::Lz4HeaderChecksum => Code::Lz4Checksum,
            FaultKind::CountMismatch { .. } => Code::CountMismatch,
            FaultKind::BadControlRecord => Code::BadControlRecord,
            FaultKind::NestedWrapper => Code::NestedWrapper,
            FaultKind::NullKey => Code::NullKey,
            FaultKind::UnknownType(_) => Code::UnknownType,
            FaultKind::UnknownVersion(_) => Code::UnknownVersion,
            FaultKind::NotUtf8 => Code::NotUtf8,
            FaultKind::TrailingBytes(_) => Code::TrailingBytes,
            FaultKind::KeyTooShort => Code::BadKey,
            FaultKind::EmptyValue => Code::BadValue,
            FaultKind::ShortBuffer { .. }
            | FaultKind::BadLength(_)
            | FaultKind::BadVarint
            | FaultKind::UnexpectedNull
            | FaultKind::TagOrder(_)
            | FaultKind::BadRecord(_) => Code::BadRecord,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_in_kebab_case() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(code.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
            assert_eq!(Code::of_name(code.name()), Some(*code));
            for text in [code.meaning(), code.cause(), code.next_step(), code.since()] {
                assert!(!text.is_empty(), "{}", code.name());
            }
        }
    }
}
