//! A file mapped into memory, whole and read-only, and what keeps that safe.
//!
//! Must not know: what the bytes are.
//!
//! A file that another process truncates takes its mapped pages with it: touching one raises SIGBUS, which would
//! kill the process. [`Mapping::open`] installs a handler that puts a page of zeros in place of the lost one and
//! marks the mapping, so that the scan ends in a fault instead.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

/// How much is asked for ahead of a scan, and dropped behind it, at a time: 4 MiB. Smaller windows cost more system calls
/// for nothing.
pub const WINDOW: usize = 4 << 20;

/// How much a scan holds behind the window it is in, for who goes back to what it has passed, as to a transaction that has
/// ended. Resident memory stays below this and two windows, however long the file is.
pub const HELD: usize = 3 * WINDOW;

/// A file mapped whole and read-only. Its length is taken once: what is appended later is not seen.
#[derive(Debug)]
pub struct Mapping {
    /// Before the map, so that it is dropped first: its addresses may be another mapping's as soon as the map is gone.
    slot: Option<guard::Slot>,
    /// None for an empty file, which cannot be mapped.
    map: Option<memmap2::Mmap>,
    file: File,
}

impl Mapping {
    /// Maps a file, read-only.
    ///
    /// # Errors
    /// If it cannot be opened or mapped (a folder or a pipe cannot), or if too many are mapped at once (16384).
    pub fn open(path: &Path) -> io::Result<Mapping> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        if metadata.len() == 0 {
            return Ok(Mapping { map: None, file, slot: None });
        }
        // SAFETY: the mapping is private and read-only. Another process may still change or truncate the file: all
        // readers treat the bytes as hostile and never rely on reading the same value twice for memory safety, and
        // lost pages are met by the guard below. The same bargain as every reader that maps files it does not own.
        let map = unsafe { memmap2::MmapOptions::new().map(&file)? };
        let slot = guard::register(map.as_ptr() as usize, map.len())?;
        Ok(Mapping { map: Some(map), file, slot })
    }

    /// The bytes. Those that were cut off after the file was mapped read as zeros.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }

    /// Whether the file is now shorter than it was when mapped, or a page of it could not be read. Asks the file
    /// system, so not for hot paths.
    pub fn was_cut(&self) -> bool {
        self.lost_pages() || self.is_shorter()
    }

    /// Whether the file is now shorter than it was when mapped.
    pub fn is_shorter(&self) -> bool {
        self.length_now() < self.bytes().len() as u64
    }

    /// The file's length at this moment, in bytes; 0 if it cannot be told.
    pub fn length_now(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Whether a page was found missing and replaced by zeros: the file was cut, or the disk could not read it.
    pub fn lost_pages(&self) -> bool {
        self.slot.as_ref().is_some_and(guard::Slot::was_hit)
    }

    /// Tells the kernel that a scan has come to `at`, in bytes from the start: the window it lies in is read and mapped
    /// whole. Not where nothing has to be read: then that only costs, some 5 % of a run that checks CRCs.
    pub fn prepare(&self, at: usize) {
        if reads_from_disk() {
            let start = at - at % WINDOW;
            self.advise(start..start.saturating_add(WINDOW), AHEAD);
        }
    }

    /// Tells the kernel that the windows which begin in a range of bytes may leave memory. Slices of them stay good;
    /// touching them reads the pages again.
    pub fn release(&self, range: Range<usize>) {
        let whole = range.start - range.start % WINDOW..range.end.next_multiple_of(WINDOW);
        if range.start < range.end {
            self.advise(whole, &[BEHIND]);
        }
    }

    /// Gives the first advice that the kernel takes about a range that begins on a window.
    #[cfg(unix)]
    fn advise(&self, range: Range<usize>, advice: &[libc::c_int]) {
        let bytes = self.bytes();
        let Some(window) = bytes.get(range.start..range.end.min(bytes.len())) else { return };
        for &advice in advice {
            // SAFETY: the range lies inside this live mapping, and WINDOW is a multiple of every page size, so that it
            // starts on a page. All advices used are hints on a file mapping that never change what the bytes read as.
            if unsafe { libc::madvise(window.as_ptr().cast_mut().cast(), window.len(), advice) } == 0 {
                return;
            }
        }
    }

    #[cfg(not(unix))]
    fn advise(&self, _range: Range<usize>, _advice: &[i32]) {}
}

/// Populating maps a whole window in one call; kernels before 5.14 do not know it and are asked to read ahead.
#[cfg(target_os = "linux")]
const AHEAD: &[libc::c_int] = &[libc::MADV_POPULATE_READ, libc::MADV_WILLNEED];
#[cfg(all(unix, not(target_os = "linux")))]
const AHEAD: &[libc::c_int] = &[libc::MADV_WILLNEED];
#[cfg(unix)]
const BEHIND: libc::c_int = libc::MADV_DONTNEED;
#[cfg(not(unix))]
const AHEAD: &[i32] = &[];
#[cfg(not(unix))]
const BEHIND: i32 = 0;

/// Whether this thread had to wait for a disk in one of the last windows.
#[cfg(target_os = "linux")]
fn reads_from_disk() -> bool {
    use std::cell::Cell;
    /// What is read ahead is not waited for: so many windows are, once one was. What the program itself was waited for
    /// before the first window does not count.
    const WINDOWS: u32 = 64;
    thread_local! {
        static MET: Cell<(libc::c_long, u32)> = const { Cell::new((libc::c_long::MAX, 0)) };
    }
    // SAFETY: a plain system call that fills a structure of this thread's, for which zeros are valid.
    let faults = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_majflt
    };
    let (before, windows) = MET.get();
    let windows = if faults > before { WINDOWS } else { windows.saturating_sub(1) };
    MET.set((faults, windows));
    windows > 0
}

#[cfg(not(target_os = "linux"))]
fn reads_from_disk() -> bool {
    true
}

#[cfg(not(unix))]
mod guard {
    #[derive(Debug)]
    pub struct Slot;

    impl Slot {
        pub fn was_hit(&self) -> bool {
            false
        }
    }

    pub fn register(_start: usize, _length: usize) -> std::io::Result<Option<Slot>> {
        Ok(None)
    }
}

#[cfg(unix)]
mod guard {
    //! The table of mappings that the signal handler looks into, and the handler.

    use std::io;
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Mappings alive at once. Linux allows 65530 a process.
    const SLOTS: usize = 16384;
    const FREE: usize = 0;
    const CLAIMED: usize = 1;

    struct Entry {
        /// FREE, CLAIMED, or the first address: written last, so that a handler never sees half an entry.
        start: AtomicUsize,
        end: AtomicUsize,
        hit: AtomicBool,
    }

    static TABLE: [Entry; SLOTS] =
        [const { Entry { start: AtomicUsize::new(FREE), end: AtomicUsize::new(0), hit: AtomicBool::new(false) } };
            SLOTS];
    static PAGE: AtomicUsize = AtomicUsize::new(4096);
    static INSTALL: Once = Once::new();

    /// One mapping's place in the table, free again when dropped.
    #[derive(Debug)]
    pub struct Slot(usize);

    impl Slot {
        pub fn was_hit(&self) -> bool {
            TABLE.get(self.0).is_some_and(|entry| entry.hit.load(Ordering::Acquire))
        }
    }

    impl Drop for Slot {
        fn drop(&mut self) {
            if let Some(entry) = TABLE.get(self.0) {
                entry.start.store(FREE, Ordering::Release);
            }
        }
    }

    pub fn register(start: usize, length: usize) -> io::Result<Option<Slot>> {
        INSTALL.call_once(install);
        let free = TABLE
            .iter()
            .position(|entry| entry.start.compare_exchange(FREE, CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok());
        let (Some(index), Some(entry)) = (free, free.and_then(|index| TABLE.get(index))) else {
            return Err(io::Error::other(format!("more than {SLOTS} files mapped at once")));
        };
        entry.end.store(start + length, Ordering::Relaxed);
        entry.hit.store(false, Ordering::Relaxed);
        entry.start.store(start, Ordering::Release);
        Ok(Some(Slot(index)))
    }

    fn install() {
        // SAFETY: plain system calls. The action is zeroed, as C code does it, and then filled: a handler of the
        // three-argument form, which SA_SIGINFO announces. If it cannot be installed, a cut file kills the process as
        // it would without it.
        unsafe {
            if let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
                PAGE.store(page.max(4096), Ordering::Relaxed);
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_sigbus as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
    }

    /// Runs in signal context: touches atomics and calls mmap, sigaction only. Allocates nothing, locks nothing.
    extern "C" fn on_sigbus(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
        // SAFETY: the kernel passes a valid siginfo to a handler installed with SA_SIGINFO.
        let address = unsafe { (*info).si_addr() } as usize;
        for entry in &TABLE {
            let start = entry.start.load(Ordering::Acquire);
            if start > CLAIMED && (start..entry.end.load(Ordering::Relaxed)).contains(&address) {
                entry.hit.store(true, Ordering::Release);
                if put_zeros(address) {
                    return;
                }
            }
        }
        // Not ours: leave the signal to its default action, which the repeated access then meets.
        // SAFETY: as in `install`, with the default action.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }

    fn put_zeros(address: usize) -> bool {
        let page = PAGE.load(Ordering::Relaxed);
        let start = address - address % page;
        // SAFETY: replaces one page that lies inside a live mapping of ours (the caller looked it up) and that no read
        // can succeed on; a page of zeros is a valid value for the bytes a reader is waiting for. mmap is a bare system
        // call and leaves locks alone.
        let got = unsafe {
            libc::mmap(
                start as *mut libc::c_void,
                page,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        got as usize == start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_empty_file_is_no_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let map = Mapping::open(file.path()).unwrap();
        assert!(map.bytes().is_empty());
        assert!(!map.was_cut());
        map.prepare(0);
        map.release(0..100);
    }

    #[test]
    fn a_folder_is_an_error() {
        assert!(Mapping::open(tempfile::tempdir().unwrap().path()).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn a_cut_file_reads_as_zeros() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 300_000]).unwrap();
        let map = Mapping::open(file.path()).unwrap();
        let other = Mapping::open(file.path()).unwrap();
        map.prepare(0);
        assert_eq!(map.bytes().iter().map(|&b| u64::from(b)).sum::<u64>(), 7 * 300_000);
        file.as_file().set_len(10_000).unwrap();
        assert!(map.is_shorter());
        assert!(!map.lost_pages());
        assert!(map.bytes().get(10_000..).unwrap().iter().all(|&b| b == 0));
        assert!(map.lost_pages() && map.was_cut());
        assert!(!other.lost_pages());
        drop(map);
        assert_eq!(other.bytes().first(), Some(&7));
        assert_eq!(other.bytes().last(), Some(&0));
    }
}
