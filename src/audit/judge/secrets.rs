//! Text that looks like a secret. What it is is never shown, only of what kind.
//!
//! Must not know: where the text stands.

use regex::bytes::Regex;
use std::sync::LazyLock;

/// Kinds of secrets, and how they look. What a first group matches is the secret, and none if it only stands in for one.
const KINDS: [(&str, &str); 12] = [
    ("private key", "-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("cloud access key", "\\b(?:AKIA|ASIA)[0-9A-Z]{16}\\b"),
    ("cloud API key", "\\bAIza[0-9A-Za-z_-]{35}"),
    ("payment API key", "\\b(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{16,}"),
    ("signed token", "\\beyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}\\."),
    ("personal access token", "\\b(?:gh[pousr]_[A-Za-z0-9]{36}|xox[baprs]-[A-Za-z0-9-]{10,}|glpat-[A-Za-z0-9_-]{20})"),
    ("password in a URL", "[a-z][a-z0-9+.-]*://[^/\\s:@\"]+:[^/\\s:@\"]+@"),
    // Words of a sentence behind 'bearer' are shorter than tokens are.
    ("bearer token", "(?i)\\bbearer\\s+([a-z0-9._~+/-]{16,}=*)"),
    (
        "authorization header",
        "(?i)\\bauthorization[\"']?\\s*[:=]\\s*[\"']?(?:basic|bearer|token|apikey)\\s+([^\\s\"',;&}]{3,})",
    ),
    // A working directory is called the same.
    ("named secret", "(?i)\\bpwd[\"']?\\s*[:=]\\s*[\"']?([^\\s\"',;&}/.~][^\\s\"',;&}/]{2,})"),
    ("named secret", "(?i)passw(?:or)?d[\"']?\\s*[:=]\\s*[\"']?([^\\s\"',;&}]{3,})"),
    (
        "named secret",
        "(?i)(?:passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|credentials?)[\"']?\\s*[:=]\\s*[\"']?([^\\s\"',;&}]{4,})",
    ),
];

/// Words that stand where a secret is not given.
const STANDS_IN: &str = "none null nil true false yes not unset empty required redacted hidden undefined see ask n/a";

static REGEXES: LazyLock<Vec<(&'static str, Regex)>> =
    LazyLock::new(|| KINDS.iter().filter_map(|(kind, regex)| Some((*kind, Regex::new(regex).ok()?))).collect());

/// Of what kind the secret is that a text seems to hold.
pub(super) fn kind_of(text: &[u8]) -> Option<&'static str> {
    // No secret is shorter, and most metadata is empty.
    if text.len() < 7 {
        return None;
    }
    let holds = |regex: &Regex| {
        regex.captures_iter(text).any(|found| found.get(1).is_none_or(|secret| !stands_in(secret.as_bytes())))
    };
    REGEXES.iter().find(|(_, regex)| regex.is_match(text) && holds(regex)).map(|(kind, _)| *kind)
}

/// Whether it is a word for no secret, a reference to one (`${PASSWORD}`, `<password>`, `{{password}}`), or what hides one
/// (`****`, `xxxx`, `[hidden]`).
fn stands_in(secret: &[u8]) -> bool {
    STANDS_IN.split(' ').any(|word| word.as_bytes().eq_ignore_ascii_case(secret))
        || secret.starts_with(b"${")
        || secret.starts_with(b"<")
        || secret.starts_with(b"{{")
        || secret.starts_with(b"[")
        || secret.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-' | b'?'))
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
        let google = format!("AIza{}", "SyA-1234567890abcdefghijklmnopqrstuv".get(..35).unwrap());
        let stripe = ["sk", "live", "4eC39HqLyjWDarjtT1zdp7dc"].join("_");
        for (text, kind) in [
            ("password=hunter22", Some("named secret")),
            ("passwd=abc", Some("named secret")),
            ("passwd=hunter2xyz", Some("named secret")),
            ("password=null, password=hunter22", Some("named secret")),
            ("PWD: geheim", Some("named secret")),
            ("{\"apiKey\": \"abcd1234\"}", Some("named secret")),
            ("client_secret: 9f8e7d6c5b4a", Some("named secret")),
            ("http://user:pa55@connect:8083/", Some("password in a URL")),
            ("AKIAIOSFODNN7EXAMPLE", Some("cloud access key")),
            (google.as_str(), Some("cloud API key")),
            (stripe.as_str(), Some("payment API key")),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc", Some("signed token")),
            ("-----BEGIN RSA PRIVATE KEY-----", Some("private key")),
            ("Bearer abcdefghijklmnop123456", Some("bearer token")),
            ("Authorization: Bearer abc", Some("authorization header")),
            ("\"authorization\": \"Basic dXNlcjpwdw==\"", Some("authorization header")),
            ("http://connect:8083/", None),
            ("passwordless login", None),
            ("password=", None),
            ("passwd=ab", None),
            ("password=null", None),
            ("password: ********", None),
            ("password=${DB_PASSWORD}", None),
            ("password: not set", None),
            ("Password: see the vault", None),
            ("secret: abc", None),
            ("pwd=/var/lib/kafka", None),
            ("cpwd=12345678", None),
            ("secretary: Bo", None),
            ("AQAAAYvP5WgA", None),
            ("AIzawa Bokushi", None),
            (google.get(..38).unwrap(), None),
            (stripe.get(..23).unwrap(), None),
            ("pk_live_4eC39HqLyjWDarjtT1zdp7dc", None),
            ("task_live_4eC39HqLyjWDarjtT1zdp7dc", None),
            ("Bearer abc", None),
            ("the bearer of good news", None),
            ("forbearer abcdefghijklmnop123456", None),
            ("Authorization: none", None),
            ("{\"partition\":0,\"token_count\":17}", None),
        ] {
            assert_eq!(kind_of(text.as_bytes()), kind, "{text}");
        }
    }
}
