//! Where one thread writes events and others read them, without a lock between them.
//!
//! The thread that has the only [`Pen`] of a chunk writes events one after the other and says after each how many there are; whoever else has the
//! chunk reads those that were said to be there. Nothing is ever written over while somebody else has it.
#![allow(unsafe_code)]

use std::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::event::Event;

/// Events of a chunk: 64 KiB, so that a thread with few spans takes little.
pub(super) const EVENTS: usize = 1024;

/// A part of a thread's events.
pub(super) struct Chunk {
    /// How many have been written, from the start.
    written: AtomicUsize,
    events: Box<[UnsafeCell<MaybeUninit<Event>>]>,
}

// SAFETY: events below `written` are only read, others are touched by the one pen alone; events themselves may be sent and shared.
unsafe impl Sync for Chunk {}
// SAFETY: as above.
unsafe impl Send for Chunk {}

/// What an event must allow for the promises above.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Event>();
};

impl Chunk {
    /// The events written so far.
    pub(super) fn events(&self) -> &[Event] {
        let written = self.written.load(Ordering::Acquire);
        // SAFETY: so many were written before the number was, and are not written again while the chunk is shared; the types have one layout.
        unsafe { std::slice::from_raw_parts(self.events.as_ptr().cast::<Event>(), written) }
    }

    /// Forgets all events.
    fn clear(&mut self) {
        let written = std::mem::take(self.written.get_mut());
        for slot in &mut self.events[..written] {
            // SAFETY: the first `written` hold an event, and the number is 0 by now: each is dropped once.
            unsafe { slot.get_mut().assume_init_drop() };
        }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The right to write to a chunk: one per chunk, and it cannot be copied.
pub(super) struct Pen(Arc<Chunk>);

impl Pen {
    /// An empty chunk.
    pub(super) fn new() -> Pen {
        let events = std::iter::repeat_with(|| UnsafeCell::new(MaybeUninit::uninit())).take(EVENTS).collect();
        Pen(Arc::new(Chunk { written: AtomicUsize::new(0), events }))
    }

    /// The chunk, for readers.
    pub(super) fn chunk(&self) -> Arc<Chunk> {
        self.0.clone()
    }

    /// Where the next event goes; `None` if the chunk is full.
    #[inline]
    pub(super) fn slot(&mut self) -> Option<Slot<'_>> {
        // Nobody else changes it.
        let at = self.0.written.load(Ordering::Relaxed);
        self.0.events.get(at).map(|slot| Slot { written: &self.0.written, at, slot })
    }

    /// The pen of a chunk that nobody else has, emptied.
    pub(super) fn of(mut chunk: Arc<Chunk>) -> Option<Pen> {
        // The only holder is also the only one who could have a pen.
        Arc::get_mut(&mut chunk)?.clear();
        Some(Pen(chunk))
    }

    /// Empties the chunk, if nobody reads it any more.
    pub(super) fn reuse(&mut self) -> bool {
        Arc::get_mut(&mut self.0).map(Chunk::clear).is_some()
    }
}

/// Room for one event, of the pen that it borrows.
pub(super) struct Slot<'a> {
    written: &'a AtomicUsize,
    at: usize,
    slot: &'a UnsafeCell<MaybeUninit<Event>>,
}

impl Slot<'_> {
    /// Writes the event, and says that it is there.
    #[inline]
    pub(super) fn write(self, event: Event) {
        // SAFETY: the slot is not among the written ones, so nobody reads it; there is one pen, whose borrow this has, so nobody else writes it.
        unsafe { (*self.slot.get()).write(event) };
        self.written.store(self.at + 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{
        Kind, Name,
        event::{Event, What},
    };

    fn event(start: u64, name: Name) -> Event {
        Event { start, end: start, place: None, what: What::Part(Kind::Scope, name) }
    }

    #[test]
    fn readers_see_what_was_written_while_it_is_written() {
        let mut pen = Pen::new();
        let chunk = pen.chunk();
        let reader = std::thread::spawn(move || {
            let mut most = 0;
            while most < EVENTS {
                let events = chunk.events();
                assert!(events.len() >= most);
                most = events.len();
                if let Some(Event { start, what: What::Part(_, name), .. }) = events.last() {
                    assert_eq!((*start, name.as_str()), (most as u64 - 1, &*format!("{}", most - 1)));
                }
            }
        });
        for at in 0..EVENTS as u64 {
            pen.slot().unwrap().write(event(at, format!("{at}").into()));
        }
        assert!(pen.slot().is_none(), "a full chunk has no room");
        reader.join().unwrap();
    }

    #[test]
    fn events_are_dropped_once_and_not_while_somebody_reads() {
        let shared: Arc<str> = "shared".into();
        let mut pen = Pen::new();
        pen.slot().unwrap().write(event(1, Name::Made(shared.clone())));
        let reader = pen.chunk();
        assert!(!pen.reuse() && Pen::of(pen.chunk()).is_none());
        assert_eq!((Arc::strong_count(&shared), reader.events().len()), (2, 1));
        drop(reader);
        assert!(pen.reuse());
        assert_eq!((Arc::strong_count(&shared), pen.chunk().events().len()), (1, 0));
    }
}
