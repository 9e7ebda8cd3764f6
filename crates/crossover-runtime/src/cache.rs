//! Plans by graph, bounded: when full, the half that was used longest ago goes.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crossover_core::Graph;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use crate::Prepared;

struct Entry {
    prepared: Arc<Prepared>,
    used: AtomicU64,
}

pub(crate) struct PlanCache {
    capacity: usize,
    clock: AtomicU64,
    entries: RwLock<FxHashMap<Graph, Entry>>,
}

impl PlanCache {
    pub fn new(capacity: usize) -> PlanCache {
        PlanCache { capacity, clock: AtomicU64::new(0), entries: RwLock::new(FxHashMap::default()) }
    }

    pub fn len(&self) -> usize {
        self.entries.read().len()
    }

    /// Looks at every plan.
    pub fn each(&self, mut look: impl FnMut(&Graph, &Prepared)) {
        self.entries.read().iter().for_each(|(graph, entry)| look(graph, &entry.prepared));
    }

    pub fn get(&self, graph: &Graph) -> Option<Arc<Prepared>> {
        let entries = self.entries.read();
        let entry = entries.get(graph)?;
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(entry.prepared.clone())
    }

    pub fn insert(&self, graph: Graph, prepared: Arc<Prepared>) {
        let mut entries = self.entries.write();
        if entries.len() >= self.capacity {
            let mut ages: Vec<u64> = entries.values().map(|e| e.used.load(Ordering::Relaxed)).collect();
            let middle = ages.len() / 2;
            let (_, &mut median, _) = ages.select_nth_unstable(middle);
            entries.retain(|_, e| e.used.load(Ordering::Relaxed) >= median);
        }
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        entries.insert(graph, Entry { prepared, used });
    }
}
