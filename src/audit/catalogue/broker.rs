//! Codes on what a release would make of the partition.
//!
//! Must not know: how any of it is found.

/// Declares them, and hands them on to the next area.
macro_rules! broker {
    ($next:ident $($more:ident)* => $($before:tt)*) => {
        $next! {
            $($more)* => $($before)*
            Broker {
                Unloadable "unloadable" Error {
                    means "The group coordinator of a release does not load this partition. Up to 3.9 the old coordinator then serves it as if it were empty, so that every group of it starts over; the new one leaves it without a coordinator (NOT_COORDINATOR, error 16)."
                    comes "One record is enough: see broker-refuses. At a segment that is too large (segment-too-large) the whole broker ends."
                    next "The findings of broker-refuses name the records. 'grouplog salvage --drop-unloadable X.Y' writes a copy without them."
                    since "The old coordinator up to 3.9; the new one from 3.7 (preview) and 4.0 on."
                }
                BrokerRefuses "broker-refuses" Error {
                    means "A record at which the group coordinator of a release stops when it loads the partition. All groups of the partition share the fate."
                    comes "A downgrade, an early-access release, a compaction that took away what a later record needs (KAFKA-17306, KAFKA-20254), or foreign records."
                    next "'grouplog salvage --drop-unloadable X.Y' writes a copy without it; what the record said is then lost for its group only."
                    since "As the finding says, by release."
                }
                BrokerSkips "broker-skips" Info {
                    means "Records of types that a release does not know, which its coordinator passes over."
                    comes "A newer release wrote them."
                    next "Nothing; what they say is not there for that release."
                    since "3.5 and later, and patched older releases (KIP-915)."
                }
                More "more" Info {
                    means "Findings of one code that are not listed one by one."
                    comes "Damage or a habit that concerns very many records."
                    next "'grouplog dump' shows every one."
                }
            }
        }
    };
}
