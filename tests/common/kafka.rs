//! Real brokers, by the scripts of tests/broker/.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long anything may take, in seconds: a broker that starts, one that loads.
const PATIENCE: &str = "120";

fn script(name: &str) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broker").join(name);
    let mut command = Command::new(path);
    command.env("KAFKA_WAIT", PATIENCE).stdin(Stdio::null());
    command
}

/// Whether these releases can run here; else says what is missing. What is not here yet is fetched through Maven.
pub fn ready(versions: &[&str]) -> bool {
    // One at a time: tests of one program run side by side.
    static FETCHING: Mutex<()> = Mutex::new(());
    let _alone = FETCHING.lock();
    for version in versions {
        let says = |what: &str| match script("kafka").args([what, version]).output() {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(missing) = says("ready").and_then(|_| says("fetch")).or_else(|| says("ready")) {
            println!("SKIPPED: no broker {version} here: {missing}");
            return false;
        }
    }
    true
}

/// Runs to the end and gives what was printed; fails with what was said if it fails.
fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output.stdout
}

/// A broker with a directory of its own. It is killed when this goes, also when a test fails.
pub struct Broker {
    dir: tempfile::TempDir,
    version: &'static str,
}

impl Broker {
    pub fn start(version: &'static str, options: &[&str]) -> Self {
        let broker = Broker { dir: tempfile::tempdir().unwrap(), version };
        let mut command = broker.command(&["start", version]);
        output(command.args(["port=auto"]).args(options));
        broker
    }

    /// Its directory, with data/ and broker.log.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("broker")
    }

    pub fn version(&self) -> &'static str {
        self.version
    }

    /// Where clients find it.
    pub fn address(&self) -> String {
        String::from_utf8(output(&mut self.command(&["port"]))).unwrap().trim().to_owned()
    }

    /// `kafka WORDS DIR`.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = script("kafka");
        command.args(words).arg(self.path());
        command
    }

    /// Runs steps of Driver.java, and keeps their clients alive and silent until the result is dropped. The clients are of
    /// 4.4, which older brokers serve as well.
    pub fn drive(&self, steps: &[&str]) -> Driver {
        let held = self.dir.path().join("held");
        let mut command = self.command(&["driver", "4.4.0"]);
        let child = command.args(steps).arg(format!("hold:{}", held.display())).spawn().unwrap();
        let mut driver = Driver { child, held };
        driver.wait();
        driver
    }

    /// Runs one of Kafka's tools by its short name, and gives what it printed.
    pub fn tool(&self, name: &str, args: &[&str]) -> String {
        let mut command = script("kafka");
        command.args(["run", self.version, name]).args(args);
        String::from_utf8(output(&mut command)).unwrap()
    }

    /// Stops it, has its data directory changed, and starts it again.
    pub fn restarted(&self, change: impl FnOnce(&Path)) {
        output(&mut self.command(&["stop"]));
        change(&self.path().join("data"));
        output(&mut self.command(&["start", self.version]));
    }

    /// What it says about its groups.
    pub fn truth(&self) -> Value {
        serde_json::from_slice(&output(&mut self.command(&["truth"]))).unwrap()
    }

    /// Copies its partitions of `__consumer_offsets`, and says what it said when nothing was written meanwhile.
    pub fn snapshot(&self, to: &Path) -> Value {
        for _ in 0..5 {
            let _ = std::fs::remove_dir_all(to);
            let before = self.truth();
            output(self.command(&["snapshot"]).arg(to));
            let after = self.truth();
            if ends(&before) == ends(&after) {
                return before;
            }
        }
        panic!("the log never came to rest");
    }
}

/// What one of Kafka's tools says of its options: the usage is no success to most of them.
pub fn help(version: &str, name: &str, args: &[&str]) -> String {
    let said = script("kafka").args(["run", version, name]).args(args).arg("--help").output().unwrap();
    String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned()
}

/// By partition, where its log begins and ends.
fn ends(truth: &Value) -> Vec<(&String, &Value, &Value)> {
    let partitions = truth["offsetsPartitions"].as_object().into_iter().flatten();
    partitions.map(|(number, said)| (number, &said["start"], &said["end"])).collect()
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.command(&["kill"]).output();
    }
}

/// Clients that live. They end when this goes.
pub struct Driver {
    child: Child,
    held: PathBuf,
}

impl Driver {
    fn wait(&mut self) {
        let begin = Instant::now();
        while !self.held.exists() {
            assert!(self.child.try_wait().unwrap().is_none(), "the driver ended early");
            assert!(begin.elapsed() < Duration::from_secs(400), "the driver takes too long");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.held);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a fresh broker says that was given a log dir as its own.
pub struct LoadedBack {
    pub truth: Value,
    /// By partition, the records and bytes that it counted; releases up to 3.9 count nothing.
    pub lines: Vec<(i32, u64, u64)>,
}

/// Gives a log dir to a fresh broker; fails if it refuses a partition, or cuts one.
pub fn load_back(version: &str, log_dir: &Path, options: &[String]) -> LoadedBack {
    let scratch = tempfile::tempdir().unwrap();
    let lines = scratch.path().join("lines");
    let needs_zookeeper = version.starts_with("2.");
    let mut command = script(if needs_zookeeper { "loadback-zk" } else { "loadback" });
    command.env("TMPDIR", scratch.path()).arg(version).arg(log_dir).arg(format!("lines={}", lines.display()));
    let output = command.args(options).output().unwrap();
    let said = std::fs::read_to_string(lines).unwrap_or_default();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let failed = errors.lines().filter_map(failed).map(|number| format!("{number}: {}\n", cause(&said, number)));
        panic!("{command:?}: {}\n{errors}{}", output.status, failed.collect::<String>());
    }
    let mut lines: Vec<_> = said.lines().filter_map(loaded_line).collect();
    lines.sort_unstable();
    lines.dedup();
    LoadedBack { truth: serde_json::from_slice(&output.stdout).unwrap(), lines }
}

/// `loadback: __consumer_offsets-41 failed to load`.
fn failed(line: &str) -> Option<&str> {
    line.split_once(": __consumer_offsets-")?.1.strip_suffix(" failed to load")
}

/// `... Finished loading of metadata from __consumer_offsets-41 with ... Loaded 59 records which total to 7129 bytes.`
fn loaded_line(line: &str) -> Option<(i32, u64, u64)> {
    let (_, from) = line.split_once("Finished loading of metadata from __consumer_offsets-")?;
    let (_, loaded) = from.split_once(" Loaded ")?;
    let (records, bytes) = loaded.split_once(" records which total to ")?;
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    Some((number(from)? as i32, number(records)?, number(bytes)?))
}

/// Which partitions of a log dir a fresh broker refuses, each with what it logged of the cause.
pub fn refused(version: &str, log_dir: &Path, options: &[String]) -> BTreeMap<i32, String> {
    let scratch = tempfile::tempdir().unwrap();
    let lines = scratch.path().join("lines");
    let mut command = script("loadback");
    command.env("TMPDIR", scratch.path()).arg(version).arg(log_dir).arg(format!("lines={}", lines.display()));
    let output = command.arg("ask=nothing").args(options).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // 3: some partition was refused. Anything else, also a log that the broker cut, would make the answer worthless.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{command:?}: {}\n{said}", output.status);
    let lines = std::fs::read_to_string(lines).unwrap();
    let failure = |line| failed(line).and_then(|number| Some((number.parse().ok()?, cause(&lines, number))));
    assert!(!said.contains("never finished"), "{said}");
    said.lines().filter_map(failure).collect()
}

/// The cause of a partition's failure: the innermost exception behind the first line that names the partition and fails.
fn cause(lines: &str, partition: &str) -> String {
    let name = format!("__consumer_offsets-{partition}");
    let names = |line: &str| {
        let fails = ["failed.", "Error loading", "Failed to load"].iter().any(|word| line.contains(word));
        let behind = line.split_once(&name).map(|(_, behind)| behind);
        fails && behind.is_some_and(|behind| !behind.starts_with(|c: char| c.is_ascii_digit()))
    };
    let mut lines = lines.lines().skip_while(|line| !names(line));
    let first = lines.next().unwrap_or_default();
    // Releases up to 4.1 say it in the line itself, around the record.
    let in_line = first.split_once(" due to ").map_or("", |(_, cause)| cause);
    let in_line = in_line.rsplit_once(" failed due to: ").map_or(in_line, |(_, cause)| cause);
    // Later ones in the trace below, among whose lines those of another thread can be. The broker's own lines begin with
    // the time.
    let trace = lines.take_while(|line| !line.starts_with(|c: char| c.is_ascii_digit()));
    let in_trace = trace.filter(|line| !line.starts_with('\t')).last().unwrap_or_default();
    let cause = if in_line.is_empty() { in_trace } else { in_line };
    cause.strip_prefix("Caused by: ").unwrap_or(cause).chars().take(160).collect()
}

/// Which partitions of a log dir the Scala coordinator of a release refuses, asked without a broker: see
/// tests/broker/OldLoader.java.
pub fn refused_by_old_loader(version: &str, log_dir: &Path) -> BTreeMap<i32, String> {
    let classes = output(script("kafka").args(["classes", version, "OldLoader"]));
    let mut command = script("kafka");
    command.env("KAFKA_CLASSPATH", String::from_utf8(classes).unwrap().trim());
    let said = String::from_utf8(output(command.args(["run", version, "OldLoader"]).arg(log_dir))).unwrap();
    let failed = |line: &str| {
        let (number, why) = line.split_once(" fails: ")?;
        Some((number.parse().ok()?, why.to_owned()))
    };
    said.lines().filter_map(failed).collect()
}
