//! A map that remembers in which order its keys came, so that the oldest can be given up: Python's `OrderedDict`.
#![forbid(unsafe_code)]

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, RandomState};

use hashbrown::HashTable;

const NONE: u32 = u32::MAX;

struct Slot<K, V> {
    entry: Option<(K, V)>,
    hash: u64,
    before: u32,
    after: u32,
    serial: u64,
}

/// Where an entry is; it finds nothing any more once the entry was removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    slot: u32,
    serial: u64,
}

pub struct Fifo<K, V> {
    table: HashTable<u32>,
    slots: Vec<Slot<K, V>>,
    free: Vec<u32>,
    first: u32,
    last: u32,
    serial: u64,
    hasher: RandomState,
}

impl<K, V> Default for Fifo<K, V> {
    fn default() -> Self {
        let (first, last) = (NONE, NONE);
        Self {
            table: HashTable::new(),
            slots: vec![],
            free: vec![],
            first,
            last,
            serial: 0,
            hasher: RandomState::new(),
        }
    }
}

impl<K: Hash + Eq, V> Fifo<K, V> {
    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        if self.table.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(key);
        self.table.find(hash, |&slot| self.is_at(slot, key)).copied()
    }

    fn is_at<Q: Eq + ?Sized>(&self, slot: u32, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.slots[slot as usize].entry.as_ref().is_some_and(|(known, _)| known.borrow() == key)
    }

    pub fn contains<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_some()
    }

    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let slot = self.find(key)?;
        self.slots[slot as usize].entry.as_mut().map(|(_, value)| value)
    }

    pub fn place<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Place>
    where
        K: Borrow<Q>,
    {
        let slot = self.find(key)?;
        Some(Place { slot, serial: self.slots[slot as usize].serial })
    }

    pub fn at(&mut self, place: Place) -> Option<&mut V> {
        let slot = self.slots.get_mut(place.slot as usize)?;
        if slot.serial != place.serial {
            return None;
        }
        slot.entry.as_mut().map(|(_, value)| value)
    }

    /// A known key keeps its place in the order.
    pub fn insert(&mut self, key: K, value: V) -> Place {
        let hash = self.hasher.hash_one(&key);
        let slots = &self.slots;
        let known =
            self.table.find(hash, |&slot| slots[slot as usize].entry.as_ref().is_some_and(|(one, _)| *one == key));
        if let Some(&slot) = known {
            let found = &mut self.slots[slot as usize];
            found.entry = Some((key, value));
            return Place { slot, serial: found.serial };
        }
        self.serial += 1;
        let fresh = Slot { entry: Some((key, value)), hash, before: self.last, after: NONE, serial: self.serial };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = fresh;
            slot
        } else {
            self.slots.push(fresh);
            (self.slots.len() - 1) as u32
        };
        if self.last == NONE {
            self.first = slot;
        } else {
            self.slots[self.last as usize].after = slot;
        }
        self.last = slot;
        let slots = &self.slots;
        self.table.insert_unique(hash, slot, |&other| slots[other as usize].hash);
        Place { slot, serial: self.serial }
    }

    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let slot = self.find(key)?;
        self.take(slot)
    }

    pub fn pop_first(&mut self) -> Option<(K, V)> {
        if self.first == NONE { None } else { self.take(self.first) }
    }

    fn take(&mut self, slot: u32) -> Option<(K, V)> {
        let found = &mut self.slots[slot as usize];
        let (before, after, hash) = (found.before, found.after, found.hash);
        let entry = found.entry.take();
        if before == NONE {
            self.first = after;
        } else {
            self.slots[before as usize].after = after;
        }
        if after == NONE {
            self.last = before;
        } else {
            self.slots[after as usize].before = before;
        }
        if let Ok(known) = self.table.find_entry(hash, |&other| other == slot) {
            known.remove();
        }
        self.free.push(slot);
        entry
    }

    /// All entries, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let mut next = self.first;
        std::iter::from_fn(move || {
            let slot = self.slots.get(next as usize)?;
            next = slot.after;
            slot.entry.as_ref().map(|(key, value)| (key, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Fifo;

    #[test]
    fn the_oldest_goes_first_and_a_known_key_keeps_its_place() {
        let mut map: Fifo<Box<[u8]>, i32> = Fifo::default();
        for (number, key) in [&b"a"[..], b"b", b"c", b"a"].into_iter().enumerate() {
            map.insert(key.into(), number as i32);
        }
        let place = map.place(&b"a"[..]).unwrap();
        assert_eq!(map.at(place), Some(&mut 3));
        assert_eq!(map.pop_first().map(|(key, value)| (key[0], value)), Some((b'a', 3)));
        assert_eq!(map.at(place), None);
        assert_eq!(map.remove(&b"c"[..]).map(|(_, value)| value), Some(2));
        map.insert(b"d"[..].into(), 9);
        let left: Vec<_> = map.iter().map(|(key, value)| (key[0], *value)).collect();
        assert_eq!(left, [(b'b', 1), (b'd', 9)]);
    }
}
