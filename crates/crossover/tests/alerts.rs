//! Every alert fires, is told to whoever watches, is shown to other processes, and ends.
#![allow(clippy::unwrap_used)]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossover::{
    Alert, AlertKind, AlertWatch, Array, Runtime,
    profile::metrics::{MachineLoad, text},
    runtime::{
        Curve, Device, Executor, Link, Machine, Placement, Profile, Router,
        memory::{Limit, Limits},
        sim::{Fault, SimDevice, SimOptions},
    },
};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;
use parking_lot::Mutex;

const SIM: Device = Device(1);

struct Setup {
    sim: SimDevice,
    machine: Arc<Machine>,
    runtime: Runtime,
    told: Arc<Mutex<Vec<Alert>>>,
    _watch: AlertWatch,
}

fn setup(budget: u64, placement: Placement, profile: Profile) -> Setup {
    let cpu = || Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let limits = Limits { limit: Limit::Bytes(budget), ..Limits::default() };
    let sim = SimDevice::new(cpu(), SimOptions { limits, ..SimOptions::default() });
    let machine = Machine::new(cpu(), vec![Arc::new(sim.clone())]).unwrap();
    let router = Router::new(machine.clone(), profile);
    let executor = Executor::with_router(machine.clone(), Options::default(), placement, router);
    let (runtime, told) = (Runtime::from_executor(executor), Arc::new(Mutex::new(Vec::new())));
    let list = told.clone();
    let watch = runtime.on_alert(move |alert| list.lock().push(alert.clone()));
    Setup { sim, machine, runtime, told, _watch: watch }
}

fn usual() -> Setup {
    setup(1 << 20, Placement::On(SIM), Profile::assumed(1, 1))
}

impl Setup {
    /// What callbacks were told, once there is so much.
    fn told(&self, count: usize) -> Vec<(AlertKind, bool)> {
        let start = Instant::now();
        // Whoever looks also tells, unless the thread of the runtime does already.
        while self.told.lock().len() < count && start.elapsed() < Duration::from_secs(20) {
            self.runtime.alerts();
            std::thread::sleep(Duration::from_millis(2));
        }
        self.told.lock().iter().map(|alert| (alert.kind, alert.active)).collect()
    }

    /// Whether what other processes see agrees with the callback.
    fn is_shown(&self, kind: AlertKind) -> bool {
        let stats = self.runtime.process_stats();
        let listed = stats.alerts.iter().any(|alert| alert.kind == kind.name());
        let metrics = text(std::slice::from_ref(&stats), &MachineLoad::default());
        let served = metrics.lines().any(|line| {
            line.starts_with("crossover_alert_active{")
                && line.contains(&format!("alert=\"{kind}\""))
                && line.ends_with(" 1")
        });
        assert_eq!(listed, served, "the file and the metrics disagree about {kind}");
        listed
    }

    /// An array of so many bytes on the device.
    fn array(&self, bytes: usize) -> Array {
        self.runtime.scope(|| {
            let made = Array::zeros::<u8>([bytes]) + 1u8;
            made.eval().unwrap();
            made
        })
    }
}

#[test]
fn pressure() {
    let s = usual();
    let small = s.array(100_000);
    assert!(s.runtime.alerts().is_empty());
    let large = s.array(850_000);
    assert_eq!(s.told(1), [(AlertKind::Pressure, true)]);
    let alert = s.told.lock()[0].clone();
    assert!(alert.device.is_some() && alert.text.contains("% of its budget"), "{alert}");
    assert!(s.is_shown(AlertKind::Pressure));
    drop(large);
    s.runtime.trim().unwrap();
    assert_eq!(s.told(2), [(AlertKind::Pressure, true), (AlertKind::Pressure, false)]);
    assert!(!s.is_shown(AlertKind::Pressure));
    drop(small);
}

#[test]
fn pressure_that_passes_between_two_looks_is_told() {
    let s = usual();
    drop(s.array(950_000));
    s.runtime.trim().unwrap();
    assert_eq!(s.told(2), [(AlertKind::Pressure, true), (AlertKind::Pressure, false)]);
}

#[test]
fn a_leak() {
    let s = usual();
    let mut kept = Vec::new();
    for second in 0..400 {
        kept.push(s.array(1000));
        s.machine.watch(SIM, Duration::from_secs(1000 + second));
    }
    assert_eq!(s.told(1), [(AlertKind::Leak, true)]);
    assert!(s.is_shown(AlertKind::Leak));
    kept.clear();
    s.machine.watch(SIM, Duration::from_secs(1401));
    assert_eq!(s.told(2)[1], (AlertKind::Leak, false));
}

#[test]
fn a_fallback() {
    let s = usual();
    s.sim.inject(Fault::Kernel(0));
    assert_eq!(s.array(1000).to_vec::<u8>().unwrap(), [1; 1000], "the host computed it");
    assert_eq!(s.told(1), [(AlertKind::Fallback, true)]);
    assert!(s.is_shown(AlertKind::Fallback));
}

#[test]
fn a_lost_device() {
    let s = usual();
    s.array(1000);
    assert!(s.runtime.alerts().is_empty());
    s.sim.lose();
    assert_eq!(s.told(1), [(AlertKind::DeviceLost, true)], "before anybody runs into it");
    assert!(s.is_shown(AlertKind::DeviceLost));
    assert_eq!(s.runtime.process_stats().lost.len(), 1);
}

#[test]
fn regret() {
    // A device that is believed to be a thousand times faster than usual, and is a hundred thousand times slower.
    let mut profile = Profile::assumed(1, 1);
    profile.devices[1].rates.scale(None, 1000.0);
    if let Some(links) = &mut profile.devices[1].links {
        let link = Link { latency_ns: 1.0, bandwidth: Curve::flat(1000.0) };
        (links.up, links.down) = (link.clone(), link);
    }
    let s = setup(1 << 30, Placement::Auto, profile);
    s.sim.slow_down(1e5);
    s.runtime
        .scope(|| {
            let x = Array::linspace(1.0, 2.0, 300_000);
            x.pow(&x).eval().map(drop)
        })
        .unwrap();
    let counts = s.runtime.stats().counts;
    assert!(counts.regret > 100_000_000 && counts.regret <= counts.judged, "{counts:?}");
    assert_eq!(s.told(1), [(AlertKind::Regret, true)]);
    assert!(s.is_shown(AlertKind::Regret));
}

#[test]
fn a_dropped_watch_is_told_nothing() {
    let Setup { sim, runtime, told, _watch, .. } = usual();
    drop(_watch);
    sim.lose();
    assert_eq!(runtime.alerts().len(), 1);
    assert!(told.lock().is_empty());
}
