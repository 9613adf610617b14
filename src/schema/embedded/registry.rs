//! Schema Registry's payloads (protocolType `sr`): JSON text, passed on as it is but for its spaces.
//!
//! Must not know: what a registry's fields mean.

use super::pieces::Object;
use crate::json::Json;
use serde_json::Value;

/// A registry's identity is a few hundred bytes; text beyond this size is not looked into.
const LARGEST: usize = 1 << 20;

/// A JSON object of the Schema Registry: its identity in a subscription, who leads in an assignment.
#[derive(Debug, Clone, PartialEq)]
pub struct Registry(pub Value);

impl Registry {
    /// Reads it: `None` unless the bytes are one JSON object (nested at most 128 deep, at most a mebibyte).
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.first() != Some(&b'{') || bytes.len() > LARGEST {
            return None;
        }
        serde_json::from_slice(bytes).ok().filter(Value::is_object).map(Registry)
    }

    /// Writes it under `data`, beside its own version number if it has one.
    pub fn json(&self, kind: &str, json: &mut Json) {
        let mut object = Object::of_kind(json, kind);
        if let Some(Value::Number(version)) = self.0.get("version") {
            object.name("version").raw(&version.to_string());
        }
        object.name("data").raw(&self.0.to_string());
        object.close();
    }
}
