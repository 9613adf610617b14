//! The verbs that write never harm: inputs stay as they are, and what they write is there whole or not at all.

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

/// A verb that makes a new log dir of another.
#[derive(Debug, Clone, Copy)]
struct Verb {
    name: &'static str,
    /// With which it works through all of a log.
    options: &'static [&'static str],
    /// With which it also takes one that is damaged.
    damaged: &'static [&'static str],
}

const VERBS: [Verb; 3] = [
    Verb { name: "salvage", options: &[], damaged: &[] },
    Verb { name: "compact", options: &["--include-active", "--now", "1700000100000"], damaged: &["--skip-damage"] },
    Verb { name: "rewrite", options: &["--redact", "--seed", "s"], damaged: &["--skip-damage"] },
];

impl Verb {
    /// All words but the program's name, for a log that may be damaged.
    fn words(self, rest: &[&str]) -> Vec<String> {
        let all = [&[self.name], self.options, self.damaged, rest].concat();
        all.into_iter().map(str::to_owned).collect()
    }

    fn run(self, dir: &Path, rest: &[&str]) -> Output {
        grouplog(dir, self.words(rest))
    }

    /// As a shell's words, with the program as $G.
    fn in_shell(self, rest: &str) -> String {
        format!("$G {} {rest}", self.words(&[]).join(" "))
    }

    fn spawn(self, dir: &Path) -> std::process::Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_grouplog"));
        command.current_dir(dir).args(self.words(&["--out", "new", "log"]));
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

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
    let compacted = VERBS[1].run(dir.path(), &["--out", "compacted", folder.to_str().unwrap()]);
    assert_eq!(compacted.status.code(), Some(3), "{}", said(&compacted));
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
        make(&dir.path().join(name));
        let before: Vec<_> = names_in(dir.path());
        // A dry run says so too.
        for (verb, dry) in VERBS.into_iter().flat_map(|verb| [(verb, &[][..]), (verb, &["--dry-run"])]) {
            let output = verb.run(dir.path(), &[&["--out", name, folder.to_str().unwrap()], dry].concat());
            let what = format!("{} {dry:?} to a {name}: {}", verb.name, said(&output));
            assert_eq!(output.status.code(), Some(1), "{what}");
            assert!(said(&output).contains("exists"), "{what}");
            assert!(output.stdout.is_empty(), "{what}");
            assert_eq!(names_in(dir.path()), before, "{what}");
        }
    }
    assert_eq!(names_in(&dir.path().join("folder")), Vec::<String>::new());
    assert_eq!(names_in(&dir.path().join("full")), ["file"]);
}

#[test]
fn a_place_that_cannot_be_is_refused() {
    let (dir, folder) = wrecked();
    let before = state(dir.path());
    let path = folder.to_str().unwrap();
    let inside = folder.join("new").display().to_string();
    let log_dir = dir.path().join("log");
    let inside_log_dir = log_dir.join("new").display().to_string();
    for verb in VERBS {
        for (out, why) in [("no/such/folder", "no such folder"), (inside.as_str(), "inside of what is read")] {
            let output = verb.run(dir.path(), &["--out", out, path]);
            assert_eq!(output.status.code(), Some(1), "{} {out}: {}", verb.name, said(&output));
            assert!(said(&output).contains(why), "{} {out}: {}", verb.name, said(&output));
        }
        std::fs::write(log_dir.join("meta.properties"), "version=1\n").unwrap();
        let output = verb.run(dir.path(), &["--out", &inside_log_dir, log_dir.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{}: {}", verb.name, said(&output));
        std::fs::remove_file(log_dir.join("meta.properties")).unwrap();
        assert!(before.keys().eq(state(dir.path()).keys()), "{}", verb.name);
        for (what, rest) in [("without --out", &[path][..]), ("twice", &["--out", "new", path, path])] {
            let output = verb.run(dir.path(), rest);
            assert_eq!(output.status.code(), Some(2), "{} {what}: {}", verb.name, said(&output));
        }
    }
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
    let before = state(dir.path());
    for verb in VERBS {
        let output =
            shell(dir.path(), &format!("trap '' XFSZ; ulimit -f 1024; exec {}", verb.in_shell("--out new log")));
        let what = format!("{}: {}", verb.name, said(&output));
        assert_eq!(output.status.code(), Some(1), "{what}");
        assert!(said(&output).contains("__consumer_offsets-0"), "{what}");
        assert!(said(&output).contains("limit on file sizes"), "{what}");
        assert!(state_of_files(dir.path()) == files_of(&before), "{what}");
    }
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
    let before = state_of_files(dir.path());
    for verb in VERBS {
        let on_disk = |size: &str, then: &str| {
            let mount = format!("mount -t tmpfs -o size={size} tmpfs disk");
            let work = verb.in_shell("--out disk/new log > /dev/null; echo $?");
            let output = shell(dir.path(), &format!("unshare -rm bash -c '{mount}; {then} {work}; du -sB1 disk'"));
            let printed = String::from_utf8_lossy(&output.stdout).replace("\tdisk\n", "");
            let (code, bytes) = printed.split_once('\n').map(|(code, bytes)| (code.to_owned(), bytes.parse())).unwrap();
            (code, bytes.unwrap(), format!("{} on {size}: {}", verb.name, said(&output)))
        };
        let (code, needs, what): (_, u64, _) = on_disk("64m", "");
        assert!(code == "0" && needs > 4 << 20, "{needs} {what}");
        // Also with room for the partition, and none for the report or half of it.
        let short = (1..6).map(|pages| (needs - pages * 4096).to_string());
        for size in ["4k", "64k", "1m", "3m"].map(str::to_owned).into_iter().chain(short) {
            let (code, left, what) = on_disk(&size, "");
            assert_eq!((code.as_str(), left), ("1", 0), "{what}");
            assert!(what.contains("free some space"), "{what}");
        }
        let (code, left, what) = on_disk("1m", "mount -o remount,ro disk;");
        assert_eq!((code.as_str(), left), ("1", 0), "{what}");
        assert!(what.contains("on a disk that can be written to"), "{what}");
        assert!(state_of_files(dir.path()) == before, "{}", verb.name);
    }
    assert_eq!(names_in(dir.path()), ["disk", "log"]);
}

/// A log dir of about so many bytes in one partition, of which nothing can go: every key is there once.
fn large(dir: &Path, bytes: usize) {
    let hull = Hull::of(2, Codec::None);
    let folder = hull.write(&dir.join("log"));
    let first = hull.batches.last().unwrap().last_offset + 1;
    let group = "once-00000000";
    let model = build::Bat::of((0..3).map(|i| build::commit(i, group, "orders", i as i32, 1)).collect()).bytes();
    let found = model.windows(group.len()).enumerate().filter(|(_, it)| *it == group.as_bytes());
    let places: Vec<_> = found.map(|(at, _)| at).collect();
    assert_eq!(places.len(), 3);
    let mut all = Vec::with_capacity(bytes);
    for i in (0..).take_while(|i| i * model.len() < bytes) {
        let mut batch = model.clone();
        batch[..8].copy_from_slice(&(first + 3 * i as i64).to_be_bytes());
        batch[12..16].copy_from_slice(&9i32.to_be_bytes());
        let group = format!("once-{i:08}");
        places.iter().for_each(|at| batch[*at..at + group.len()].copy_from_slice(group.as_bytes()));
        build::seal(&mut batch);
        all.extend_from_slice(&batch);
    }
    std::fs::write(folder.join(build::segment_name(first)), all).unwrap();
}

/// What must be there behind every run that is let go: its bytes, and how long that takes.
fn whole(verb: Verb, dir: &Path) -> (u64, Duration) {
    let start = std::time::Instant::now();
    let output = verb.run(dir, &["--out", "whole", "log"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    (bytes_below(&dir.join("whole")), start.elapsed())
}

/// Bytes of the files below a folder, which may vanish meanwhile.
fn bytes_below(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes_below(&entry.path())).sum(),
        Err(_) => std::fs::symlink_metadata(path).map_or(0, |it| it.len()),
    }
}

/// Folders that are yet without their name.
fn partials(dir: &Path) -> Vec<String> {
    names_in(dir).into_iter().filter(|name| name.starts_with("new.grouplog-partial-")).collect()
}

/// When to stop a run: how long it runs says little on a busy machine, how far it has come says all.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So long behind its start.
    After(Duration),
    /// When so much is written.
    Written(u64),
}

impl Moment {
    /// The next of many, from the start to nearly the end.
    fn of_round(round: u32, whole: (u64, Duration)) -> Moment {
        let part = f64::from(round / 3 % 8) / 8.0;
        match round % 3 {
            0 => Moment::After(whole.1.mul_f64(part)),
            _ => Moment::Written((whole.0 as f64 * part) as u64),
        }
    }

    /// Waits for it, or for the end of the run.
    fn wait(self, dir: &Path, old: &[String], child: &mut std::process::Child) {
        match self {
            Moment::After(time) => std::thread::sleep(time),
            Moment::Written(bytes) => {
                let is_there = |name: &String| !old.contains(name) && bytes_below(&dir.join(name)) >= bytes;
                while !partials(dir).iter().any(is_there) && child.try_wait().unwrap().is_none() {
                    std::thread::yield_now();
                }
            }
        }
    }
}

/// As many runs as may be needed until enough of them were stopped in time.
const MOST_ROUNDS: u32 = 240;

#[test]
fn signals_leave_nothing() {
    for verb in VERBS {
        let dir = tempfile::tempdir().unwrap();
        large(dir.path(), 32 << 20);
        let before = state(&dir.path().join("log"));
        let whole = whole(verb, dir.path());
        let (mut stopped, mut finished, mut round) = (0, 0, 0);
        while round < 24 || stopped < 12 {
            assert!(round < MOST_ROUNDS, "{}: {stopped} of {round} were stopped", verb.name);
            let signal = ["INT", "TERM", "HUP"][(round / 2) as usize % 3];
            let mut child = verb.spawn(dir.path());
            Moment::of_round(round, whole).wait(dir.path(), &[], &mut child);
            round += 1;
            let pid = child.id().to_string();
            let _ = Command::new("kill").args([&format!("-{signal}"), &pid]).stderr(Stdio::null()).status();
            let output = child.wait_with_output().unwrap();
            let what = format!("{} {signal}: {}", verb.name, said(&output));
            match output.status.code() {
                Some(1) => {
                    stopped += 1;
                    assert!(said(&output).contains("interrupted; nothing was written"), "{what}");
                    assert_eq!(names_in(dir.path()), ["log", "whole"], "{what}");
                }
                Some(0) => {
                    finished += 1;
                    assert!(state_of_names(&dir.path().join("new")) == state_of_names(&dir.path().join("whole")));
                    std::fs::remove_dir_all(dir.path().join("new")).unwrap();
                }
                // It came before signals are caught, and before anything is written.
                None => assert_eq!(names_in(dir.path()), ["log", "whole"], "{what}"),
                code => panic!("{code:?} {what}"),
            }
        }
        println!("{}: {stopped} stopped, {finished} finished", verb.name);
        assert!(before == state(&dir.path().join("log")), "{}", verb.name);
    }
}

/// Every file of a state, without when it was changed.
fn files_of(state: &BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) -> BTreeMap<PathBuf, Vec<u8>> {
    state.iter().map(|(path, (bytes, _))| (path.clone(), bytes.clone())).collect()
}

fn state_of_files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files_of(&state(dir))
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
    for verb in VERBS {
        let dir = tempfile::tempdir().unwrap();
        large(dir.path(), 32 << 20);
        let before = state(&dir.path().join("log"));
        let whole = whole(verb, dir.path());
        let (mut killed, mut round, mut old) = (0, 0, Vec::new());
        while round < 24 || killed < 12 || old.len() < 8 {
            assert!(round < MOST_ROUNDS, "{}: {killed} of {round} were killed, {old:?}", verb.name);
            let mut child = verb.spawn(dir.path());
            Moment::of_round(round, whole).wait(dir.path(), &old, &mut child);
            round += 1;
            child.kill().unwrap();
            let done = child.wait().unwrap().success();
            match std::fs::symlink_metadata(dir.path().join("new")) {
                // It was renamed, of which the process may not have come to tell.
                Ok(_) => {
                    assert!(state_of_names(&dir.path().join("new")) == state_of_names(&dir.path().join("whole")));
                    std::fs::remove_dir_all(dir.path().join("new")).unwrap();
                }
                Err(_) => {
                    assert!(!done, "{}", verb.name);
                    killed += 1;
                }
            }
            // The next run begins beside what this one left.
            old = partials(dir.path());
        }
        println!("{}: {killed} of {round} were killed, {} left something", verb.name, old.len());
        assert!(before == state(&dir.path().join("log")), "{}", verb.name);
        let output = verb.run(dir.path(), &["--out", "new", "log"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(old.first().is_some_and(|one| said(&output).contains(one)), "{}", said(&output));
        assert!(state_of_names(&dir.path().join("new")) == state_of_names(&dir.path().join("whole")));
    }
}

#[test]
fn a_log_dir_that_is_held_is_read_and_said_to_be_live() {
    let (dir, folder) = wrecked();
    let lock = dir.path().join("log/.lock");
    std::fs::write(&lock, "").unwrap();
    std::fs::write(dir.path().join("log/meta.properties"), "version=1\nnode.id=1\n").unwrap();
    let notes = |verb: &[&str]| said(&grouplog(dir.path(), verb.iter().copied().chain([folder.to_str().unwrap()])));
    let file = std::fs::OpenOptions::new().write(true).open(&lock).unwrap();
    for verb in
        [&["salvage", "--dry-run"][..], &["compact", "--dry-run"], &["info"], &["groups"], &["verify"], &["dump"]]
    {
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
