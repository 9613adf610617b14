//! Codes on a partition as a whole.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! partitions {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Partitions {
                NoSegments "no-segments" Warning {
                    means "A partition folder without a segment that counts: it is empty, or what was in it is deleted or has another name."
                    comes "A partition that was just made or is being deleted, or a copy that took the wrong files."
                    next "Look at what is in the folder ('-v' lists it). 'grouplog salvage --include-leftovers' takes what .deleted files still hold."
                }
                SegmentUnreadable "segment-unreadable" Error {
                    means "What has the name of a segment cannot be read: a broken link, no regular file, no permission, or a failing disk. What it held is missing from everything else that is said."
                    comes "Permissions of another user, a symbolic link whose target was not copied, an error of the disk."
                    next "Run as the broker's user; look at the file and the disk ('dmesg'). Take a replica's copy if it stays unreadable."
                }
                SegmentTooLarge "segment-too-large" Error {
                    means "A segment's file is longer than 2147483647 bytes: a broker that meets it does not start."
                    comes "A file that was extended, or joined from others, by something else than a broker."
                    next "Cut off of a copy what stands behind the last batch, or let 'grouplog salvage' write what is in it anew."
                }
            }
        }
    };
}
