//! `schema`: the record types, and the fields of one, from the declarations themselves.

use super::Outcome;
use crate::cli::Usage;
use crate::cli::args::{SchemaArgs, SchemaFormat};
use crate::cli::render::table::Table;
use crate::cli::select::TypeSelector;
use crate::cli::talk::Context;
use crate::schema::RecordType;
use crate::schema::doc::{FieldDoc, MessageDoc};
use anyhow::Result;
use serde_json::{Value, json};

/// Runs it.
pub fn run(args: &SchemaArgs, context: &mut Context) -> Result<Outcome> {
    let types = match args.record_type {
        None => RecordType::ALL.to_vec(),
        Some(TypeSelector::Number(number)) => match RecordType::from_number(number) {
            Some(record_type) => vec![record_type],
            None => {
                return Err(
                    Usage(format!("no record type has the number {number}; 'grouplog schema' lists them")).into()
                );
            }
        },
        Some(TypeSelector::Control) => {
            let why =
                "control records are the broker's own and not in the list; 'grouplog dump --type control' shows them";
            return Err(Usage(why.to_owned()).into());
        }
    };
    let text = match (args.format, args.record_type) {
        (SchemaFormat::Json, _) => {
            let all: Vec<_> = types.iter().map(|&record_type| type_json(record_type)).collect();
            format!("{:#}\n", Value::from(all))
        }
        (SchemaFormat::Table, None) => list(&types).text(context.looks()),
        (SchemaFormat::Table, Some(_)) => types.iter().map(|&record_type| type_text(record_type)).collect(),
    };
    context.out.all(text.as_bytes())?;
    Ok(Outcome::Clean)
}

fn list(types: &[RecordType]) -> Table {
    let mut table = Table::new(&["TYPE", "NAME", "KEY", "VERSIONS", "OTHER SHAPES"]);
    for record_type in types {
        let key: Vec<_> = record_type.key_doc().fields.iter().map(|field| field.name).collect();
        let values = record_type.value_docs();
        let versions = values.first().map_or(String::new(), |(_, doc)| version_range(doc));
        let others: Vec<_> = values.iter().filter_map(|(whose, _)| *whose).collect();
        table.row(vec![
            record_type.number().to_string(),
            record_type.name().to_owned(),
            key.join(" "),
            versions,
            others.join(", "),
        ]);
    }
    table
}

fn version_range(doc: &MessageDoc) -> String {
    match doc.versions {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    }
}

fn type_text(record_type: RecordType) -> String {
    let mut text = format!("{} {}\n", record_type.number(), record_type.name());
    message_text(&mut text, "key", &record_type.key_doc());
    for (whose, doc) in record_type.value_docs() {
        let heading = whose.map_or("value".to_owned(), |whose| format!("value, in the shape of {whose}"));
        message_text(&mut text, &heading, &doc);
    }
    text
}

fn message_text(text: &mut String, heading: &str, doc: &MessageDoc) {
    let flexible = doc.flexible.map_or(String::new(), |first| format!(", flexible from {first} on"));
    text.push_str(&format!("\n{heading}: version {}{flexible}\n", version_range(doc)));
    for line in textwrap(&doc.about, 100) {
        text.push_str(&format!("  {line}\n"));
    }
    fields_text(text, 4, &doc.fields);
}

/// Breaks a text at blanks.
fn textwrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let full = lines.last().is_some_and(|line| !line.is_empty() && line.len() + 1 + word.len() > width);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn fields_text(text: &mut String, indent: usize, fields: &[FieldDoc]) {
    for field in fields {
        let nullable = if field.kind.nullable { ", nullable" } else { "" };
        let tag = field.tag.map_or(String::new(), |tag| format!(", tag {tag}"));
        let default = field.default.map_or(String::new(), |default| format!(", default {default}"));
        text.push_str(&format!(
            "{:indent$}{}: {} [{}]{nullable}{tag}{default}\n",
            "",
            field.name,
            field.kind.notation(),
            field.versions(),
        ));
        fields_text(text, indent + 2, &field.kind.fields);
    }
}

fn type_json(record_type: RecordType) -> Value {
    let values: Vec<_> = record_type
        .value_docs()
        .into_iter()
        .map(|(whose, doc)| {
            let mut value = message_json(&doc);
            value["shape"] = json!(whose);
            value
        })
        .collect();
    json!({
        "type": record_type.number(),
        "name": record_type.name(),
        "key": message_json(&record_type.key_doc()),
        "values": values,
    })
}

fn message_json(doc: &MessageDoc) -> Value {
    json!({
        "about": doc.about,
        "firstVersion": doc.versions.0,
        "lastVersion": doc.versions.1,
        "firstFlexibleVersion": doc.flexible,
        "fields": fields_json(&doc.fields),
    })
}

fn fields_json(fields: &[FieldDoc]) -> Value {
    fields
        .iter()
        .map(|field| {
            json!({
                "name": field.name,
                "type": field.kind.notation(),
                "versions": field.versions(),
                "nullable": field.kind.nullable,
                "tag": field.tag,
                "default": field.default,
                "fields": fields_json(&field.kind.fields),
            })
        })
        .collect()
}
