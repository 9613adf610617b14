//! Commits that wait to be counted, so that what is known of their keys is in the processor's cache by then.
//!
//! Must not know: rows, and what is counted of a commit.

use super::keys::NOBODY;

/// So many commits wait.
const WINDOW: usize = 64;

/// A record of a committed offset, tombstones too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Commit {
    /// Its share of the stored bytes.
    pub bytes: u64,
    /// Whether it stays in a compaction.
    pub live: bool,
    /// In ms since 1970; below 0 for none.
    pub time: i64,
    /// Whether it has a value.
    pub has_value: bool,
    /// The offset in the value, if that is long enough.
    pub offset: Option<i64>,
    /// 0 or 1.
    pub record_type: u8,
    /// -1 for none.
    pub producer_id: i64,
}

/// A commit that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub partition: i32,
    pub commit: Commit,
    /// Of its group and topic.
    pub hash: u32,
    /// The number of these, as soon as it is looked up.
    pub prefix: u32,
    /// The number of its row, as soon as that is looked up.
    pub row: u32,
    /// Where group and topic lie in [`Window::text`]: those of the commit before, if they are the same.
    from: u32,
    to: u32,
}

/// All that waits, in the order of the log.
#[derive(Debug, Default)]
pub(super) struct Window {
    text: Vec<u8>,
    pub waiting: Vec<Waiting>,
}

impl Window {
    /// Appends a commit of a group to a topic (two counted strings) and a partition; `hash` is asked for where they are
    /// not those of the commit before. Whether the window is full.
    #[inline(always)]
    pub fn push(&mut self, prefix: &[u8], partition: i32, commit: Commit, hash: impl FnOnce(&[u8]) -> u32) -> bool {
        let last = self.waiting.last().copied();
        let same = last.filter(|last| self.prefix(last) == prefix);
        let (hash, from, to) = match same {
            Some(last) => (last.hash, last.from, last.to),
            None => {
                let from = self.text.len();
                self.text.extend_from_slice(prefix);
                (hash(prefix), from as u32, self.text.len() as u32)
            }
        };
        self.waiting.push(Waiting { partition, commit, hash, prefix: NOBODY, row: NOBODY, from, to });
        self.waiting.len() >= WINDOW
    }

    /// The group and topic of a commit.
    #[inline(always)]
    pub fn prefix(&self, of: &Waiting) -> &[u8] {
        self.text.get(of.from as usize..of.to as usize).unwrap_or_default()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.text.clear();
        self.waiting.clear();
    }
}
