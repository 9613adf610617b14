//! Codes on transactions.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! transactions {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Transactions {
                OpenTransaction "open-transaction" Info {
                    means "A transaction with commits that has not ended. Fetches of its keys that ask for stable offsets answer 'unstable offset' meanwhile. A transaction is one finding, the gravest that fits: hanging-transaction, else cleaner-pinned, else this."
                    comes "An exactly-once application at work when the log was copied."
                    next "Nothing: it ends, or the coordinator aborts it at its timeout."
                    since "0.11 and later."
                }
                Hanging "hanging-transaction" Warning {
                    means "A transaction has been open for longer than any producer may ask for (--max-transaction-timeout, 15 minutes by default): it will not end by itself. Its keys stay unstable, and the cleaner stops in front of it: where it begins in a closed segment, the finding says how much that keeps from being cleaned."
                    comes "A marker that was lost, or a transactional write that arrived behind the marker (KIP-664, KIP-890)."
                    next "End it with the command of the finding. --start-offset lets the broker look up the rest, which brokers before 3.0 cannot: for them 'grouplog txns' has the command, for kafka-transactions.sh of a newer release."
                    since "0.11 and later; transaction.version 2 (4.0) keeps it from happening anew. kafka-transactions.sh since 3.0."
                }
                Pinned "cleaner-pinned" Warning {
                    means "The first open transaction begins in a closed segment, and is not open for long enough to hang: the cleaner takes nothing from there on, and the partition grows meanwhile."
                    comes "A transaction that is open while a segment is closed behind its first commit. One that does not end becomes a hanging-transaction."
                    next "Wait for its end: to abort what its producer is still at breaks exactly-once. If it does not end by itself it becomes a hanging-transaction, which has the command; 'grouplog txns --open' shows whose it is."
                    since "0.11 and later."
                }
            }
        }
    };
}
