//! The command line: the only place for words, tables, progress and exit codes.

pub mod args;
pub mod baseline;
pub mod cmd;
pub mod input;
pub mod out;
pub mod render;
pub mod select;
pub mod span;
pub mod state;
pub mod talk;
pub mod time;

use crate::escape::one_line;
use args::{Cli, Command};
use clap::Parser;
use cmd::Outcome;
use std::io::Write as _;
use std::process::ExitCode;
use talk::Context;

/// An error in how the program was called: exit status 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    // Usage errors end here with exit status 2, help and version with 0.
    let cli = Cli::parse();
    let mut context = Context::new(&cli.talk);
    let outcome = match &cli.command {
        Command::Info(args) => cmd::info::run(args, &mut context),
        Command::Dump(args) => cmd::dump::run(args, &mut context),
        Command::Groups(args) => cmd::groups::run(args, &mut context),
        Command::Describe(args) => cmd::describe::run(args, &mut context),
        Command::History(args) => cmd::history::run(args, &mut context),
        Command::Diff(args) => cmd::diff::run(args, &mut context),
        Command::Salvage(args) => cmd::salvage::run(args, &mut context),
        Command::Compact(args) => cmd::compact::run(args, &mut context),
        Command::Rewrite(args) => cmd::rewrite::run(args, &mut context),
        Command::Verify(args) => cmd::verify::run(args, &mut context),
        Command::Audit(args) => cmd::audit::run(args, &mut context),
        Command::Explain(args) => cmd::explain::run(args, &mut context),
        Command::Stats(args) => cmd::stats::run(args, &mut context),
        Command::Txns(args) => cmd::txns::run(args, &mut context),
        Command::PartitionOf(args) => cmd::partition_of::run(args, &mut context),
        Command::Schema(args) => cmd::schema::run(args, &mut context),
        Command::Generate(args) => cmd::generate::run(args, &mut context),
    };
    context.end();
    match outcome {
        Ok(Outcome::Clean) if !context.has_missed() => ExitCode::SUCCESS,
        Ok(Outcome::Clean | Outcome::Findings) => ExitCode::from(3),
        Err(error) if out::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be listening.
            let _ = writeln!(std::io::stderr(), "grouplog: {}", one_line(&format!("{error:#}")));
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}
