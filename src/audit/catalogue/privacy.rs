//! Codes on what a copy of the log gives away.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! privacy {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Privacy {
                Addresses "client-addresses" Info {
                    means "The logs name the hosts that members connect from. Whoever gets a copy of them gets these. It is said once for all partitions that were read."
                    comes "Every group record holds client id and address of its members."
                    next "Mind whom you give copies to."
                }
                Secret "secret-in-metadata" Warning {
                    means "Text that looks like a password, a token or a key, in commit metadata, a client id, a group id or what members tell each other. Everyone who may describe the group can read it; it is not shown here."
                    comes "An application that stores state or configuration in the metadata of its commits, or a URL with a password in a worker's address."
                    next "Change the secret, fix the client, and commit anew: the old record goes with the next cleaning."
                }
            }
        }
    };
}
