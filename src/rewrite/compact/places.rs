//! Where the batches of a transaction stand, until it ends: most take two or three bytes.
//!
//! Must not know: what is done with them.

/// Ascending places, counted in bytes through all segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The first and the last; None while there is none. Most transactions have one batch.
    ends: Option<(u64, u64)>,
    /// From each to the next, seven bits a byte, the lowest first; of all but a step's last byte the highest bit is set.
    steps: Vec<u8>,
}

impl Places {
    /// One more, which must lie behind the last.
    pub fn push(&mut self, place: u64) {
        let Some((_, last)) = &mut self.ends else {
            self.ends = Some((place, place));
            return;
        };
        let mut step = place.saturating_sub(*last);
        *last = place;
        while step > 0x7f {
            self.steps.push(step as u8 | 0x80);
            step >>= 7;
        }
        self.steps.push(step as u8);
    }

    /// All, the first first.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let mut bytes = self.steps.iter();
        let first = self.ends.map(|(first, _)| first);
        std::iter::successors(first, move |last| {
            let (mut step, mut shift) = (0, 0);
            loop {
                let byte = *bytes.next()?;
                step |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return Some(last + step);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_come_back() {
        assert_eq!(Places::default().iter().count(), 0);
        let all = [0, 1, 128, 255, 256, 16_511, 1 << 20, (1 << 20) + 127, 1 << 41, u64::MAX >> 1];
        for from in 0..all.len() {
            let mut places = Places::default();
            all[from..].iter().for_each(|place| places.push(*place));
            assert_eq!(places.iter().collect::<Vec<_>>(), all[from..]);
        }
    }
}
