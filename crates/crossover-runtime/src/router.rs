//! Where the kernels of a plan run under [`Placement::Auto`](crate::Placement::Auto): decided for the whole plan from predicted
//! times, remembered, and reconsidered when what was known has changed.
//!
//! A plan seen before, with its operands where they were then, costs one look into a short list. A decision stands until another
//! is better by the margins of [`Hysteresis`], so that noise moves nothing. Devices are not opened to decide about small work.
//!
//! Predictions are wrong at first, and where nothing runs nothing is learnt. A plan that comes back is therefore tried where it
//! might be faster than predicted: kernels never seen on an open device count as [`HOPE`] of their predicted time until they have
//! been seen three times. What that can cost is bounded, and it ends.

use std::{
    hash::{Hash, Hasher},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use crossover_core::Graph;
use crossover_plan::Plan;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHasher;
use smallvec::SmallVec;

use crate::{
    Buffer, Device, Error, Link, Machine, Profile, Recording, Result,
    decision::{Decision, Why},
    memory::Account,
    observe::{Key, Noted, Table},
    recording::Devices,
    route::{Remembered, Route},
    solve::{Assignment, Problem},
    whole::Totals,
};

/// Who is going to look at the results of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wanted {
    /// Nobody yet: they stay where they were computed.
    #[default]
    Anywhere,
    /// The host, at once, where it was computed or fetched.
    OnHost,
    /// The host, at once, in memory of its own: what the host computes is copied once more.
    Copied,
}

/// Bytes moved and operations up to which a plan on the host's own data is never worth a thought.
const SMALL: u64 = 1 << 16;
/// Decisions kept per plan: one for each way its operands can lie.
const KEPT: usize = 8;
/// Decisions between two looks at a device that has become slow.
const LOOK: u32 = 4;

/// How much faster than predicted a kernel may be that was never seen: what a trial hopes for.
const HOPE: f64 = 0.4;
/// Runs of a plan before anything is tried: what runs once must not be an experiment.
const SETTLED: u64 = 3;
/// What a trial may cost at most, as a multiple of the best prediction and nanoseconds beyond it: whoever waits seconds for a
/// result wants no wild experiments.
const MOST_TRIED: (f64, f64) = (1.8, 2e8);

/// When a plan changes devices.
///
/// ```
/// use crossover_runtime::Hysteresis;
/// let usual = Hysteresis::default();
/// assert_eq!((usual.share, usual.nanoseconds), (0.15, 20_000.0));
/// // Plans move for any gain at all.
/// let eager = Hysteresis { share: 0.0, home: 0.0, nanoseconds: 0.0 };
/// assert_ne!(eager, usual);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hysteresis {
    /// Share of the predicted time that has to be saved.
    pub share: f64,
    /// The same for plans that would go back to the host altogether: nobody should be slower than without an accelerator.
    pub home: f64,
    /// Nanoseconds that have to be saved; a tenth of it where whole runs were timed both ways.
    pub nanoseconds: f64,
}

impl Default for Hysteresis {
    fn default() -> Hysteresis {
        Hysteresis { share: 0.15, home: 0.04, nanoseconds: 20_000.0 }
    }
}

/// Where operands lie, who wants the results, and what was seen of that before.
#[derive(Clone, Copy)]
struct Situation<'a> {
    masks: &'a [u32],
    wanted: Wanted,
    totals: &'a Totals,
}

/// What whole runs say about an assignment.
enum Judged {
    /// It is the best of those that were timed.
    Measured,
    /// It might be better, and should be timed.
    Trial,
}

/// Whether a plan is small enough to stay with its operands on the host unexamined.
pub(crate) fn is_small(plan: &Plan, small: u64) -> bool {
    let cost = plan.cost();
    cost.moved() <= small && cost.flops <= small
}

/// A device as the router knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Nothing but its name.
    Named,
    /// Opened and measured.
    Usable,
    /// Missing or lost.
    Unusable,
}

/// Gives the profile of a machine whose device has just been opened, if there is a better one than was assumed.
pub type Measure = Box<dyn Fn(&Arc<Machine>) -> Option<Profile> + Send + Sync>;

/// Decides where plans run.
pub struct Router {
    machine: Arc<Machine>,
    profile: RwLock<Arc<Profile>>,
    measure: Option<Measure>,
    known: Mutex<SmallVec<[Known; 2]>>,
    table: Table,
    hysteresis: Hysteresis,
    /// Nanoseconds of a trial copy to each device while it was well.
    trials: Mutex<SmallVec<[f64; 2]>>,
    looks: AtomicU32,
    deterministic: bool,
    small: u64,
    recording: Option<Recording>,
    asked: OnceLock<()>,
}

impl std::fmt::Debug for Router {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").field("machine", &self.machine).field("epoch", &self.table.epoch()).finish()
    }
}

impl Router {
    /// A router that believes a profile.
    pub fn new(machine: Arc<Machine>, profile: Profile) -> Router {
        let devices = machine.devices().count();
        let profile = complete(profile, devices);
        Router {
            machine,
            profile: RwLock::new(Arc::new(profile)),
            measure: None,
            known: Mutex::new(smallvec::smallvec![Known::Named; devices]),
            table: Table::new(devices),
            hysteresis: Hysteresis::default(),
            trials: Mutex::new(smallvec::smallvec![0.0; devices]),
            looks: AtomicU32::new(0),
            deterministic: false,
            small: SMALL,
            recording: None,
            asked: OnceLock::new(),
        }
    }

    /// Asks for a measured profile when the first accelerator is opened.
    pub fn measured_by(mut self, measure: Measure) -> Router {
        self.measure = Some(measure);
        self
    }

    /// When plans change devices.
    pub fn hysteresis(mut self, hysteresis: Hysteresis) -> Router {
        self.hysteresis = hysteresis;
        self
    }

    /// Bytes moved and operations up to which a plan on the host's own data stays there unexamined.
    pub fn keep_small(mut self, small: u64) -> Router {
        self.small = small;
        self
    }

    /// Runs plans where they ran when they were recorded; an error if they ran on devices that this machine does not have.
    pub fn replay(mut self, recording: Recording) -> Result<Router> {
        let (needed, found) = (recording.accelerators(), self.machine.devices().count() - 1);
        if needed > found {
            let reason = format!("the recorded plans ran on {needed} GPUs, and this machine has {found}");
            return Err(Error::NoDevice { device: format!("gpu{}", needed - 1), reason });
        }
        self.recording = Some(recording);
        Ok(self)
    }

    /// What a new plan of a graph remembers.
    pub(crate) fn route(&self, graph: &Graph) -> Route {
        Route::following(self.recording.as_ref().and_then(|recording| recording.find(graph)))
    }

    /// What [`keep_small`](Router::keep_small) says.
    pub fn small(&self) -> u64 {
        self.small
    }

    /// Whether calls whose bits depend on the device are placed by a rule that knows no times.
    pub fn deterministic(mut self, deterministic: bool) -> Router {
        self.deterministic = deterministic;
        self
    }

    /// Whether calls are placed by a rule that knows no times.
    pub fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    /// What the router believes about the machine.
    pub fn profile(&self) -> Arc<Profile> {
        self.profile.read().clone()
    }

    /// Believes another profile from now on.
    pub fn believe(&self, profile: Profile) {
        *self.profile.write() = Arc::new(complete(profile, self.machine.devices().count()));
        self.table.advance();
    }

    /// Predicted nanoseconds of every kernel of a plan on every device, the host first, as everything known so far says.
    pub(crate) fn predicted(&self, route: &Route, plan: &Plan) -> Vec<f64> {
        if self.machine.is_host_only()
            && let Some(measure) = &self.measure
        {
            // Without accelerators nothing else asks what was measured.
            self.asked.get_or_init(|| {
                if let Some(profile) = measure(&self.machine) {
                    self.believe(profile);
                }
            });
        }
        let (outline, profile) = (route.outline(plan), self.profile());
        let devices = self.machine.devices().count();
        let mut times = Vec::with_capacity(outline.nodes.len() * devices);
        let keys = outline
            .keys
            .iter()
            .flat_map(|&(kernel, size)| (0..devices).map(move |d| Key { kernel, size, device: d as u8 }));
        self.table.corrections(keys, |correction, _| {
            let (at, device) = (times.len() / devices, times.len() % devices);
            times.push(profile.devices[device].time(&outline.work[at]) * correction);
        });
        times
    }

    /// How many times slower than usual a device is.
    pub fn slowdown(&self, device: Device) -> f64 {
        self.table.factor(device.0)
    }

    /// The decision for a plan whose inputs lie as they do now.
    pub(crate) fn decide(
        &self,
        route: &Route,
        plan: &Plan,
        refused: &dyn Fn(usize, Device) -> bool,
        inputs: &[Arc<Buffer>],
        wanted: Wanted,
    ) -> Arc<Decision> {
        let devices = self.machine.devices().count();
        let mut hasher = FxHasher::default();
        let mut masks: SmallVec<[u32; 8]> = SmallVec::new();
        for buffer in inputs {
            let mask = buffer.valid_mask();
            masks.push(mask);
            mask.hash(&mut hasher);
        }
        wanted.hash(&mut hasher);
        // A plan that does not fit what is left pays for moving others away; once there is room again it need not.
        let bytes = route.outline(plan).most;
        for device in self.machine.devices().skip(1) {
            let fits = |account: &Account| bytes <= account.room();
            self.machine.backend(device).account().is_none_or(fits).hash(&mut hasher);
        }
        let key = hasher.finish();
        self.look_after_slow_devices(devices);
        let epoch = self.table.epoch();
        let settles = route.runs() == SETTLED;
        let (mut settled, mut totals) = (None, Totals::default());
        if let Some(entry) = route.known.lock().iter().find(|entry| entry.key == key) {
            if entry.current.epoch == epoch && !settles && !entry.totals.stale {
                return entry.current.clone();
            }
            (settled, totals) = (entry.settled.clone(), entry.totals.clone());
        }
        totals.stale = false;
        let situation = Situation { masks: &masks, wanted, totals: &totals };
        let mut decision = self.decide_anew(route, plan, refused, situation, settled.as_deref());
        while self.open(&decision) {
            decision = self.decide_anew(route, plan, refused, situation, None);
        }
        let current = Arc::new(decision);
        if !current.is_trial() && !current.is_whole_trial() {
            settled = Some(current.clone());
        }
        let mut known = route.known.lock();
        let entry = Remembered { key, current: current.clone(), settled, totals };
        match known.iter_mut().find(|entry| entry.key == key) {
            Some(old) => *old = entry,
            None => {
                if known.len() >= KEPT {
                    known.remove(0);
                }
                known.push(entry);
            }
        }
        current
    }

    /// Opens devices that a decision relies on unseen; true if that changed what is known.
    fn open(&self, decision: &Decision) -> bool {
        let mut changed = false;
        for device in self.machine.devices().skip(1) {
            if !decision.uses(device) || self.known.lock()[device.0] != Known::Named {
                continue;
            }
            let found = match self.machine.backend(device).check() {
                Ok(()) => Known::Usable,
                Err(_) => Known::Unusable,
            };
            // Measuring takes a while; whoever asks meanwhile does without.
            self.known.lock()[device.0] = found;
            if found == Known::Usable
                && let Some(profile) = self.measure.as_ref().and_then(|measure| measure(&self.machine))
            {
                *self.profile.write() = Arc::new(complete(profile, self.machine.devices().count()));
            }
            if found == Known::Usable {
                self.acquaint(device);
            }
            self.table.advance();
            changed = true;
        }
        changed
    }

    fn decide_anew(
        &self,
        route: &Route,
        plan: &Plan,
        refused: &dyn Fn(usize, Device) -> bool,
        situation: Situation<'_>,
        former: Option<&Decision>,
    ) -> Decision {
        let Situation { masks, wanted, totals } = situation;
        let outline = route.outline(plan);
        // Read before anything else: what changes meanwhile makes this decision stale.
        let epoch = self.table.epoch();
        let (profile, devices) = (self.profile(), self.machine.devices().count());
        let known = self.known.lock().clone();
        let usable = |d: Device| match known[d.0] {
            Known::Named => true,
            Known::Unusable => false,
            Known::Usable => self.machine.backend(d).check().is_ok(),
        };
        let usable: SmallVec<[bool; 4]> =
            self.machine.devices().map(|d| d == Device::HOST || usable(d)).collect();
        let mut priors: Vec<f64> = Vec::with_capacity(outline.nodes.len() * devices);
        for work in &outline.work {
            priors.extend(profile.devices.iter().map(|d| d.time(work)));
        }
        let mut times = Vec::with_capacity(priors.len());
        let keys = outline
            .keys
            .iter()
            .flat_map(|&(kernel, size)| (0..devices).map(move |d| Key { kernel, size, device: d as u8 }));
        let mut learnt = Vec::with_capacity(priors.len());
        self.table.corrections(keys, |correction, known| {
            times.push(priors[times.len()] * correction);
            learnt.push(known);
        });
        let predicted = times.clone();
        for (at, times) in times.chunks_mut(devices).enumerate() {
            let pinned = self.pinned(route, at);
            for device in self.machine.devices() {
                // A call that belongs to a device which was lost stays there and fails: elsewhere it would have other bits.
                let holds = |p: Device| p == Device::HOST || known[p.0] != Known::Unusable && !refused(at, p);
                let stays_away = pinned.is_some_and(|p| p != device && holds(p));
                let stays = pinned == Some(device) && holds(device);
                let cannot = device != Device::HOST && (!usable[device.0] || refused(at, device));
                if stays_away || (cannot && !stays) {
                    times[device.0] = f64::INFINITY;
                }
            }
        }
        let factors: SmallVec<[f64; 4]> = (0..devices).map(|d| self.table.factor(d)).collect();
        let mut moves = Vec::with_capacity(outline.bytes.len() * devices);
        for &bytes in &outline.bytes {
            moves.extend(profile.devices.iter().zip(&factors).map(|(device, factor)| {
                // A host's own copy is read and written.
                let own = || (0.0, 2.0 * bytes as f64 / device.bandwidth.at(2.0 * bytes as f64));
                device.links.as_ref().map_or_else(own, |links| {
                    (links.up.time(bytes) * factor, links.down.time(bytes) * factor)
                })
            }));
        }
        let mut valid = vec![0u32; outline.bytes.len()];
        for &(buffer, input) in &outline.inputs {
            valid[buffer as usize] = masks.get(input as usize).copied().unwrap_or(1);
        }
        let is_open = |d: Device| d == Device::HOST || known[d.0] == Known::Usable;
        let free: SmallVec<[u64; 4]> = self
            .machine
            .devices()
            .map(|d| {
                if d == Device::HOST || !is_open(d) {
                    return u64::MAX;
                }
                // As last accounted: asking the driver would take as long as all the rest.
                self.machine.backend(d).account().map_or(u64::MAX, Account::room)
            })
            .collect();
        let spill: SmallVec<[f64; 4]> = profile
            .devices
            .iter()
            .map(|d| {
                let rate = |link: &Link| 1.0 / link.bandwidth.at(1e8);
                d.links.as_ref().map_or(0.0, |l| rate(&l.up) + rate(&l.down))
            })
            .collect();
        let copied = wanted == Wanted::Copied;
        let wanted: &[u32] = if wanted == Wanted::Anywhere { &[] } else { &outline.outputs };
        let problem = Problem {
            nodes: &outline.nodes,
            devices,
            times: &times,
            moves: &moves,
            bytes: &outline.bytes,
            valid: &valid,
            wanted,
            copied,
            free: &free,
            spill: &spill,
        };
        let mut best = problem.solve();
        let pinned = |at: usize| self.pinned(route, at).is_some();
        let mut all = None;
        if let Some(former) = former
            && former.devices != best.devices
        {
            let total = problem.cost(&former.devices);
            let saved = total - best.total;
            let goes_home = best.devices.iter().all(|&d| d == 0);
            if total.is_finite() && saved <= self.needed(total, goes_home) {
                (best.devices, best.total) = (former.devices.clone(), total);
                all = Some(Why::Kept);
            }
        }
        if !self.deterministic && route.runs() >= SETTLED {
            let is_hopeful =
                |i: usize| !learnt[i] && is_open(Device(i % devices)) && factors[i % devices] == 1.0;
            let hoped: Vec<f64> =
                (0..times.len()).map(|i| if is_hopeful(i) { times[i] * HOPE } else { times[i] }).collect();
            let tried = Problem { times: &hoped, ..problem }.solve();
            // Whatever the hopes, there must be something to learn.
            let teaches =
                tried.devices.iter().enumerate().any(|(at, &d)| is_hopeful(at * devices + d as usize));
            let most = MOST_TRIED.0 * best.total + MOST_TRIED.1;
            if teaches && tried.devices != best.devices && problem.cost(&tried.devices) <= most {
                return Decision::new(epoch, &problem, tried, predicted, Some(Why::Trial), pinned);
            }
        }
        if !self.deterministic && !route.is_fixed() {
            let tries = route.runs() >= SETTLED;
            let open = |device: usize| is_open(Device(device)) && factors[device] == 1.0;
            match self.by_totals(&problem, totals, &best, former, tries.then_some(&open)) {
                Some((devices, total, Judged::Trial)) => {
                    let tried = Assignment { devices, total };
                    return Decision::new(epoch, &problem, tried, predicted, Some(Why::Trial), pinned)
                        .whole();
                }
                Some((devices, total, Judged::Measured)) => {
                    all = (devices != best.devices).then_some(Why::Measured { total }).or(all);
                    best = Assignment { devices, total };
                }
                None => {}
            }
        }
        Decision::new(epoch, &problem, best, predicted, all, pinned)
    }

    /// What a plan that goes elsewhere must save, out of so many nanoseconds.
    fn needed(&self, total: f64, goes_home: bool) -> f64 {
        self.share(goes_home, total).max(self.hysteresis.nanoseconds)
    }

    /// The same where whole runs were timed both ways: what was seen needs less of a margin than what is believed.
    fn needed_seen(&self, total: f64, goes_home: bool) -> f64 {
        self.share(goes_home, total).max(0.1 * self.hysteresis.nanoseconds)
    }

    fn share(&self, goes_home: bool, total: f64) -> f64 {
        total * if goes_home { self.hysteresis.home } else { self.hysteresis.share }
    }

    /// The assignment that is best by what whole runs took, where any were timed: those count for more than what is predicted.
    ///
    /// Everything on one device is tried whole if even half of its predicted time would be better than what was seen, or if so much
    /// was spent meanwhile that a trial costs little, on devices that are `open`.
    fn by_totals(
        &self,
        problem: &Problem<'_>,
        totals: &Totals,
        best: &Assignment,
        former: Option<&Decision>,
        open: Option<&dyn Fn(usize) -> bool>,
    ) -> Option<(Devices, f64, Judged)> {
        /// What a whole trial hopes for.
        const HALF: f64 = 0.5;
        let can = |devices: &Devices| problem.cost(devices).is_finite();
        let (fastest, took) = totals.fastest(can)?;
        let is_home = |devices: &[u8]| devices.iter().all(|&d| d == 0);
        let mut chosen = (fastest.clone(), took);
        if let Some(former) = former
            && let Some(usual) = totals.estimate(&former.devices)
            && can(&former.devices)
            && usual - took <= self.needed_seen(usual, is_home(fastest))
        {
            chosen = (former.devices.clone(), usual);
        }
        let is_new = totals.estimate(&best.devices).is_none();
        if is_new && chosen.1 - best.total > self.needed(chosen.1, is_home(&best.devices)) {
            return None;
        }
        for device in 0..problem.devices {
            if !open.is_some_and(|open| open(device)) {
                continue;
            }
            let all: Devices = smallvec::smallvec![device as u8; problem.nodes.len()];
            let cost = problem.cost(&all);
            let hope = totals.hope(&all).unwrap_or(HALF * cost);
            let is_worth_it = hope < chosen.1 || totals.affords(totals.best(&all).unwrap_or(cost));
            if totals.estimate(&all).is_none() && cost.is_finite() && is_worth_it {
                return Some((all, cost, Judged::Trial));
            }
        }
        Some((chosen.0, chosen.1, Judged::Measured))
    }

    /// Notes how long a whole run took, from its operands to the host's own copy of the result.
    pub(crate) fn observe_whole(&self, route: &Route, decision: &Arc<Decision>, took: Duration) {
        let took = took.as_nanos().max(1) as f64;
        let mut known = route.known.lock();
        let Some(entry) = known.iter_mut().find(|entry| Arc::ptr_eq(&entry.current, decision)) else {
            return;
        };
        if entry.totals.note(&decision.devices, took, |total| self.needed_seen(total, false)) {
            route.alert();
        }
    }

    /// Where a call must run whatever the times, if bits may depend on nothing but the machine's devices.
    fn pinned(&self, route: &Route, at: usize) -> Option<Device> {
        /// Operations from which a call goes to the first accelerator.
        const LARGE: u64 = 1 << 28;
        if let Some(fixed) = &route.fixed {
            return fixed.get(at).map(|&device| Device(device as usize));
        }
        let outline = route.known_outline()?;
        if !self.deterministic || !outline.bounded[at] {
            return None;
        }
        let operations: u64 = outline.work[at].terms.iter().map(|t| t.count).sum();
        Some(if operations >= LARGE && !self.machine.is_host_only() { Device(1) } else { Device::HOST })
    }

    /// Notes how long a kernel took.
    pub(crate) fn observe(&self, route: &Route, plan: &Plan, at: usize, device: Device, took: Duration) {
        let outline = route.outline(plan);
        let profile = self.profile();
        let Some(entry) = profile.devices.get(device.0) else { return };
        let prior = entry.time(&outline.work[at]);
        // The host's wait for the end is not the kernel's; where the wait is all there is, a part of it remains.
        let took = took.as_nanos() as f64;
        let took = (took - entry.sync_ns).max(took / 4.0).max(1.0);
        let (kernel, size) = outline.keys[at];
        match self.table.observe(Key { kernel, size, device: device.0 as u8 }, took / prior) {
            Noted::Usual => {}
            Noted::Odd => route.alert(),
            Noted::Suspect => self.look_at(device),
        }
    }

    /// Looks now and then at devices that have become slow, since nothing else would tell that they have recovered.
    fn look_after_slow_devices(&self, devices: usize) {
        let slow = (1..devices).find(|&d| self.table.factor(d) > 1.0);
        let Some(slow) = slow else { return };
        if self.looks.fetch_add(1, Ordering::Relaxed) % LOOK == LOOK - 1 {
            self.look_at(Device(slow));
        }
    }

    /// Times a small copy to a device and back and compares it with the fastest so far.
    fn look_at(&self, device: Device) {
        if device == Device::HOST {
            return self.table.judge(0, 1.0);
        }
        let took = self.trial(device).map_or(f64::INFINITY, |took| took.as_nanos().max(1) as f64);
        let usual = self.trials.lock()[device.0];
        self.table.judge(device.0, if usual > 0.0 { took / usual } else { 1.0 });
    }

    /// Notes how long a trial copy takes on a device that is well.
    fn acquaint(&self, device: Device) {
        if device == Device::HOST || self.trials.lock()[device.0] > 0.0 {
            return;
        }
        let best = (0..3).filter_map(|_| self.trial(device)).min();
        if let Some(best) = best {
            self.trials.lock()[device.0] = best.as_nanos().max(1) as f64;
        }
    }

    fn trial(&self, device: Device) -> Option<Duration> {
        const BYTES: usize = 1 << 16;
        let backend = self.machine.backend(device);
        let block = backend.allocate(BYTES).ok()?;
        let mut bytes = vec![0u8; BYTES];
        let took = backend.measure(&mut || {
            backend.upload(&bytes, block)?;
            backend.download(block, &mut bytes)
        });
        backend.free(block);
        took.ok()
    }
}

/// A profile with an entry for every device.
fn complete(mut profile: Profile, devices: usize) -> Profile {
    let threads = profile.devices.first().map_or(1, |host| host.units as usize);
    let assumed = Profile::assumed(threads, devices - 1).devices;
    let missing = assumed.into_iter().skip(profile.devices.len());
    profile.devices.extend(missing);
    profile.devices.truncate(devices);
    profile
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        DeviceProfile,
        sim::{Clock, SimDevice, SimHost, SimOptions},
        whole::SURE,
        workloads,
    };

    /// A machine that believes its accelerator to be fast and near.
    fn machine() -> (Arc<Machine>, Router) {
        let (clock, options) = (Clock::default(), SimOptions { capacity: 1 << 40, ..SimOptions::default() });
        let gpu = Arc::new(SimDevice::hollow(options.clone(), clock.clone()));
        let machine = Machine::new(Arc::new(SimHost::hollow(options, clock)), vec![gpu]).unwrap();
        let mut profile = Profile::assumed(8, 1);
        profile.devices[1] = DeviceProfile::assumed_gpu();
        if let Some(links) = &mut profile.devices[1].links {
            (links.up.bandwidth, links.down.bandwidth) = (crate::Curve::flat(50.0), crate::Curve::flat(50.0));
        }
        let router = Router::new(machine.clone(), profile);
        (machine, router)
    }

    #[test]
    fn what_whole_runs_took_overrules_predictions() {
        let (machine, router) = machine();
        let graph = workloads::find("power f64").unwrap().graph(10_000_000).unwrap();
        let plan = Plan::new(&graph, crossover_plan::Options::default()).unwrap();
        let inputs: Vec<_> =
            (0..2).map(|_| Buffer::from_fill(&machine, 80_000_000, |_| {}).unwrap()).collect();
        let route = Route::default();
        let decide = || router.decide(&route, &plan, &|_, _| false, &inputs, Wanted::Copied);
        let ran = |decision: &Arc<Decision>, milliseconds: u64| {
            router.observe_whole(&route, decision, Duration::from_millis(milliseconds));
        };
        assert_eq!(decide().device(0), Device(1));
        for _ in 0..=SETTLED {
            let _ = route.is_timed(Wanted::Copied);
        }
        // The bus is far slower than it is believed to be, which no kernel ever tells.
        (0..SURE).for_each(|_| ran(&decide(), 160));
        let trial = decide();
        assert!(trial.is_whole_trial() && !trial.is_trial(), "{}", trial.why(0));
        assert_eq!((trial.device(0), trial.why(0).name()), (Device::HOST, "trial"));
        (0..SURE).for_each(|_| ran(&decide(), 9));
        for run in 0..30 {
            let settled = decide();
            assert_eq!((settled.device(0), settled.why(0).name()), (Device::HOST, "measured"), "run {run}");
            // Noise, and now and then a run that was disturbed.
            ran(&settled, if run % 5 == 4 { 100 } else { 8 + run % 3 });
        }
        // A host that is busy with something else is left.
        (0..5).for_each(|_| ran(&decide(), 400));
        assert_eq!(decide().device(0), Device(1));
    }

    #[test]
    fn results_that_stay_where_they_are_know_no_whole_runs() {
        let (machine, router) = machine();
        let graph = workloads::find("gelu f32").unwrap().graph(1_000_000).unwrap();
        let plan = Plan::new(&graph, crossover_plan::Options::default()).unwrap();
        let inputs = [Buffer::from_fill(&machine, 4_000_000, |_| {}).unwrap()];
        let route = Route::default();
        let decide = |wanted| router.decide(&route, &plan, &|_, _| false, &inputs, wanted);
        let copied = decide(Wanted::Copied);
        (0..SURE).for_each(|_| router.observe_whole(&route, &copied, Duration::from_secs(1)));
        let elsewhere = decide(Wanted::Anywhere);
        assert!(elsewhere.total_ns() < 1e9 && !elsewhere.is_whole_trial());
    }
}
