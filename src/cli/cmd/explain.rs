//! `explain`: what the code of a finding means.

use super::Outcome;
use crate::audit::Code;
use crate::cli::args::{ExplainArgs, SchemaFormat};
use crate::cli::render::explain;
use crate::cli::talk::Context;
use anyhow::Result;

/// Runs it.
pub fn run(args: &ExplainArgs, context: &mut Context) -> Result<Outcome> {
    let text = match (args.format, args.codes.as_slice()) {
        (SchemaFormat::Json, []) => explain::json(Code::ALL),
        (SchemaFormat::Json, codes) => explain::json(codes),
        (SchemaFormat::Table, []) => explain::list(context.looks()),
        (SchemaFormat::Table, codes) => explain::codes(codes, context.looks()),
    };
    context.out.all(text.as_bytes())?;
    Ok(Outcome::Clean)
}
