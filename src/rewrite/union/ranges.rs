//! Ranges of offsets, from the first to the last of each: ascending, without overlaps.
//!
//! Must not know: what the offsets hold.

/// From the first to the last.
pub(in crate::rewrite) type Range = (i64, i64);

/// All of them in order, those that overlap or follow each other as one.
pub(in crate::rewrite) fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    let mut out: Vec<Range> = Vec::new();
    for (first, last) in ranges {
        match out.last_mut() {
            Some((_, before)) if first <= before.saturating_add(1) => *before = (*before).max(last),
            _ => out.push((first, last)),
        }
    }
    out
}

/// Whether an offset is in one of them.
pub(in crate::rewrite) fn has(ranges: &[Range], offset: i64) -> bool {
    let near = ranges.partition_point(|(_, last)| *last < offset);
    ranges.get(near).is_some_and(|(first, _)| *first <= offset)
}

/// What both have.
pub(in crate::rewrite) fn common(ours: &[Range], theirs: &[Range]) -> Vec<Range> {
    let mut out = Vec::new();
    for &(first, last) in ours {
        let from = theirs.partition_point(|(_, end)| *end < first);
        let near = theirs.get(from..).unwrap_or_default().iter().take_while(|(start, _)| *start <= last);
        out.extend(near.map(|&(start, end)| (start.max(first), end.min(last))));
    }
    out
}

/// What of one the others have not.
pub(in crate::rewrite) fn without(range: Range, others: &[Range]) -> Vec<Range> {
    let mut out = Vec::new();
    let (mut from, last) = range;
    let behind = others.partition_point(|(_, end)| *end < from);
    for &(start, end) in others.get(behind..).unwrap_or_default().iter().take_while(|(start, _)| *start <= last) {
        if start > from {
            out.push((from, start - 1));
        }
        match end.checked_add(1).filter(|next| *next <= last) {
            Some(next) => from = next,
            None => return out,
        }
    }
    out.push((from, last));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_sets_of_offsets() {
        let all: Vec<Vec<Range>> =
            vec![vec![], vec![(0, 3)], vec![(2, 2), (5, 9)], vec![(1, 4), (8, 8)], vec![(0, 20)], vec![(7, i64::MAX)]];
        let naive = |ranges: &[Range], at: i64| ranges.iter().any(|(first, last)| (*first..=*last).contains(&at));
        for a in &all {
            for b in &all {
                let both = common(a, b);
                let one = merged([a.clone(), b.clone()].concat());
                let range = (3, 12);
                let rest = without(range, b);
                for at in -1..25 {
                    assert_eq!(has(a, at), naive(a, at), "{a:?} {at}");
                    assert_eq!(has(&both, at), has(a, at) && has(b, at), "{a:?} {b:?} {at}");
                    assert_eq!(has(&one, at), has(a, at) || has(b, at), "{a:?} {b:?} {at}");
                    assert_eq!(has(&rest, at), (3..=12).contains(&at) && !has(b, at), "{b:?} {at}");
                }
            }
        }
    }
}
