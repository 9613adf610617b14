//! Files made to take long: whatever a scan does at one place must not be done again at every place.
//!
//! Must not know: how a scan works, beyond that it looks for heads and checks CRCs.

use crate::build::{Bat, Rec, T0, commit, seal};

/// No CRC covers its offset.
fn batch(offset: i64) -> Vec<u8> {
    static ONE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let mut bytes = ONE.get_or_init(|| Bat::of(vec![commit(0, "g", "t", 0, 0)]).bytes()).clone();
    bytes[..8].copy_from_slice(&offset.to_be_bytes());
    bytes
}

/// A head that makes sense, of a batch so long, whose CRC is wrong.
fn head(offset: i64, length: usize) -> Vec<u8> {
    let mut head = batch(offset)[..61].to_vec();
    head[8..12].copy_from_slice(&(length as i32 - 12).to_be_bytes());
    head
}

/// Names and bytes, of about the length asked for.
pub fn files(length: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut files = Vec::new();
    let mut put = |name, period: &dyn Fn(i64, usize) -> Vec<u8>| {
        let mut bytes = Vec::new();
        let mut offset = 0;
        while bytes.len() < length {
            bytes.extend(period(offset, length - bytes.len()));
            offset += 10;
        }
        files.push((name, bytes));
    };
    let broken = |offset| {
        let mut batch = batch(offset);
        batch[70] ^= 1;
        batch
    };
    put("wrong CRCs, junk behind each", &|offset, _| [broken(offset), vec![7]].concat());
    put("right CRCs, junk behind each", &|offset, _| [batch(offset), vec![7; 3]].concat());
    put("right CRCs, all of one offset", &|_, _| [batch(5), vec![7; 3]].concat());
    put("rows of nine, junk behind each", &|offset, _| {
        [(0..9).flat_map(|i| batch(offset + i)).collect(), vec![9; 3]].concat()
    });
    put("heads that reach to the end", &|offset, left| head(offset, left.saturating_sub(1).max(200)));
    put("heads that reach to the end, good ones between", &|offset, left| {
        [head(offset, left.saturating_sub(1).max(200)), batch(offset + 1), batch(offset + 2)].concat()
    });
    put("heads of odd attributes that reach to the end, good ones between", &|offset, left| {
        let mut odd = head(offset, left.saturating_sub(1).max(200));
        odd[21] = 0x40;
        [odd, batch(offset + 1), batch(offset + 2)].concat()
    });
    put("heads of no magic that reach to the end, good ones between", &|offset, left| {
        let mut odd = head(offset, left.saturating_sub(1).max(200));
        odd[16] = 9;
        [odd, batch(offset + 1), batch(offset + 2)].concat()
    });
    put("zeros before heads that reach to the end, good ones between", &|offset, left| {
        let long = head(0, left.saturating_sub(40).max(200));
        [vec![0; 17], long[8..].to_vec(), batch(offset + 1), batch(offset + 2)].concat()
    });
    put("heads that reach beyond the end, good ones between", &|offset, _| {
        [head(offset, 1 << 30), batch(offset + 1), vec![1], batch(offset + 2)].concat()
    });
    put("heads over a mebibyte, wrong CRCs", &|offset, _| [head(offset, 1 << 20), vec![3; 40]].concat());
    put("magic bytes", &|_, _| vec![2; 4096]);
    put("zeros and ones", &|_, _| [vec![0; 20], vec![1]].concat());
    put("tiny records behind a head of no end, rows of two", &|offset, _| {
        let record = [12, 0, 0, 0, 1, 1, 0].repeat(100);
        [head(offset, 1 << 30), record, batch(offset + 1), batch(offset + 2), vec![7; 3]].concat()
    });
    put("old messages that reach to the end", &|offset, left| {
        let mut old = Bat { magic: 1, ..Bat::of(vec![commit(offset, "g", "t", 0, 1)]) }.bytes();
        old[8..12].copy_from_slice(&(left.saturating_sub(20).max(60) as i32).to_be_bytes());
        old
    });
    // One inside the value of the other, all sound.
    let mut nested = batch(0);
    while nested.len() < length.min(1 << 20) {
        let value = Some([nested.as_slice(), &[5; 200]].concat());
        nested = Bat::of(vec![Rec { offset: 0, timestamp: T0, key: Some(vec![0, 1]), value }]).bytes();
    }
    nested[70] ^= 1;
    seal(&mut nested[61..]);
    files.push(("one inside the other", nested));
    files
}
