//! `salvage` never harms: inputs stay as they are, and what it writes is there whole or not at all.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use common::{grouplog, names_in};
use grouplog::log::Codec;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};
use wreck::*;

/// Every file below a folder: its bytes and when it was changed.
fn state(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut all = BTreeMap::new();
    for name in names_in(dir) {
        let path = dir.join(name);
        let changed = std::fs::symlink_metadata(&path).unwrap().modified().unwrap();
        if path.is_dir() {
            all.extend(state(&path));
            all.insert(path, (Vec::new(), changed));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            all.insert(path, (bytes, changed));
        }
    }
    all
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A damaged log dir, and the folder around it.
fn wrecked() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let mut hull = Hull::of(2, Codec::None);
    Damage::TwoBytes.hurt(&mut hull, VICTIM);
    let folder = hull.write(&dir.path().join("log"));
    (dir, folder)
}

#[test]
fn inputs_are_never_changed() {
    let (dir, folder) = wrecked();
    let replica = Hull::of(2, Codec::None).write(&dir.path().join("replica"));
    let before = (state(&dir.path().join("log")), state(&dir.path().join("replica")));
    let also = replica.display().to_string();
    let out = dir.path().join("new");
    let salvaged =
        salvage(&out, &["--also", &also, "--mend", "--drop-unloadable", "4.4", "--include-leftovers"], &[&folder]);
    assert_eq!(salvaged.code, 3, "{}", salvaged.said);
    assert!(before == (state(&dir.path().join("log")), state(&dir.path().join("replica"))));
}

#[test]
fn nothing_is_written_over() {
    let (dir, folder) = wrecked();
    type Make<'m> = (&'m str, &'m dyn Fn(&Path));
    let make: [Make<'_>; 4] = [
        ("folder", &|path| std::fs::create_dir(path).unwrap()),
        ("full", &|path| {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("file"), "x").unwrap();
        }),
        ("file", &|path| std::fs::write(path, "x").unwrap()),
        ("link", &|path| std::os::unix::fs::symlink("nowhere", path).unwrap()),
    ];
    for (name, make) in make {
        let out = dir.path().join(name);
        make(&out);
        let before: Vec<_> = names_in(dir.path());
        let output = grouplog(dir.path(), ["salvage", "--out", name, folder.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", said(&output));
        assert!(said(&output).contains("exists"), "{name}: {}", said(&output));
        assert!(output.stdout.is_empty());
        assert_eq!(names_in(dir.path()), before);
    }
    assert_eq!(names_in(&dir.path().join("folder")), Vec::<String>::new());
    assert_eq!(names_in(&dir.path().join("full")), ["file"]);
}

#[test]
fn a_place_that_cannot_be_is_refused() {
    let (dir, folder) = wrecked();
    let before = state(dir.path());
    let inside = folder.join("new").display().to_string();
    for (out, why) in [("no/such/folder", "no such folder"), (inside.as_str(), "inside of what is read")] {
        let output = grouplog(dir.path(), ["salvage", "--out", out, folder.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{out}: {}", said(&output));
        assert!(said(&output).contains(why), "{out}: {}", said(&output));
    }
    let log_dir = dir.path().join("log");
    std::fs::write(log_dir.join("meta.properties"), "version=1\n").unwrap();
    let out = log_dir.join("new").display().to_string();
    let output = grouplog(dir.path(), ["salvage", "--out", &out, log_dir.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    std::fs::remove_file(log_dir.join("meta.properties")).unwrap();
    assert!(before.keys().eq(state(dir.path()).keys()));
    let output = grouplog(dir.path(), ["salvage", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "without --out: {}", said(&output));
    let output = grouplog(dir.path(), ["salvage", "--out", "new", folder.to_str().unwrap(), folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "twice: {}", said(&output));
    assert_eq!(names_in(dir.path()), ["log"]);
}

/// A shell command in a folder, with the program as $G.
fn shell(dir: &Path, command: &str) -> Output {
    let mut bash = Command::new("bash");
    bash.current_dir(dir).env("G", env!("CARGO_BIN_EXE_grouplog")).args(["-c", command]);
    bash.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_limit_on_file_sizes_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    large(dir.path(), 4 << 20);
    let output = shell(dir.path(), "trap '' XFSZ; ulimit -f 1024; exec $G salvage --out new log");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("__consumer_offsets-0"), "{}", said(&output));
    assert!(said(&output).contains("limit on file sizes"), "{}", said(&output));
    assert_eq!(names_in(dir.path()), ["log"]);
}

#[test]
fn a_full_disk_and_one_that_cannot_be_written_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    large(dir.path(), 4 << 20);
    std::fs::create_dir(dir.path().join("disk")).unwrap();
    if !shell(dir.path(), "unshare -rm mount -t tmpfs tmpfs disk").status.success() {
        println!("SKIPPED: no small disk can be mounted here (unshare -rm)");
        return;
    }
    let on_disk = |options: &str, then: &str| {
        let mount = format!("mount -t tmpfs -o size=1m tmpfs disk{options}");
        shell(dir.path(), &format!("unshare -rm bash -c '{mount}; $G salvage --out disk/new log; echo $?; {then}'"))
    };
    let output = on_disk("", "ls -A disk");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{}", said(&output));
    assert!(said(&output).contains("free some space"), "{}", said(&output));
    let output = on_disk("; mount -o remount,ro disk", "ls -A disk");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{}", said(&output));
    assert!(said(&output).contains("on a disk that can be written to"), "{}", said(&output));
    assert_eq!(names_in(dir.path()), ["disk", "log"]);
}

/// A log dir of about so many bytes in one partition.
fn large(dir: &Path, bytes: usize) {
    let hull = Hull::of(2, Codec::None);
    let folder = hull.write(&dir.join("log"));
    let mut base = hull.batches.last().unwrap().last_offset + 1;
    let model = hull.bytes[0].clone();
    let mut all = Vec::with_capacity(bytes);
    let first = base;
    while all.len() < bytes {
        let mut batch = model.clone();
        batch[..8].copy_from_slice(&base.to_be_bytes());
        batch[12..16].copy_from_slice(&9i32.to_be_bytes());
        all.extend_from_slice(&batch);
        base += 3;
    }
    std::fs::write(folder.join(build::segment_name(first)), all).unwrap();
}

#[test]
fn signals_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    large(dir.path(), 48 << 20);
    // How long it takes when it is let go.
    let start = std::time::Instant::now();
    let output = grouplog(dir.path(), ["salvage", "--out", "whole", "log"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let takes = start.elapsed();
    let (mut stopped, mut finished) = (0, 0);
    for i in 0..24u32 {
        let signal = ["INT", "TERM", "HUP"][i as usize % 3];
        let child = Command::new(env!("CARGO_BIN_EXE_grouplog"))
            .current_dir(dir.path())
            .args(["salvage", "--out", "new", "log"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // From when signals are surely caught to when it is nearly done.
        std::thread::sleep(takes.mul_f64(0.05 + 0.9 * f64::from(i) / 24.0).max(Duration::from_millis(30)));
        let pid = child.id().to_string();
        let _ = Command::new("kill").args([&format!("-{signal}"), &pid]).stderr(Stdio::null()).status();
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(1) => {
                stopped += 1;
                assert!(said(&output).contains("interrupted; nothing was written"), "{signal}: {}", said(&output));
                assert_eq!(names_in(dir.path()), ["log", "whole"], "{signal}");
            }
            Some(0) => {
                finished += 1;
                assert!(state_of_names(&dir.path().join("new")) == state_of_names(&dir.path().join("whole")));
                std::fs::remove_dir_all(dir.path().join("new")).unwrap();
            }
            code => panic!("{signal}: {code:?} {}", said(&output)),
        }
    }
    println!("{stopped} stopped, {finished} finished");
    assert!(stopped > 8, "{stopped} of 24 were stopped");
}

/// Files by name below a folder, and their bytes; but for the report, which names the folder.
fn state_of_names(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = state(dir).into_iter();
    all.filter(|(path, _)| path.extension().is_none_or(|it| it == "log"))
        .map(|(path, (bytes, _))| (path.strip_prefix(dir).unwrap().to_owned(), bytes))
        .collect()
}

#[test]
fn a_kill_leaves_nothing_under_the_name() {
    let dir = tempfile::tempdir().unwrap();
    large(dir.path(), 48 << 20);
    let mut child = Command::new(env!("CARGO_BIN_EXE_grouplog"))
        .current_dir(dir.path())
        .args(["salvage", "--out", "new", "log"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let partial = || names_in(dir.path()).into_iter().find(|name| name.starts_with("new.grouplog-partial-"));
    while partial().is_none() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began to write");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!dir.path().join("new").exists());
    let left = partial().unwrap();
    let output = grouplog(dir.path(), ["salvage", "--out", "new", "log"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains(&left), "{}", said(&output));
}

#[test]
fn a_log_dir_that_is_held_is_read_and_said_to_be_live() {
    let (dir, folder) = wrecked();
    let lock = dir.path().join("log/.lock");
    std::fs::write(&lock, "").unwrap();
    std::fs::write(dir.path().join("log/meta.properties"), "version=1\nnode.id=1\n").unwrap();
    let notes = |verb: &[&str]| said(&grouplog(dir.path(), verb.iter().copied().chain([folder.to_str().unwrap()])));
    let file = std::fs::OpenOptions::new().write(true).open(&lock).unwrap();
    for verb in [&["salvage", "--dry-run"][..], &["info"], &["groups"], &["verify"], &["dump"]] {
        assert!(!notes(verb).contains("running"), "{verb:?}");
        rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(notes(verb).matches("a broker is running on it").count(), 1, "{verb:?}: {}", notes(verb));
        rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingUnlock).unwrap();
    }
    std::fs::remove_file(&lock).unwrap();
    assert!(notes(&["info"]).contains("may be live"), "{}", notes(&["info"]));
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    for name in names_in(&folder).iter().filter(|name| name.ends_with(".log")) {
        let file = std::fs::OpenOptions::new().write(true).open(folder.join(name)).unwrap();
        file.set_modified(hour_ago).unwrap();
    }
    assert!(!notes(&["info"]).contains("live"), "{}", notes(&["info"]));
}
