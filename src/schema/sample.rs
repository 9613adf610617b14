//! Made-up messages for tests: every declaration can make one of any of its versions, reproducibly from a seed.
//!
//! Must not know: what is sampled.

/// A small generator of reproducible values (splitmix64).
#[derive(Debug, Clone)]
pub struct Sampler(u64);

const TEXTS: [&str; 10] = [
    "",
    "g",
    "orders",
    "a group with spaces",
    "grp-🚀",
    "größe",
    "quote \" backslash \\ tab \t nul \0",
    "__consumer_offsets",
    "/127.0.0.1",
    "a-text-of-more-than-one-hundred-and-twenty-eight-bytes-so-that-its-length-takes-two-bytes-as-a-varint-\
     and-one-more-so-that-nobody-can-say-that-it-was-just-at-the-edge",
];

impl Sampler {
    /// The same seed gives the same values.
    pub fn new(seed: u64) -> Self {
        Sampler(seed)
    }

    /// Any 64 bits; small numbers and the extremes are as likely as the rest.
    pub fn bits(&mut self) -> u64 {
        let any = self.next();
        match self.next() % 4 {
            0 => any % 8,
            1 => (any % 8).wrapping_neg(),
            2 => 1 << (any % 64),
            _ => any,
        }
    }

    /// A number from 0 to `n - 1`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Some text.
    pub fn text(&mut self) -> &'static str {
        let i = self.below(TEXTS.len() as u64) as usize;
        TEXTS.get(i).copied().unwrap_or_default()
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
