//! The placement problem, as numbers: how long each kernel takes on each device and how long each buffer takes to move.
//!
//! The cost of an assignment is the sum of its kernels, of the copies it needs (a buffer is copied to a device once, and stays
//! valid where it was), of bringing wanted results to the host, and of spilling what does not fit. Small problems are
//! solved exactly by branch and bound; larger ones start from simple assignments and improve them step by step. Both are
//! deterministic: of equally good assignments the one with the lower device at the first difference wins.

use smallvec::SmallVec;

/// Which buffers a kernel reads, writes and is the last to use; the same for all problems of a plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    pub reads: SmallVec<[u32; 4]>,
    pub writes: SmallVec<[u32; 2]>,
    pub frees: SmallVec<[u32; 2]>,
}

/// A placement problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem<'a> {
    pub nodes: &'a [Node],
    /// Devices, the host being 0.
    pub devices: usize,
    /// Nanoseconds of kernel `i` on device `d` at `i * devices + d`; infinite where it cannot run.
    pub times: &'a [f64],
    /// Nanoseconds to move buffer `b` between the host and device `d`: `(up, down)` at `b * devices + d`. For the host itself the
    /// second is a copy within its memory.
    pub moves: &'a [(f64, f64)],
    /// Bytes of each buffer.
    pub bytes: &'a [u64],
    /// Devices on which each buffer is valid at first, one bit each; 0 for what is computed.
    pub valid: &'a [u32],
    /// Buffers that the host wants in the end.
    pub wanted: &'a [u32],
    /// Whether the host wants them in other memory than it computes them in.
    pub copied: bool,
    /// Bytes that each device has left.
    pub free: &'a [u64],
    /// Nanoseconds per byte that does not fit a device and has to go out and come back.
    pub spill: &'a [f64],
}

/// Where each kernel runs, and nanoseconds in all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    pub devices: SmallVec<[u8; 16]>,
    pub total: f64,
}

/// Kernels up to which a problem is solved exactly.
pub(crate) const EXACT: usize = 12;
/// Steps of the search after which the best found so far has to do.
const STEPS: u32 = 4096;

/// A partial assignment and what it has cost.
struct Walk<'a> {
    problem: &'a Problem<'a>,
    valid: SmallVec<[u32; 24]>,
    /// Bytes taken on each device by this plan.
    taken: SmallVec<[u64; 4]>,
    cost: f64,
}

impl<'a> Walk<'a> {
    fn new(problem: &'a Problem<'a>) -> Walk<'a> {
        let taken = smallvec::smallvec![0; problem.devices];
        Walk { problem, valid: SmallVec::from_slice(problem.valid), taken, cost: 0.0 }
    }

    /// Copies a buffer to a device, if it is not there.
    fn bring(&mut self, buffer: u32, device: usize) {
        let (p, b) = (self.problem, buffer as usize);
        let valid = self.valid[b];
        // What nobody has written yet needs no copy.
        if valid == 0 || valid & (1 << device) != 0 {
            return;
        }
        if device == 0 {
            let from = valid.trailing_zeros() as usize;
            self.cost += p.moves[b * p.devices + from].1;
        } else {
            if valid & 1 == 0 {
                // Between accelerators bytes pass through the host.
                let from = valid.trailing_zeros() as usize;
                self.cost += p.moves[b * p.devices + from].1;
            }
            self.cost += p.moves[b * p.devices + device].0;
        }
        self.valid[b] |= 1 << device;
        self.taken[device] += p.bytes[b];
    }

    /// Runs kernel `at` on a device.
    fn step(&mut self, at: usize, device: usize) {
        let p = self.problem;
        let node = &p.nodes[at];
        for &buffer in &node.reads {
            self.bring(buffer, device);
        }
        for &buffer in &node.writes {
            // Parts that others wrote must be there.
            self.bring(buffer, device);
            let bit = 1 << device;
            if self.valid[buffer as usize] & bit == 0 {
                self.taken[device] += p.bytes[buffer as usize];
            }
            self.valid[buffer as usize] = bit;
        }
        self.cost += p.times[at * p.devices + device];
        let over = self.taken[device].saturating_sub(p.free[device]);
        if over > 0 {
            self.cost += over as f64 * p.spill[device];
        }
        for &buffer in &node.frees {
            for d in 0..p.devices {
                if self.valid[buffer as usize] & (1 << d) != 0 {
                    self.taken[d] = self.taken[d].saturating_sub(p.bytes[buffer as usize]);
                }
            }
            self.valid[buffer as usize] = 0;
        }
    }

    fn finish(&mut self) {
        let p = self.problem;
        for &buffer in p.wanted {
            if p.copied && self.valid[buffer as usize] & 1 != 0 {
                self.cost += p.moves[buffer as usize * p.devices].1;
            }
            self.bring(buffer, 0);
        }
    }
}

impl Problem<'_> {
    /// What an assignment costs.
    pub fn cost(&self, devices: &[u8]) -> f64 {
        let mut walk = Walk::new(self);
        for (at, &device) in devices.iter().enumerate() {
            walk.step(at, device as usize);
        }
        walk.finish();
        walk.cost
    }

    /// Nanoseconds each kernel waits for copies under an assignment; the last entry is what the host waits for.
    pub fn copies(&self, devices: &[u8]) -> Vec<f64> {
        let mut walk = Walk::new(self);
        let mut out = Vec::with_capacity(devices.len() + 1);
        for (at, &device) in devices.iter().enumerate() {
            let before = walk.cost;
            for &buffer in self.nodes[at].reads.iter().chain(&self.nodes[at].writes) {
                walk.bring(buffer, device as usize);
            }
            out.push(walk.cost - before);
            walk.step(at, device as usize);
        }
        let before = walk.cost;
        walk.finish();
        out.push(walk.cost - before);
        out
    }

    /// Nanoseconds of copies that each kernel would need on each device if the others stay where an assignment has them: for its operands, for its results
    /// where those are read on, and to the host if it wants them. At `i * devices + d`; empty where there is one device.
    pub fn moving(&self, devices: &[u8]) -> Vec<f64> {
        if self.devices < 2 {
            return Vec::new();
        }
        let mut is_read = vec![false; self.bytes.len()];
        self.nodes.iter().flat_map(|node| &node.reads).for_each(|&b| is_read[b as usize] = true);
        let mut walk = Walk::new(self);
        let mut out = Vec::with_capacity(devices.len() * self.devices);
        for (at, &here) in devices.iter().enumerate() {
            let (node, here) = (&self.nodes[at], here as usize);
            for device in 0..self.devices {
                let (valid, taken, cost) = (walk.valid.clone(), walk.taken.clone(), walk.cost);
                for &buffer in node.reads.iter().chain(&node.writes) {
                    walk.bring(buffer, device);
                }
                let arriving = walk.cost - cost;
                (walk.valid, walk.taken, walk.cost) = (valid, taken, cost);
                let leaving = |&b: &u32| {
                    let link = |d: usize| self.moves[b as usize * self.devices + d];
                    let is_elsewhere = device != here && is_read[b as usize];
                    let is_fetched = device != 0 && (self.wanted.contains(&b) || is_elsewhere);
                    let down = if is_fetched { link(device).1 } else { 0.0 };
                    down + if is_elsewhere && here != 0 { link(here).0 } else { 0.0 }
                };
                out.push(arriving + node.writes.iter().map(leaving).sum::<f64>());
            }
            walk.step(at, here);
        }
        out
    }

    /// A good assignment: the best one, if there are few kernels.
    pub fn solve(&self) -> Assignment {
        if self.nodes.len() <= EXACT { self.exact(self.simple()).0 } else { self.heuristic() }
    }

    /// The best that steps from simple assignments lead to.
    pub fn heuristic(&self) -> Assignment {
        cheapest(self.starts().into_iter().map(|start| self.improve(start)))
    }

    /// The best of the simple assignments.
    pub fn simple(&self) -> Assignment {
        cheapest(self.starts().into_iter())
    }

    fn priced(&self, devices: SmallVec<[u8; 16]>) -> Assignment {
        let total = self.cost(&devices);
        Assignment { devices, total }
    }

    /// Everything on one device as far as that can be, and each kernel where it is cheapest by itself.
    fn starts(&self) -> SmallVec<[Assignment; 4]> {
        let n = self.nodes.len();
        let can = |at: usize, d: usize| self.times[at * self.devices + d].is_finite();
        let first = |at: usize| (0..self.devices).find(|&d| can(at, d)).unwrap_or(0) as u8;
        let mut all: SmallVec<[Assignment; 4]> = SmallVec::new();
        for device in 0..self.devices {
            let on = |at: usize| if can(at, device) { device as u8 } else { first(at) };
            all.push(self.priced((0..n).map(on).collect()));
        }
        let mut greedy: SmallVec<[u8; 16]> = SmallVec::new();
        let mut walk = Walk::new(self);
        for at in 0..n {
            let mut chosen = (0, f64::INFINITY);
            for device in 0..self.devices {
                let (valid, taken, cost) = (walk.valid.clone(), walk.taken.clone(), walk.cost);
                walk.step(at, device);
                if walk.cost - cost < chosen.1 {
                    chosen = (device, walk.cost - cost);
                }
                (walk.valid, walk.taken, walk.cost) = (valid, taken, cost);
            }
            walk.step(at, chosen.0);
            greedy.push(chosen.0 as u8);
        }
        walk.finish();
        all.push(Assignment { devices: greedy, total: walk.cost });
        all
    }

    /// Branch and bound from an assignment; the flag says whether the result is proven to be the best.
    pub fn exact(&self, start: Assignment) -> (Assignment, bool) {
        let n = self.nodes.len();
        // What the kernels from `i` on cost at least.
        let mut least = vec![0.0; n + 1];
        for at in (0..n).rev() {
            let times = &self.times[at * self.devices..(at + 1) * self.devices];
            least[at] = least[at + 1] + times.iter().copied().fold(f64::INFINITY, f64::min);
        }
        let mut search = Search { problem: self, least, best: start, path: SmallVec::new(), steps: 0 };
        search.run(0, Walk::new(self));
        let proven = search.steps < STEPS;
        (search.best, proven)
    }

    /// Moves single kernels, runs of neighbours, and kernels with everything before or after them, as long as that helps.
    pub fn improve(&self, start: Assignment) -> Assignment {
        /// Rounds at most; two are usual.
        const ROUNDS: usize = 4;
        let n = self.nodes.len();
        let mut groups: Vec<SmallVec<[u32; 16]>> = Vec::new();
        let mut length = 1;
        while length <= n {
            // Steps of half a run, so that long runs stay affordable.
            let runs = (0..n).step_by(length.div_ceil(2));
            groups.extend(runs.map(|from| (from as u32..(from + length).min(n) as u32).collect()));
            length *= 2;
        }
        groups.extend((0..n).flat_map(|at| [self.before(at), self.after(at)]));
        let mut best = start;
        for _ in 0..ROUNDS {
            let before = best.total;
            for group in &groups {
                for device in 0..self.devices as u8 {
                    if group.iter().all(|&at| best.devices[at as usize] == device) {
                        continue;
                    }
                    let mut devices = best.devices.clone();
                    group.iter().for_each(|&at| devices[at as usize] = device);
                    let other = self.priced(devices);
                    if other.total < best.total {
                        best = other;
                    }
                }
            }
            if best.total >= before {
                break;
            }
        }
        best
    }

    /// A kernel and all whose results it depends on.
    fn before(&self, at: usize) -> SmallVec<[u32; 16]> {
        let mut needed: SmallVec<[u32; 16]> = self.nodes[at].reads.iter().copied().collect();
        let mut group: SmallVec<[u32; 16]> = smallvec::smallvec![at as u32];
        for earlier in (0..at).rev() {
            if self.nodes[earlier].writes.iter().any(|b| needed.contains(b)) {
                group.push(earlier as u32);
                needed.extend(self.nodes[earlier].reads.iter().copied());
            }
        }
        group
    }

    /// A kernel and all that depend on its results.
    fn after(&self, at: usize) -> SmallVec<[u32; 16]> {
        let mut made: SmallVec<[u32; 16]> = self.nodes[at].writes.iter().copied().collect();
        let mut group: SmallVec<[u32; 16]> = smallvec::smallvec![at as u32];
        for later in at + 1..self.nodes.len() {
            if self.nodes[later].reads.iter().any(|b| made.contains(b)) {
                group.push(later as u32);
                made.extend(self.nodes[later].writes.iter().copied());
            }
        }
        group
    }
}

/// The first of the cheapest.
fn cheapest(mut all: impl Iterator<Item = Assignment>) -> Assignment {
    let first = all.next().unwrap_or_else(|| Assignment { devices: SmallVec::new(), total: f64::INFINITY });
    all.fold(first, |best, other| if other.total < best.total { other } else { best })
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    least: Vec<f64>,
    best: Assignment,
    path: SmallVec<[u8; 16]>,
    steps: u32,
}

impl Search<'_> {
    fn run(&mut self, at: usize, mut walk: Walk<'_>) {
        if at == self.problem.nodes.len() {
            walk.finish();
            if walk.cost < self.best.total {
                self.best = Assignment { devices: self.path.clone(), total: walk.cost };
            }
            return;
        }
        for device in 0..self.problem.devices {
            if self.steps >= STEPS {
                return;
            }
            self.steps += 1;
            let mut next = Walk {
                problem: walk.problem,
                valid: walk.valid.clone(),
                taken: walk.taken.clone(),
                cost: walk.cost,
            };
            next.step(at, device);
            if next.cost + self.least[at + 1] < self.best.total {
                self.path.push(device as u8);
                self.run(at + 1, next);
                self.path.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan made up from a seed: kernels that read what earlier ones wrote.
    struct Made {
        nodes: Vec<Node>,
        times: Vec<f64>,
        moves: Vec<(f64, f64)>,
        bytes: Vec<u64>,
        valid: Vec<u32>,
        wanted: Vec<u32>,
        devices: usize,
    }

    impl Made {
        fn new(seed: u64, kernels: usize, devices: usize) -> Made {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut random = move |below: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % below
            };
            let inputs = 1 + random(3) as u32;
            let mut valid: Vec<u32> = (0..inputs).map(|_| 1 << random(devices as u64)).collect();
            let mut nodes = Vec::new();
            for at in 0..kernels as u32 {
                let known = u64::from(inputs + at);
                let reads = (0..1 + random(3)).map(|_| random(known) as u32).collect();
                let writes = [inputs + at].into_iter().collect();
                nodes.push(Node { reads, writes, frees: SmallVec::new() });
                valid.push(0);
            }
            let bytes: Vec<u64> = valid.iter().map(|_| 1 << (6 + random(18))).collect();
            let times = (0..kernels * devices).map(|_| (200 + random(60_000)) as f64).collect();
            let moves = bytes
                .iter()
                .flat_map(|&b| (0..devices).map(move |_| (9000.0 + b as f64 / 8.0, 9000.0 + b as f64 / 4.0)))
                .collect();
            let wanted = vec![inputs + kernels as u32 - 1];
            Made { nodes, times, moves, bytes, valid, wanted, devices }
        }

        fn problem<'a>(&'a self, free: &'a [u64], spill: &'a [f64]) -> Problem<'a> {
            Problem {
                nodes: &self.nodes,
                devices: self.devices,
                times: &self.times,
                moves: &self.moves,
                bytes: &self.bytes,
                valid: &self.valid,
                wanted: &self.wanted,
                copied: false,
                free,
                spill,
            }
        }
    }

    const ROOM: [u64; 3] = [u64::MAX; 3];
    const SPILL: [f64; 3] = [0.3; 3];

    fn enumerated(problem: &Problem<'_>) -> f64 {
        let (n, d) = (problem.nodes.len(), problem.devices);
        let all = (0..d.pow(n as u32)).map(|code| {
            let devices: Vec<u8> = (0..n).map(|at| (code / d.pow(at as u32) % d) as u8).collect();
            problem.cost(&devices)
        });
        all.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn small_problems_are_solved_exactly() {
        for seed in 0..300 {
            let made = Made::new(seed, 1 + (seed % 8) as usize, 2 + (seed % 5 == 0) as usize);
            let problem = made.problem(&ROOM, &SPILL);
            let (best, proven) = problem.exact(problem.simple());
            assert!(proven, "seed {seed}");
            assert_eq!(best.total, problem.cost(&best.devices), "seed {seed}");
            let want = enumerated(&problem);
            assert!((best.total - want).abs() < 1e-6, "seed {seed}: {} instead of {want}", best.total);
        }
    }

    #[test]
    fn copies_elsewhere_are_those_of_the_kernel_alone() {
        // A kernel on what the host has, whose result the host wants; links cost 10 up and 7 down.
        let node =
            Node { reads: [0].into_iter().collect(), writes: [1].into_iter().collect(), ..Node::default() };
        let (nodes, moves) = ([node], [(0.0, 0.0), (10.0, 7.0), (0.0, 0.0), (10.0, 7.0)]);
        let problem = Problem {
            nodes: &nodes,
            devices: 2,
            times: &[50.0, 20.0],
            moves: &moves,
            bytes: &[8, 8],
            valid: &[1, 0],
            wanted: &[1],
            copied: false,
            free: &ROOM,
            spill: &SPILL,
        };
        assert_eq!(problem.moving(&[0]), [0.0, 17.0]);
        assert_eq!(problem.moving(&[1]), [0.0, 17.0], "of one kernel it is the same wherever it runs");
        let decision = |device: u8| {
            let best = Assignment { devices: [device].into_iter().collect(), total: 0.0 };
            crate::Decision::new(0, &problem, best, problem.times.to_vec(), None, |_| false)
        };
        // 45 on the host, where 50 were predicted: elsewhere 20 and 17 of copies.
        assert_eq!(decision(0).regret_ns(0, 45.0), Some(8.0));
        assert_eq!(decision(0).regret_ns(0, 30.0), Some(0.0), "quick enough");
        // 60 there and 17 of copies, against 50 on the host.
        assert_eq!(decision(1).regret_ns(0, 60.0), Some(27.0));
    }

    #[test]
    fn the_heuristic_is_close_to_the_best() {
        let (mut sum, mut worst, mut count) = (0.0, 0.0f64, 0.0);
        for seed in 0..300 {
            let made = Made::new(seed, 10, 2);
            let problem = made.problem(&ROOM, &SPILL);
            let best = enumerated(&problem);
            let found = problem.heuristic().total;
            assert!(found >= best - 1e-6);
            let over = found / best - 1.0;
            (sum, worst, count) = (sum + over, worst.max(over), count + 1.0);
        }
        assert!(sum / count < 0.01, "mean {}, worst {worst}", sum / count);
        assert!(worst < 0.25, "worst {worst}");
    }

    #[test]
    fn ten_kernels_are_solved_to_the_end() {
        let proven = (0..200).filter(|&seed| {
            let made = Made::new(seed, 10, 2);
            let problem = made.problem(&ROOM, &SPILL);
            problem.exact(problem.simple()).1
        });
        assert!(proven.count() >= 195);
    }

    #[test]
    fn ties_go_to_the_host_and_impossible_kernels_stay_away() {
        let nodes = vec![Node {
            reads: [0].into_iter().collect(),
            writes: [1].into_iter().collect(),
            ..Node::default()
        }];
        let mut made = Made {
            nodes,
            times: vec![5.0, 5.0],
            moves: vec![(0.0, 0.0); 4],
            bytes: vec![8, 8],
            valid: vec![1, 0],
            wanted: vec![1],
            devices: 2,
        };
        assert_eq!(made.problem(&ROOM, &SPILL).solve().devices.as_slice(), [0]);
        made.times = vec![5e9, f64::INFINITY];
        assert_eq!(made.problem(&ROOM, &SPILL).solve().devices.as_slice(), [0]);
        made.times = vec![5e9, 1.0];
        assert_eq!(made.problem(&ROOM, &SPILL).solve().devices.as_slice(), [1]);
        // No room: 16 bytes spilled at a price beyond what the device saves.
        let solved = made.problem(&[u64::MAX, 0, 0], &[0.0, 1e9, 0.0]).solve();
        assert_eq!(solved.devices.as_slice(), [0]);
    }
}
