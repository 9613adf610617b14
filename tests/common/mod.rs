//! What the tests share: where the recorded logs are, and the program itself.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers, of which no test uses all"
)]

pub mod batches;
pub mod craft;
pub mod facts;
pub mod kafka;
pub mod museum;
pub mod told;
pub mod truth;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A log that a real broker wrote, with what Kafka's tools say about it.
pub struct Exhibit {
    /// Where it is.
    pub dir: PathBuf,
    /// Its path below `fixtures/` or `golden/`.
    pub name: String,
}

impl Exhibit {
    /// A recorded text, if the exhibit has it.
    pub fn text(&self, file: &str) -> Option<Vec<u8>> {
        std::fs::read(self.dir.join(file)).ok()
    }

    /// The log dirs in it, relative to it: one, or one a broker.
    pub fn log_dirs(&self) -> Vec<String> {
        let mut brokers: Vec<_> = names_in(&self.dir.join("log"))
            .into_iter()
            .filter(|name| name.starts_with("broker-"))
            .map(|name| format!("log/{name}"))
            .collect();
        if brokers.is_empty() {
            brokers.push("log".to_owned());
        }
        brokers
    }
}

/// Every exhibit that tools said something about: those of `fixtures/`, and those of `../shared/golden` (or where
/// GROUPLOG_SHARED says) if they are there.
pub fn exhibits() -> Vec<Exhibit> {
    let mut found = Vec::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    exhibits_below(&fixtures, &fixtures, &mut found);
    assert!(found.len() >= 19, "{} exhibits in fixtures/", found.len());
    if let Some(golden) = golden() {
        exhibits_below(&golden, &golden, &mut found);
    }
    found
}

/// The recorded logs, which stand beside the checkout or where GROUPLOG_SHARED says.
pub fn golden() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let golden = std::env::var_os("GROUPLOG_SHARED").map_or(beside, PathBuf::from).join("golden");
    if golden.is_dir() {
        return Some(golden);
    }
    println!("SKIPPED: no recorded logs at {} (set GROUPLOG_SHARED): fixtures/ only", golden.display());
    None
}

fn exhibits_below(root: &Path, dir: &Path, found: &mut Vec<Exhibit>) {
    let names = names_in(dir);
    if names.iter().any(|name| name == "log") {
        // The crafted partitions of `verdicts` have no such text: they are another test's.
        if names.iter().any(|name| name.starts_with("dump-log")) {
            let name = dir.strip_prefix(root).unwrap().display().to_string();
            found.push(Exhibit { dir: dir.to_owned(), name });
        }
        return;
    }
    names.iter().map(|name| dir.join(name)).filter(|path| path.is_dir()).for_each(|path| {
        exhibits_below(root, &path, found);
    });
}

/// The names in a folder, sorted.
pub fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Runs the program in a folder.
pub fn grouplog<S: AsRef<std::ffi::OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_grouplog")).current_dir(dir).args(args).output().unwrap()
}
