//! One of two, and one of each.
//!
//! Must not know: what is compared.

/// One of two that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }

    /// `a` or `b`.
    pub fn name(self) -> &'static str {
        match self {
            Side::A => "a",
            Side::B => "b",
        }
    }
}

/// One of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pair<T> {
    /// Of the first.
    pub a: T,
    /// Of the second.
    pub b: T,
}

impl<T> Pair<T> {
    /// That of a side.
    pub fn of(&self, side: Side) -> &T {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    /// That of a side.
    pub fn of_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// The same done to both.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Pair<U> {
        Pair { a: f(self.a), b: f(self.b) }
    }

    /// Both, borrowed.
    pub fn each_ref(&self) -> Pair<&T> {
        Pair { a: &self.a, b: &self.b }
    }

    /// The side that has more of something, if one has.
    pub fn greater<U: Ord>(&self, of: impl Fn(&T) -> U) -> Option<Side> {
        match of(&self.a).cmp(&of(&self.b)) {
            std::cmp::Ordering::Less => Some(Side::B),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(Side::A),
        }
    }
}

impl<T: PartialEq> Pair<T> {
    /// Whether both are alike.
    pub fn is_alike(&self) -> bool {
        self.a == self.b
    }
}
