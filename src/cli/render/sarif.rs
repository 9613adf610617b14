//! Findings as SARIF 2.1.0 (OASIS), which viewers and code scanning take.
//!
//! Must not know: who found them.

use super::findings::finding_json;
use crate::audit::{Code, Finding, Severity};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::PathBuf;

/// One document with one run.
pub fn document(findings: &[Finding]) -> String {
    let mut codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
    codes.sort();
    codes.dedup();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "grouplog",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(|code| rule(*code)).collect::<Value>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(result).collect::<Value>(),
        }],
    });
    format!("{document:#}\n")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.name(),
        "shortDescription": {"text": code.meaning()},
        "fullDescription": {"text": code.cause()},
        "help": {"text": code.next_step()},
        "defaultConfiguration": {"level": level(code.severity())},
        "properties": {"area": code.area().name(), "since": code.since()},
    })
}

fn result(finding: &Finding) -> Value {
    let mut physical = json!({});
    if let Some(uri) = uri(finding) {
        physical = json!({"artifactLocation": {"uri": uri}});
        if let Some(position) = finding.position {
            physical["region"] = json!({"byteOffset": position});
        }
    }
    let whole = finding_json(finding);
    let logical: Vec<_> =
        whole["group"].as_str().map(|name| json!({"name": name, "kind": "group"})).into_iter().collect();
    let locations = match physical.as_object().is_some_and(|it| !it.is_empty()) {
        true => json!([{"physicalLocation": physical, "logicalLocations": logical}]),
        false if logical.is_empty() => json!([]),
        false => json!([{"logicalLocations": logical}]),
    };
    json!({
        "ruleId": finding.code.name(),
        "level": level(finding.severity),
        "message": {"text": finding.message},
        "locations": locations,
        "properties": {
            "partition": whole["partition"],
            "offset": whole["offset"],
            "facts": whole["facts"],
        },
    })
}

/// A partition folder, or a file in it.
fn uri(finding: &Finding) -> Option<String> {
    let place = match (&finding.path, finding.partition) {
        (Some(path), _) => path.clone(),
        (None, partition) => PathBuf::from(format!("__consumer_offsets-{}", partition?)),
    };
    let file = finding.segment.as_ref().filter(|name| place.file_name() != Some(OsStr::new(name.as_str())));
    let whole = file.map_or(place.clone(), |name| place.join(name));
    Some(encoded(whole.as_os_str().as_encoded_bytes()))
}

/// As a URI: what has a meaning in one, and what is no plain text, as `%NN`.
fn encoded(path: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/@+,=!$&'()*;".contains(byte);
    path.iter().map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
