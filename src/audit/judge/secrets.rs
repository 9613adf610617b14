//! Text that looks like a secret. What it is is never shown, only of what kind.
//!
//! Must not know: where the text stands.

use regex::bytes::Regex;
use std::sync::LazyLock;

/// Kinds of secrets, and how they look.
const KINDS: [(&str, &str); 6] = [
    ("private key", "-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("cloud access key", "\\b(?:AKIA|ASIA)[0-9A-Z]{16}\\b"),
    ("signed token", "\\beyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}\\."),
    ("personal access token", "\\b(?:gh[pousr]_[A-Za-z0-9]{36}|xox[baprs]-[A-Za-z0-9-]{10,}|glpat-[A-Za-z0-9_-]{20})"),
    ("password in a URL", "[a-z][a-z0-9+.-]*://[^/\\s:@\"]+:[^/\\s:@\"]+@"),
    (
        "named secret",
        "(?i)(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|credentials?)[\"']?\\s*[:=]\\s*[\"']?[^\\s\"',;&}]{4,}",
    ),
];

static REGEXES: LazyLock<Vec<(&'static str, Regex)>> =
    LazyLock::new(|| KINDS.iter().filter_map(|(kind, regex)| Some((*kind, Regex::new(regex).ok()?))).collect());

/// Of what kind the secret is that a text seems to hold.
pub(super) fn kind_of(text: &[u8]) -> Option<&'static str> {
    // No secret is shorter, and most metadata is empty.
    if text.len() < 8 {
        return None;
    }
    REGEXES.iter().find(|(_, regex)| regex.is_match(text)).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_expressions_are_some() {
        assert_eq!(REGEXES.len(), KINDS.len());
    }

    #[test]
    fn secrets_and_what_only_looks_alike() {
        for (text, kind) in [
            ("password=hunter22", Some("named secret")),
            ("{\"apiKey\": \"abcd1234\"}", Some("named secret")),
            ("http://user:pa55@connect:8083/", Some("password in a URL")),
            ("AKIAIOSFODNN7EXAMPLE", Some("cloud access key")),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", Some("signed token")),
            ("-----BEGIN RSA PRIVATE KEY-----", Some("private key")),
            ("http://connect:8083/", None),
            ("passwordless login", None),
            ("password=", None),
            ("secretary: Bo", None),
            ("AQAAAYvP5WgA", None),
            ("{\"partition\":0,\"token_count\":17}", None),
        ] {
            assert_eq!(kind_of(text.as_bytes()), kind, "{text}");
        }
    }
}
