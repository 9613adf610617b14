//! Transcripts of the command line: text files of commands and of what they print.
//!
//! A block is a line `$ grouplog ARGS`, what it writes to stdout, what it writes to stderr (each line behind `2> `), and
//! a line `exit N`. Before `grouplog` may stand `NAME=VALUE` for its environment; behind the arguments `< FILE` for its
//! stdin. Words are parted by blanks; 'single quotes' keep them together. Whatever stands between blocks is a remark.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// A document whose blocks of commands, each behind a line "```" and a `$ grouplog`, show what is written to stdout now.
pub fn replay_document(document: &str, folder: &Path) -> String {
    let mut now = String::new();
    let mut is_block = false;
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        now.push_str(line);
        now.push('\n');
        if line == "```" {
            is_block = !is_block && lines.peek().is_some_and(|line| line.starts_with("$ grouplog "));
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_block) {
            let said = run(command, folder);
            let shown: Vec<_> = said.lines().filter(|line| !line.starts_with("2> ") && !is_exit(line)).collect();
            now.push_str(shown.join("\n").trim_end());
            now.push('\n');
            while lines.next_if(|line| *line != "```" && !line.starts_with("$ ")).is_some() {}
            if lines.peek().is_some_and(|line| line.starts_with("$ ")) {
                now.push('\n');
            }
        }
    }
    now
}

/// Runs every command of a transcript in a folder, and gives the transcript as it is now.
pub fn play(transcript: &str, folder: &Path) -> String {
    let mut now = String::new();
    let mut lines = transcript.lines();
    while let Some(line) = lines.next() {
        now.push_str(line);
        now.push('\n');
        if let Some(command) = line.strip_prefix("$ ") {
            now.push_str(&run(command, folder));
            // What was expected: up to the exit status, or up to the next block where there is none yet.
            let expected = lines.clone().take_while(|line| !line.starts_with("$ ")).collect::<Vec<_>>();
            if let Some(end) = expected.iter().position(|line| is_exit(line)) {
                lines.nth(end);
            }
        }
    }
    now
}

fn is_exit(line: &str) -> bool {
    line.strip_prefix("exit ").is_some_and(|status| status.parse::<i32>().is_ok())
}

fn run(line: &str, folder: &Path) -> String {
    let mut words = words(line).into_iter();
    let mut command = Command::new(env!("CARGO_BIN_EXE_grouplog"));
    command.current_dir(folder).stdin(Stdio::null()).env_remove("COLUMNS").env_remove("NO_COLOR").env("TZ", "UTC");
    for word in words.by_ref() {
        match word.split_once('=') {
            Some((name, value)) => command.env(name, value),
            None if word == "grouplog" => break,
            None => panic!("no grouplog in: {line}"),
        };
    }
    while let Some(word) = words.next() {
        if word == "<" {
            command.stdin(File::open(folder.join(words.next().unwrap())).unwrap());
        } else {
            command.arg(word);
        }
    }
    let output = command.output().unwrap();
    let mut text = version_left_out(&String::from_utf8(output.stdout).unwrap());
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str("(no line end)\n");
    }
    for line in version_left_out(&String::from_utf8(output.stderr).unwrap()).lines() {
        text.push_str(format!("2> {line}").trim_end());
        text.push('\n');
    }
    format!("{text}exit {}\n", output.status.code().map_or("by a signal".to_owned(), |code| code.to_string()))
}

fn version_left_out(text: &str) -> String {
    text.replace(&format!("grouplog {}", env!("CARGO_PKG_VERSION")), "grouplog [VERSION]")
}

fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The first lines that differ, with their numbers.
pub fn first_difference(was: &str, is: &str) -> String {
    let at = was.lines().zip(is.lines()).take_while(|(was, is)| was == is).count();
    let part = |text: &str| {
        let lines: Vec<_> = text.lines().skip(at).take(6).collect();
        lines.join("\n    ")
    };
    format!("line {}:\n  was\n    {}\n  is\n    {}", at + 1, part(was), part(is))
}
