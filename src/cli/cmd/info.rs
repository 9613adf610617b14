//! `info`: what is here, from batch headers only.

use super::Outcome;
use crate::cli::args::InfoArgs;
use crate::cli::input;
use crate::cli::talk::Context;
use anyhow::Result;

/// Runs it.
pub fn run(args: &InfoArgs, context: &mut Context) -> Result<Outcome> {
    let _ = input::open(&args.input, context)?;
    Ok(Outcome::Clean)
}
