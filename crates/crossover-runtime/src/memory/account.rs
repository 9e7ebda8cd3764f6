//! The account of one device: what is held, what others take, what the budget is, and how near its end is.
//!
//! Always: what is held, as far as the account knows, never exceeds the room that the budget and others leave. `held` is an upper
//! bound. A backend whose pool may serve an allocation from memory it has already counts the allocation all the same, and says
//! what the pool really holds ([`settle`](Account::settle)) when the bound would cross a mark. With plenty of room an allocation
//! is two additions.

use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

use parking_lot::Mutex;

use super::{DeviceMemory, Level, Limit, Limits, PressureEvent};

/// Bytes by kind, on one device.
#[derive(Debug)]
pub struct Account {
    total: u64,
    budget: u64,
    /// Bytes of others that do not count.
    tolerated: u64,
    /// What the pool grows by: an allocation may cost up to the next multiple of it.
    grain: u64,
    live: AtomicU64,
    /// Live and cached, at most.
    held: AtomicU64,
    /// Allocations that have been counted and not made yet.
    pending: AtomicU64,
    external: AtomicU64,
    peak: AtomicU64,
    peak_held: AtomicU64,
    /// Allocations served from memory that was held for sure.
    hits: AtomicU64,
    /// Allocations that may have taken fresh memory.
    asked: AtomicU64,
    /// Those among them that did not, as was found out later.
    served: AtomicU64,
    /// One at a time says what is really held: two who correct the same bound would correct it twice.
    settling: Mutex<()>,
    /// What was held, and how many had asked, when that was last looked at.
    seen: Mutex<(u64, u64)>,
    refused: AtomicU64,
    /// Bytes held at which the level has to be looked at again.
    mark: AtomicU64,
    level: AtomicU8,
    /// Whether the level has risen to where cleaning up is due.
    alarm: AtomicBool,
    /// Whether there are events that nobody has been told.
    news: AtomicBool,
    events: Mutex<Vec<PressureEvent>>,
}

/// Events that wait to be told at most; older ones give way.
const EVENTS: usize = 64;

/// Whether an allocation may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It has been counted.
    Granted,
    /// It would cross a mark: say what is really held, then ask again.
    Unclear,
    /// The budget does not allow it.
    Refused,
}

impl Account {
    /// The account of a device with so many bytes.
    pub fn new(total: u64, limits: Limits) -> Account {
        Account::with(total, limits.limit)
    }

    fn with(total: u64, limit: Limit) -> Account {
        let budget = limit.of(total);
        let account = Account {
            total,
            budget,
            tolerated: limit.tolerated(total),
            grain: 1,
            live: AtomicU64::new(0),
            held: AtomicU64::new(0),
            pending: AtomicU64::new(0),
            external: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            peak_held: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            served: AtomicU64::new(0),
            settling: Mutex::default(),
            seen: Mutex::default(),
            refused: AtomicU64::new(0),
            mark: AtomicU64::new(0),
            level: AtomicU8::new(0),
            alarm: AtomicBool::new(false),
            news: AtomicBool::new(false),
            events: Mutex::default(),
        };
        account.mark.store(account.next_mark(Level::Normal), Relaxed);
        account
    }

    /// Counts allocations in multiples of so many bytes until the pool has said what it really holds.
    pub fn with_grain(mut self, bytes: u64) -> Account {
        self.grain = bytes.max(1);
        self
    }

    /// By how much a pool may grow for an allocation.
    fn growth(&self, bytes: u64) -> u64 {
        bytes.checked_next_multiple_of(self.grain).unwrap_or(u64::MAX)
    }

    /// Most bytes that this process may hold, whatever others take.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Bytes that others take and that count.
    fn counted(&self) -> u64 {
        self.external.load(Relaxed).saturating_sub(self.tolerated)
    }

    /// Most bytes that may be held now.
    pub fn most(&self) -> u64 {
        self.budget.saturating_sub(self.counted())
    }

    /// Bytes that another allocation could have if everything cached were given back.
    pub fn room(&self) -> u64 {
        self.most().saturating_sub(self.live.load(Relaxed))
    }

    /// Bytes in use.
    pub fn live(&self) -> u64 {
        self.live.load(Relaxed)
    }

    /// The most that was live at once.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed)
    }

    /// Allocations so far that were not served from memory held for sure.
    pub fn asked(&self) -> u64 {
        self.asked.load(Relaxed)
    }

    /// Notes what a pool really holds, as it says itself. It grows by a grain or more for an allocation that it cannot serve, so no more
    /// allocations than it has grown by grains were not served from what it had.
    pub fn audit(&self, held: u64) {
        let mut seen = self.seen.lock();
        let asked = self.asked.load(Relaxed);
        let grown = held.saturating_sub(seen.0).div_ceil(self.grain);
        self.served.fetch_add(asked.saturating_sub(seen.1).saturating_sub(grown), Relaxed);
        *seen = (held, asked);
    }

    /// How near the end is, as last judged.
    pub fn level(&self) -> Level {
        Level::from_index(self.level.load(Relaxed))
    }

    /// Counts an allocation before it is made, or says why not. Whoever is granted one calls [`made`](Account::made) or
    /// [`unmade`](Account::unmade).
    pub fn ask(&self, bytes: u64) -> Admission {
        if !self.count(bytes, self.mark.load(Relaxed)) {
            return Admission::Unclear;
        }
        Admission::Granted
    }

    /// As [`ask`](Account::ask), when what is held has just been settled: beyond the next mark, up to the budget.
    pub fn ask_settled(&self, bytes: u64) -> Admission {
        if !self.count(bytes, self.most()) {
            return Admission::Refused;
        }
        self.judge();
        Admission::Granted
    }

    /// Counts an allocation if no more than so many bytes are held then.
    fn count(&self, bytes: u64, most: u64) -> bool {
        let growth = self.growth(bytes);
        // Before it is held: whoever settles meanwhile finds it in one of the two.
        self.pending.fetch_add(growth, SeqCst);
        let held = self
            .held
            .fetch_update(SeqCst, SeqCst, |held| held.checked_add(growth).filter(|&after| after <= most));
        if held.is_err() {
            subtract(&self.pending, growth);
            return false;
        }
        self.asked.fetch_add(1, Relaxed);
        self.raise(bytes);
        true
    }

    /// Notes that an allocation has been refused for good.
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Counts bytes that are in use from now on.
    fn raise(&self, bytes: u64) {
        let live = self.live.fetch_add(bytes, Relaxed) + bytes;
        if live > self.peak.load(Relaxed) {
            self.peak.fetch_max(live, Relaxed);
        }
    }

    /// The allocation has been made.
    pub fn made(&self, bytes: u64) {
        subtract(&self.pending, self.growth(bytes));
    }

    /// The allocation could not be made.
    pub fn unmade(&self, bytes: u64) {
        subtract(&self.pending, self.growth(bytes));
        subtract(&self.live, bytes);
        subtract(&self.held, self.growth(bytes));
    }

    /// Counts an allocation that was served from memory held already.
    pub fn reused(&self, bytes: u64) {
        self.hits.fetch_add(1, Relaxed);
        self.raise(bytes);
    }

    /// A block is not used any more and stays held.
    pub fn kept(&self, bytes: u64) {
        subtract(&self.live, bytes);
    }

    /// Memory that was held and not used has been given back.
    pub fn gave_back(&self, bytes: u64) {
        subtract(&self.held, bytes);
        self.judge();
    }

    /// Says what is really held and what others take. `ask_driver` runs while others go on counting; it waits for nobody.
    pub fn settle<E>(&self, ask_driver: impl FnOnce() -> Result<(u64, u64), E>) -> Result<(), E> {
        let settling = self.settling.lock();
        // In this order a block that is being allocated meanwhile is counted once or twice, never not at all.
        let before = self.held.load(SeqCst);
        let pending = self.pending.load(SeqCst);
        let (held, external) = ask_driver()?;
        let now = held.saturating_add(pending);
        if now < before {
            subtract(&self.held, before - now);
        } else {
            self.held.fetch_add(now - before, SeqCst);
        }
        self.external.store(external, Relaxed);
        self.peak_held.fetch_max(held, Relaxed);
        drop(settling);
        self.judge();
        Ok(())
    }

    /// Share of the budget that is taken, by us and by others.
    pub fn usage(&self) -> f64 {
        let taken = self.held.load(Relaxed).saturating_add(self.counted());
        if self.budget == 0 { 1.0 } else { taken as f64 / self.budget as f64 }
    }

    /// Looks at the level again, and notes an event if it has changed.
    pub fn judge(&self) {
        let usage = self.usage();
        let before = self.level();
        let now = before.after(usage);
        self.mark.store(self.next_mark(now), Relaxed);
        if self.grain == 1 {
            self.peak_held.fetch_max(self.held.load(Relaxed), Relaxed);
        }
        if now == before
            || self.level.compare_exchange(before.index(), now.index(), Relaxed, Relaxed).is_err()
        {
            return;
        }
        if now > before && now >= Level::High {
            self.alarm.store(true, Relaxed);
        }
        let mut events = self.events.lock();
        if events.len() >= EVENTS {
            events.remove(0);
        }
        events.push(PressureEvent { from: before, to: now, usage, budget: self.budget });
        drop(events);
        self.news.store(true, Relaxed);
    }

    /// Bytes held up to which a level stands.
    fn next_mark(&self, level: Level) -> u64 {
        let end = level.end().map_or(self.budget, |end| (self.budget as f64 * end) as u64);
        end.saturating_sub(self.counted()).min(self.most())
    }

    /// Whether cleaning up is due; the answer is given once.
    pub(crate) fn take_alarm(&self) -> bool {
        self.alarm.load(Relaxed) && self.alarm.swap(false, Relaxed)
    }

    /// Events that nobody has been told yet.
    pub(crate) fn take_events(&self) -> Vec<PressureEvent> {
        if !self.news.load(Relaxed) || !self.news.swap(false, Relaxed) {
            return Vec::new();
        }
        std::mem::take(&mut *self.events.lock())
    }

    /// Whether there are events that nobody has been told yet.
    pub(crate) fn has_news(&self) -> bool {
        self.news.load(Relaxed)
    }

    /// Everything there is to know, given the largest block that could be had at once.
    pub fn stats(&self, largest: u64) -> DeviceMemory {
        let (live, held) = (self.live.load(Relaxed), self.held.load(Relaxed));
        let held = held.max(live);
        let peak = self.peak.load(Relaxed);
        let peak_held = self.peak_held.load(Relaxed).max(if self.grain == 1 { held } else { peak });
        DeviceMemory {
            live,
            cached: held - live,
            reserved: held,
            external: self.external.load(Relaxed),
            budget: self.budget,
            free: self.most().saturating_sub(held),
            total: self.total,
            peak,
            peak_reserved: peak_held,
            largest: largest.min(self.most().saturating_sub(live)),
            hits: self.hits.load(Relaxed) + self.served.load(Relaxed),
            misses: self.asked.load(Relaxed).saturating_sub(self.served.load(Relaxed)),
            refused: self.refused.load(Relaxed),
            usage: self.usage(),
            level: self.level(),
        }
    }
}

/// Subtracts without going below zero, whatever happens.
fn subtract(from: &AtomicU64, bytes: u64) {
    let _ = from.fetch_update(SeqCst, SeqCst, |value| Some(value.saturating_sub(bytes)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(limit: Limit) -> Account {
        Account::with(1000, limit)
    }

    fn take(account: &Account, bytes: u64) -> bool {
        let mut asked = account.ask(bytes);
        if asked == Admission::Unclear {
            asked = account.ask_settled(bytes);
        }
        if asked == Admission::Granted {
            account.made(bytes);
        }
        asked == Admission::Granted
    }

    #[test]
    fn nothing_is_granted_beyond_the_budget() {
        let account = account(Limit::Share(0.5));
        assert!(take(&account, 300) && take(&account, 200) && !take(&account, 1));
        assert_eq!((account.level(), account.room()), (Level::Critical, 0));
        account.kept(200);
        assert!(!take(&account, 1), "a freed block counts until it has been given back");
        account.gave_back(200);
        assert!(take(&account, 200));
        let stats = account.stats(u64::MAX);
        assert_eq!((stats.live, stats.cached, stats.peak, stats.budget), (500, 0, 500, 500));
    }

    #[test]
    fn others_count_against_a_share() {
        let account = account(Limit::Share(0.5));
        account.settle(|| Ok::<_, ()>((0, 400))).unwrap();
        assert_eq!((account.room(), account.level()), (100, Level::Elevated));
        assert!(!take(&account, 101) && take(&account, 100));
        let own = Account::with(1000, Limit::Bytes(500));
        own.settle(|| Ok::<_, ()>((0, 400))).unwrap();
        assert_eq!((own.room(), own.level()), (500, Level::Normal), "they leave what was asked for");
        own.settle(|| Ok::<_, ()>((0, 700))).unwrap();
        assert_eq!(own.room(), 300, "they do not");
    }

    #[test]
    fn a_bound_that_crosses_a_mark_is_settled() {
        let account = account(Limit::Bytes(100));
        // A pool that serves the same block again and again.
        for round in 0..50 {
            if account.ask(30) == Admission::Unclear {
                account.settle(|| Ok::<_, ()>((30, 0))).unwrap();
                assert_eq!(account.ask_settled(30), Admission::Granted, "round {round}");
            }
            account.made(30);
            account.kept(30);
        }
        assert_eq!(account.live(), 0);
        assert!(account.level() <= Level::Elevated);
    }

    #[test]
    fn a_pool_that_grows_in_grains_stays_inside_the_budget() {
        let account = account(Limit::Bytes(100)).with_grain(32);
        // Four allocations of ten are in two grains, as the pool says; two more grains would be too many.
        let mut reserved = 0;
        for round in 0..4 {
            if account.ask(10) != Admission::Granted {
                account.settle(|| Ok::<_, ()>((reserved, 0))).unwrap();
                assert_eq!(account.ask_settled(10), Admission::Granted, "round {round}");
            }
            reserved = if round < 3 { 32 } else { 64 };
            account.made(10);
        }
        account.settle(|| Ok::<_, ()>((96, 0))).unwrap();
        assert_eq!((account.live(), account.ask_settled(1)), (40, Admission::Refused));
        let stats = account.stats(u64::MAX);
        assert_eq!((stats.reserved, stats.cached, stats.peak_reserved), (96, 56, 96));
    }

    #[test]
    fn an_audit_counts_no_more_misses_than_the_pool_has_grown_by_grains() {
        let account = account(Limit::Bytes(1000)).with_grain(32);
        let ask = |count| (0..count).for_each(|_| assert_eq!(account.ask(1), Admission::Granted));
        ask(5);
        account.audit(64);
        assert_eq!((account.stats(0).hits, account.stats(0).misses), (3, 2));
        ask(4);
        account.audit(64);
        ask(1);
        account.audit(128);
        assert_eq!((account.stats(0).hits, account.stats(0).misses), (7, 3));
    }

    #[test]
    fn every_change_of_level_is_told_once() {
        let account = account(Limit::Bytes(100));
        assert!(take(&account, 69));
        assert!(account.take_events().is_empty());
        assert!(take(&account, 17));
        assert!(account.take_alarm() && !account.take_alarm());
        assert!(take(&account, 10));
        account.kept(96);
        account.gave_back(15);
        let levels: Vec<_> = account.take_events().iter().map(|e| (e.from, e.to)).collect();
        use Level::{Critical, High, Normal};
        // At 81 of 100 the level falls only by one: High ends five points below 85.
        assert_eq!(levels, [(Normal, High), (High, Critical), (Critical, High)]);
        account.gave_back(81);
        let levels: Vec<_> = account.take_events().iter().map(|e| (e.from, e.to)).collect();
        assert_eq!(levels, [(High, Normal)]);
    }

    #[test]
    fn a_pool_that_several_threads_ask_about_stays_inside_the_budget() {
        // What the pool really has. It grows by whole grains, and gives back at once what is freed.
        let (pool, most) = (AtomicU64::new(0), AtomicU64::new(0));
        let account = account(Limit::Bytes(256)).with_grain(32);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        let ask_pool = || {
                            let has = pool.load(Relaxed);
                            // As long as this takes, others ask too.
                            std::thread::yield_now();
                            Ok::<_, ()>((has, 0))
                        };
                        if account.ask(16) != Admission::Granted {
                            account.settle(ask_pool).unwrap();
                            if account.ask_settled(16) != Admission::Granted {
                                continue;
                            }
                        }
                        most.fetch_max(pool.fetch_add(32, Relaxed) + 32, Relaxed);
                        account.made(16);
                        std::thread::yield_now();
                        account.kept(16);
                        pool.fetch_sub(32, Relaxed);
                    }
                });
            }
        });
        assert!(most.load(Relaxed) <= 256, "{} of 256", most.load(Relaxed));
        assert_eq!(account.live(), 0);
    }

    #[test]
    fn threads_never_exceed_the_budget_together() {
        let account = account(Limit::Bytes(1000));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        if take(&account, 170) {
                            assert!(account.live() <= 1000);
                            account.kept(170);
                            account.gave_back(170);
                        }
                    }
                });
            }
        });
        assert_eq!(account.stats(0).reserved, 0);
        assert!(account.stats(0).peak_reserved <= 1000);
    }
}
