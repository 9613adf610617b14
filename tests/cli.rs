//! The command line as its users see it: transcripts under `tests/transcripts`, played in a scratch folder.
//!
//! `UPDATE=1 cargo test --test cli` writes the transcripts as they are now: read the diff before you commit it.

#![allow(clippy::unwrap_used, clippy::panic)]

mod transcript;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use transcript::{first_difference, play, replay_document};

const LOG_0: &str = "00000000000000000000.log";
/// What a broker puts into the name of a folder that is not a partition's (any more).
const UNIQUE: &str = "0123456789abcdef0123456789abcdef";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// A real segment: 16 batches, 61 records, 6394 bytes.
fn segment() -> Vec<u8> {
    fs::read(fixtures().join("classic/log/__consumer_offsets-2").join(LOG_0)).unwrap()
}

/// A batch of `segment()` by number: where it begins and ends.
fn batch(number: usize) -> (usize, usize) {
    let bytes = segment();
    let mut at = 0;
    for n in 0.. {
        let length = u32::from_be_bytes(*bytes[at + 8..].first_chunk().unwrap()) as usize + 12;
        if n == number {
            return (at, at + length);
        }
        at += length;
    }
    unreachable!()
}

/// The last batch is cut.
fn cut() -> Vec<u8> {
    let mut bytes = segment();
    bytes.truncate(bytes.len() - 10);
    bytes
}

/// One bit of the third batch's records is flipped.
fn flipped() -> Vec<u8> {
    let mut bytes = segment();
    let (start, end) = batch(2);
    bytes[(start + end) / 2] ^= 0x10;
    bytes
}

/// The head of the third batch is overwritten.
fn overwritten() -> Vec<u8> {
    let mut bytes = segment();
    let (start, _) = batch(2);
    bytes[start..start + 40].fill(0xaa);
    bytes
}

/// Zeros behind the last batch, as preallocation leaves them.
fn with_zeros() -> Vec<u8> {
    let mut bytes = segment();
    bytes.resize(bytes.len() + 4096, 0);
    bytes
}

/// A scratch folder with everything that the transcripts name.
fn scratch() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let folder = |name: &str| fs::create_dir_all(dir.path().join(name)).unwrap();
    std::os::unix::fs::symlink(fixtures(), dir.path().join("fixtures")).unwrap();

    // Damage.
    for (name, bytes) in
        [("cut", cut()), ("flipped", flipped()), ("overwritten", overwritten()), ("zeros", with_zeros())]
    {
        put(&format!("{name}/__consumer_offsets-2/{LOG_0}"), &bytes);
    }
    put("empty-segment/__consumer_offsets-7/00000000000000000042.log", b"");
    put(&format!("gap/__consumer_offsets-2/{LOG_0}"), &segment());
    put("gap/__consumer_offsets-2/00000000000000001000.log", b"");

    // Copies, leftovers, folders beside the usual.
    put(&format!("my-copy/{LOG_0}"), &segment());
    put("saved.bin", &segment());
    put(&format!("leftovers/__consumer_offsets-2/{LOG_0}"), &segment());
    put("leftovers/__consumer_offsets-2/00000000000000000000.log.deleted", &segment());
    put("leftovers/__consumer_offsets-2/00000000000000000050.log.cleaned", &segment());
    put("leftovers/__consumer_offsets-2/00000000000000000050.index.cleaned", b"");
    put("leftovers/__consumer_offsets-2/core.1234", b"what is this");
    put(&format!("kafka/logs/__consumer_offsets-2/{LOG_0}"), &segment());
    put(&format!("kafka/logs/__consumer_offsets-2.{UNIQUE}-delete/{LOG_0}"), &segment());
    put(&format!("kafka/logs/__consumer_offsets-5.{UNIQUE}-future/{LOG_0}"), &segment());
    put("kafka/logs/meta.properties", b"version=1\ncluster.id=abc\nnode.id=3\n");
    put("kafka/logs/.kafka_cleanshutdown", b"");
    put("kafka/logs/replication-offset-checkpoint", b"0\n2\n__consumer_offsets 2 61\norders 0 9\n");
    put(&format!("kafka/logs/orders-0/{LOG_0}"), &segment());
    put("no-segments/__consumer_offsets-4/partition.metadata", b"version: 0\ntopic_id: aDIplFJjQpeA25zoc52NPw");

    // What is not ours.
    folder("empty-folder");
    put("stuff/readme.md", b"hello");
    put("notes.txt", b"2026-11-29 21:00 the broker went down\n");
    put("logs.tar.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    put(&format!("orders-0/{LOG_0}"), &segment());
    put(&format!("__transaction_state-3/{LOG_0}"), &segment());
    put("other-broker/orders-0/partition.metadata", b"");
    put("other-broker/meta.properties", b"");
    put("redpanda/data/kafka/__consumer_offsets/3_17/0-1-v1.log", b"\x12\x34");
    put("redpanda/data/redpanda/controller/0_0/0-1-v1.log", b"\x12\x34");
    put("pulsar/bookkeeper/ledgers/current/0.log", b"BKLE\0\0\0\x01");
    put("pulsar/bookkeeper/ledgers/current/lastId", b"0");

    put("groups.txt", b"my-group\r\nconnect-cluster\n\nschema-registry\n");
    dir
}

#[test]
fn transcripts() {
    let dir = scratch();
    let update = std::env::var_os("UPDATE").is_some();
    let mut paths: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    paths.sort();
    let mut differ = Vec::new();
    let mut commands = 0;
    for path in paths {
        let was = fs::read_to_string(&path).unwrap();
        let is = play(&was, dir.path());
        commands += is.lines().filter(|line| line.starts_with("$ ")).count();
        if was != is {
            differ.push(format!("{}, {}", path.display(), first_difference(&was, &is)));
            if update {
                fs::write(&path, is).unwrap();
            }
        }
    }
    assert!(commands > 50, "{commands}");
    assert!(update || differ.is_empty(), "(UPDATE=1 writes what is now)\n{}", differ.join("\n"));
}

/// What README.md shows is what a fresh clone prints.
#[test]
fn the_readme() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let was = fs::read_to_string(root.join("README.md")).unwrap();
    let is = replay_document(&was, root);
    assert!(was.matches("\n$ grouplog ").count() >= 6);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(root.join("README.md"), &is).unwrap();
    } else if was != is {
        panic!("README.md (UPDATE=1 writes what is now) {}", first_difference(&was, &is));
    }
}

/// `grouplog ... | head -1`
#[test]
fn a_closed_pipe_ends_it_quietly() {
    for args in [&["dump"][..], &["dump", "--batches"], &["dump", "--format", "table"], &["info", "--format", "jsonl"]]
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_grouplog"))
            .args(args)
            // Far more than a pipe holds, so that it is still writing when nobody reads any more.
            .args(vec![fixtures().join("classic/log"); 60])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut one = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut one).unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let stderr: Vec<_> = stderr.lines().filter(|line| !line.contains("stands here 60 times")).collect();
        assert_eq!((output.status.code(), stderr), (Some(0), vec![]), "{args:?}");
    }
}

/// Every cut of a long array between two pieces that go out: the last comma is taken back wherever it stands.
#[test]
fn an_array_is_json_wherever_it_ends() {
    let paths = vec![fixtures().join("classic/log"); 3];
    for (args, most) in [(&["dump"][..], 1122), (&["dump", "--batches"], 348)] {
        for limit in (1..=most).step_by(37).chain([most]) {
            let output = Command::new(env!("CARGO_BIN_EXE_grouplog"))
                .args(args)
                .args(["--format", "json", "--limit", &limit.to_string()])
                .args(&paths)
                .output()
                .unwrap();
            let all: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(all.len(), limit, "{args:?}");
        }
    }
}

#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let dir = scratch();
    let path = dir.path().join("gap/__consumer_offsets-2").join(LOG_0);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        println!("SKIPPED: this user may read everything");
        return;
    }
    for verb in ["info", "dump"] {
        let output = Command::new(env!("CARGO_BIN_EXE_grouplog")).arg(verb).arg(&path).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let expected = format!("grouplog: {}: Permission denied (os error 13)\n", path.display());
        assert_eq!((output.status.code(), stderr), (Some(1), expected));
    }
}

/// The inputs are what they are said to be, and nothing that ran changed one.
#[test]
fn nothing_is_ever_written_to() {
    let dir = scratch();
    let all = |folder: &Path| {
        let mut found = Vec::new();
        files(folder, &mut found);
        found
    };
    let before = all(dir.path());
    for args in [&["info", "-v"][..], &["dump", "--raw"], &["dump", "--batches"]] {
        for place in ["cut", "flipped", "overwritten", "zeros", "leftovers", "kafka/logs", "orders-0", "redpanda/data"]
        {
            let path = dir.path().join(place);
            Command::new(env!("CARGO_BIN_EXE_grouplog")).args(args).arg(path).output().unwrap();
        }
    }
    assert!(before.len() > 20);
    assert_eq!(all(dir.path()), before);
}

/// Every file below a folder, with its bytes and the time it was changed. Links are not followed.
fn files(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>, std::time::SystemTime)>) {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            files(&path, found);
        } else if metadata.is_file() {
            let bytes = fs::read(&path).unwrap();
            found.push((path, bytes, metadata.modified().unwrap()));
        }
    }
}
