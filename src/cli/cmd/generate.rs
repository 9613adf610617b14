//! `generate`: man pages and completions, from the one declaration of the command line.

use super::Outcome;
use crate::cli::args::{Cli, GenerateArgs, Generated};
use crate::cli::render::explain;
use crate::cli::talk::Context;
use anyhow::{Context as _, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use std::fs;
use std::path::Path;

/// Runs it.
pub fn run(args: &GenerateArgs, context: &mut Context) -> Result<Outcome> {
    fs::create_dir_all(&args.out).with_context(|| args.out.display().to_string())?;
    let files = match args.what {
        Generated::Man => man(),
        Generated::Completions => completions(),
    };
    for (name, text) in files {
        let path = args.out.join(name);
        write(&path, &text).with_context(|| path.display().to_string())?;
        context.detail(&format!("wrote {}", path.display()));
    }
    Ok(Outcome::Clean)
}

fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    fs::write(path, text)
}

/// The man pages: name and text of each.
pub fn man() -> Vec<(String, Vec<u8>)> {
    let mut program = Cli::command();
    program.build();
    let mut pages = vec![("grouplog.1".to_owned(), page(program.clone()))];
    for verb in program.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let name = format!("grouplog-{}", verb.get_name());
        // The man page names itself by what stands here; clap wants its names to live for ever.
        let title: &'static str = Box::leak(name.clone().into_boxed_str());
        let mut text = page(verb.clone().name(title).display_name(title));
        if verb.get_name() == "explain" {
            text.extend_from_slice(explain::man_section().as_bytes());
        }
        pages.push((format!("{name}.1"), text));
    }
    pages
}

fn page(command: clap::Command) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = clap_mangen::Man::new(command).date("").render(&mut text);
    text
}

/// The completions: name and text of each.
pub fn completions() -> Vec<(String, Vec<u8>)> {
    let files = [(Shell::Bash, "grouplog.bash"), (Shell::Zsh, "_grouplog"), (Shell::Fish, "grouplog.fish")];
    files
        .into_iter()
        .map(|(shell, name)| {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "grouplog", &mut text);
            (name.to_owned(), text)
        })
        .collect()
}
