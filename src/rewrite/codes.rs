//! Codes of stretches that only `salvage` tells of: they are about what is gone or overruled, which takes more than one look at
//! one log. All others are codes of findings.
//!
//! Must not know: how any of it is found.

/// Files beside the segments prove that the log, or a segment, was longer.
pub(super) const LOG_CUT: &str = "log-cut";
/// Another copy went on in a higher leader epoch.
pub(super) const DIVERGED: &str = "diverged";
/// Another copy has other contents at the offsets of a batch beside damage.
pub(super) const CONTRADICTED: &str = "contradicted";

/// What each means.
const MEANINGS: [(&str, &str); 3] = [
    (
        LOG_CUT,
        "an index, a snapshot or a checkpoint proves that the log, or a segment, went on: what stood there is lost",
    ),
    (
        DIVERGED,
        "another copy (--also) went on from here in a higher leader epoch, so that what this log has is left out",
    ),
    (CONTRADICTED, "a batch beside damage, at whose offsets another copy (--also) has other contents: it is left out"),
];

/// What a code means, if only `salvage` has it.
pub fn meaning(code: &str) -> Option<&'static str> {
    MEANINGS.iter().find(|(name, _)| *name == code).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Code;

    #[test]
    fn no_code_is_one_of_a_finding_too() {
        for (code, _) in MEANINGS {
            assert_eq!(Code::of_name(code), None, "{code}");
        }
    }
}
