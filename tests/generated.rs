//! The committed man pages and completions are those that the command line's declaration gives now.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use grouplog::cli::cmd::generate;
use std::collections::BTreeMap;
use std::path::Path;

fn committed(folder: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

fn compare(folder: &str, fresh: Vec<(String, Vec<u8>)>) {
    let fresh: BTreeMap<_, _> =
        fresh.into_iter().map(|(name, text)| (name, String::from_utf8(text).unwrap())).collect();
    let committed = committed(folder);
    let stale: Vec<_> =
        fresh.iter().filter(|(name, text)| committed.get(*name) != Some(text)).map(|(name, _)| name).collect();
    let gone: Vec<_> = committed.keys().filter(|name| !fresh.contains_key(*name)).collect();
    assert!(
        stale.is_empty() && gone.is_empty(),
        "{folder}/ is stale ({stale:?}) or holds what is no more ({gone:?}): run 'cargo run -- generate {folder} --out {folder}'"
    );
}

#[test]
fn man_pages_are_committed() {
    compare("man", generate::man());
}

#[test]
fn completions_are_committed() {
    compare("completions", generate::completions());
}
