//! What a machine can do: latencies, bandwidths and rates of its devices, measured once and kept as JSON.
//!
//! A [`Profile`] is data. It is made by measuring ([`crate::calibrate`]) or assumed where nothing was measured, and predicts how
//! long a kernel or a copy takes: the start, and then whatever takes longer, moving bytes or computing.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use crossover_plan::{Class, Width, Work};
use miniserde::{Deserialize, Serialize, json};

use crate::{Error, Result};

/// The version of the JSON; files of another one are measured again.
pub const VERSION: u32 = 1;

/// A rate that depends on size: points of (bytes, bytes per nanosecond), by rising size.
///
/// ```
/// use crossover_runtime::Curve;
/// let curve = Curve::new([(1024.0, 1.0), (4096.0, 3.0)]);
/// assert_eq!(curve.at(2048.0), 2.0); // halfway, as sizes double
/// assert_eq!((curve.at(1.0), curve.at(1e9)), (1.0, 3.0));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// Through these points; rates that are not positive are left out.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
        let usable = |p: &(f64, f64)| p.0 > 0.0 && p.1 > 0.0 && p.0.is_finite() && p.1.is_finite();
        let mut points: Vec<(f64, f64)> = points.into_iter().filter(usable).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve { points }
    }

    /// The same rate at every size.
    pub fn flat(rate: f64) -> Curve {
        Curve::new([(1.0, rate)])
    }

    /// The points.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The rate at a size, between points linear in the logarithm of the size.
    pub fn at(&self, bytes: f64) -> f64 {
        let after = self.points.partition_point(|p| p.0 < bytes);
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (Some(low), Some(&high)) => {
                let along = (bytes / low.0).ln() / (high.0 / low.0).ln();
                low.1 + along * (high.1 - low.1)
            }
            (Some(only), None) | (None, Some(&only)) => only.1,
            // Nothing was measured: slow enough to be avoided, fast enough to be finite.
            (None, None) => 1e-3,
        }
    }
}

/// Rates by class of work and element type, per nanosecond.
#[derive(Debug, Clone, PartialEq)]
pub struct RateTable {
    rates: [[f64; Width::ALL.len()]; Class::ALL.len()],
    /// Which were measured, and not assumed or carried over from one that was.
    measured: [[bool; Width::ALL.len()]; Class::ALL.len()],
}

impl RateTable {
    /// A table from a rate for `f32` of each class and how much faster or slower each type is.
    pub fn new(class: impl Fn(Class) -> f64, width: impl Fn(Class, Width) -> f64) -> RateTable {
        let row = |c: Class| Width::ALL.map(|w| class(c) * width(c, w));
        RateTable { rates: Class::ALL.map(row), measured: Class::ALL.map(|_| Width::ALL.map(|_| false)) }
    }

    /// The rate of a class for a type.
    pub fn get(&self, class: Class, width: Width) -> f64 {
        self.rates[class as usize][width as usize]
    }

    /// Sets a measured rate; anything but a positive number is ignored.
    pub fn set(&mut self, class: Class, width: Width, rate: f64) {
        if rate.is_finite() && rate > 0.0 {
            self.rates[class as usize][width as usize] = rate;
            self.measured[class as usize][width as usize] = true;
        }
    }

    /// Whether a rate was measured; otherwise it is assumed, or as much faster or slower than assumed as one that was.
    pub fn is_measured(&self, class: Class, width: Width) -> bool {
        self.measured[class as usize][width as usize]
    }

    /// Multiplies a class, or everything, by a factor.
    pub fn scale(&mut self, class: Option<Class>, factor: f64) {
        for (at, row) in self.rates.iter_mut().enumerate() {
            if class.is_none_or(|c| c as usize == at) {
                row.iter_mut().for_each(|rate| *rate *= factor);
            }
        }
    }
}

impl RateTable {
    /// By names, for files.
    fn named(&self) -> BTreeMap<String, f64> {
        let all = Class::ALL.into_iter().flat_map(|c| Width::ALL.map(|w| (c, w)));
        all.map(|(c, w)| (format!("{}.{}", c.name(), w.name()), self.get(c, w))).collect()
    }

    /// The names of those that were measured.
    fn named_measured(&self) -> Vec<String> {
        let all = Class::ALL.into_iter().flat_map(|c| Width::ALL.map(|w| (c, w)));
        all.filter(|&(c, w)| self.is_measured(c, w))
            .map(|(c, w)| format!("{}.{}", c.name(), w.name()))
            .collect()
    }

    /// From names; what is missing is assumed.
    fn from_named(
        named: &BTreeMap<String, f64>,
        measured: &[String],
        assumed: &RateTable,
    ) -> Result<RateTable, String> {
        let mut table = assumed.clone();
        for (key, &rate) in named {
            let pair = key
                .split_once('.')
                .and_then(|(class, width)| Some((Class::from_name(class)?, Width::from_name(width)?)));
            let (class, width) = pair.ok_or_else(|| format!("{key:?} is not a class and a type"))?;
            if !(rate.is_finite() && rate > 0.0) {
                return Err(format!("the rate {rate} of {key} is not a positive number"));
            }
            table.set(class, width, rate);
            table.measured[class as usize][width as usize] = measured.contains(key);
        }
        Ok(table)
    }
}

/// Copies in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Nanoseconds until the first byte has arrived.
    pub latency_ns: f64,
    /// Bytes per nanosecond beyond that, by size.
    pub bandwidth: Curve,
}

impl Link {
    /// Nanoseconds for a copy.
    pub fn time(&self, bytes: u64) -> f64 {
        if bytes == 0 {
            return 0.0;
        }
        self.latency_ns + bytes as f64 / self.bandwidth.at(bytes as f64)
    }
}

/// Copies between the host and a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Links {
    /// To the device, from ordinary memory.
    pub up: Link,
    /// From the device, to ordinary memory.
    pub down: Link,
    /// To the device, from page-locked memory; `None` where it was not measured.
    pub up_pinned: Option<Link>,
    /// From the device, to page-locked memory.
    pub down_pinned: Option<Link>,
}

/// One device.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceProfile {
    /// What it is.
    pub name: String,
    /// Nanoseconds to start a kernel.
    pub launch_ns: f64,
    /// Nanoseconds until the host knows that a kernel has ended.
    pub sync_ns: f64,
    /// Units that share a kernel's work: threads of a host; 1 for a GPU, whose rates are those of all of it.
    pub units: u32,
    /// Nanoseconds of one unit's work below which the others stay idle.
    pub alone_ns: f64,
    /// Bytes per nanosecond from and to its memory, by working set.
    pub bandwidth: Curve,
    /// What it computes per nanosecond, all units together.
    pub rates: RateTable,
    /// Copies between it and the host; `None` for the host.
    pub links: Option<Links>,
}

impl DeviceProfile {
    /// A host nobody measured, as recent processors are.
    pub fn assumed_host(threads: usize) -> DeviceProfile {
        let units = threads.max(1) as f64;
        let class = |c: Class| {
            units
                * match c {
                    Class::Simple => 6.0,
                    Class::Divide => 2.0,
                    Class::Function => 1.0,
                    Class::Heavy => 0.3,
                    Class::Reduce => 6.0,
                    Class::Random => 0.8,
                    Class::Lookup => 0.6,
                    Class::Product => 80.0,
                    Class::Transform => 4.0,
                    Class::Sort => 0.4,
                    Class::Decompose => 8.0,
                    Class::Convolve => 8.0,
                    Class::Other => 1.0,
                }
        };
        DeviceProfile {
            name: "CPU".to_string(),
            launch_ns: 500.0,
            sync_ns: 0.0,
            units: threads.max(1) as u32,
            alone_ns: 30_000.0,
            // The first is one core's cache; all cores together reach memory.
            bandwidth: Curve::new([(65_536.0, 60.0), (4e6, 40.0), (6.4e7, 10.0 + 4.0 * units.min(10.0))]),
            rates: RateTable::new(class, host_width),
            links: None,
        }
    }

    /// A GPU nobody measured, slower than recent ones so that it must be worth its while.
    pub fn assumed_gpu() -> DeviceProfile {
        let class = |c: Class| match c {
            Class::Simple => 4000.0,
            Class::Divide => 1000.0,
            Class::Function => 600.0,
            Class::Heavy => 150.0,
            Class::Reduce => 1000.0,
            Class::Random => 500.0,
            Class::Lookup => 50.0,
            Class::Product => 15_000.0,
            Class::Transform => 1000.0,
            Class::Sort => 50.0,
            Class::Decompose => 100.0,
            Class::Convolve => 1500.0,
            Class::Other => 100.0,
        };
        let width = |c: Class, w: Width| match (c, w) {
            (Class::Product, Width::Half) => 8.0,
            (_, Width::Double | Width::Long) => 0.5,
            _ => 1.0,
        };
        let link = |latency_ns: f64, rate: f64| Link {
            latency_ns,
            bandwidth: Curve::new([(65_536.0, rate / 3.0), (1e6, rate * 0.7), (1.6e7, rate)]),
        };
        DeviceProfile {
            name: "GPU".to_string(),
            launch_ns: 4_000.0,
            sync_ns: 6_000.0,
            units: 1,
            alone_ns: 0.0,
            bandwidth: Curve::new([(1e6, 600.0), (1.6e7, 1200.0), (1e9, 1500.0)]),
            rates: RateTable::new(class, width),
            links: Some(Links {
                up: link(9_000.0, 8.0),
                down: link(9_000.0, 5.0),
                up_pinned: Some(link(9_000.0, 20.0)),
                down_pinned: Some(link(9_000.0, 20.0)),
            }),
        }
    }

    /// Predicted nanoseconds of a kernel: the start, and the longer of moving and computing.
    ///
    /// ```
    /// use crossover_plan::Work;
    /// use crossover_runtime::DeviceProfile;
    /// let gpu = DeviceProfile::assumed_gpu();
    /// let nothing = gpu.time(&Work::default());
    /// assert_eq!(nothing, gpu.launch_ns);
    /// ```
    pub fn time(&self, work: &Work) -> f64 {
        let moving =
            if work.bytes == 0 { 0.0 } else { work.bytes as f64 / self.bandwidth.at(work.bytes as f64) };
        let computing: f64 =
            work.terms.iter().map(|t| t.count as f64 / self.rates.get(t.class, t.width)).sum();
        // One unit's time is the measure of what is worth sharing.
        let alone = computing * f64::from(self.units);
        let computing = if alone <= self.alone_ns { alone } else { computing.max(self.alone_ns) };
        self.launch_ns + moving.max(computing)
    }
}

/// How much faster than `f32` a host is with other types: as many more as fit a vector.
fn host_width(class: Class, width: Width) -> f64 {
    match (class, width) {
        (Class::Product, Width::Half) => 0.6,
        (Class::Product, Width::Byte | Width::Short | Width::Word | Width::Long) => 0.05,
        (Class::Simple | Class::Reduce, Width::Byte) => 3.0,
        (Class::Simple | Class::Reduce, Width::Short) => 1.7,
        (Class::Sort | Class::Lookup | Class::Random, _) => 1.0,
        (Class::Divide, Width::Byte | Width::Short | Width::Word) => 0.2,
        (Class::Divide, Width::Long) => 0.1,
        (_, Width::Double | Width::Long) => 0.5,
        _ => 1.0,
    }
}

/// How a profile came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Made {
    /// Nothing was measured.
    #[serde(rename = "assumed")]
    Assumed,
    /// In the short form, at first use.
    #[serde(rename = "briefly")]
    Briefly,
    /// By `crossover calibrate`.
    #[serde(rename = "calibrated")]
    Calibrated,
}

/// A machine: its host and its accelerators, in the order of [`Machine`](crate::Machine).
///
/// ```
/// use crossover_runtime::Profile;
/// let profile = Profile::assumed(8, 1);
/// let again = Profile::from_json(&profile.to_json()).unwrap();
/// assert_eq!(again, profile);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Version of this form.
    pub version: u32,
    /// What was measured: processor, threads, GPUs, driver. A profile holds for the machine it names.
    pub machine: String,
    /// How it was made.
    pub made: Made,
    /// Devices, the host first.
    pub devices: Vec<DeviceProfile>,
}

impl Profile {
    /// A machine nobody measured.
    pub fn assumed(threads: usize, accelerators: usize) -> Profile {
        let gpus = std::iter::repeat_with(DeviceProfile::assumed_gpu).take(accelerators);
        let devices = std::iter::once(DeviceProfile::assumed_host(threads)).chain(gpus).collect();
        Profile { version: VERSION, machine: String::new(), made: Made::Assumed, devices }
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        let device = |d: &DeviceProfile| StoredDevice {
            name: d.name.clone(),
            launch_ns: d.launch_ns,
            sync_ns: d.sync_ns,
            units: d.units,
            alone_ns: d.alone_ns,
            bandwidth: d.bandwidth.clone(),
            rates: d.rates.named(),
            measured: Some(d.rates.named_measured()),
            links: d.links.clone(),
        };
        let devices = self.devices.iter().map(device).collect();
        json::to_string(&Stored {
            version: self.version,
            machine: self.machine.clone(),
            made: self.made,
            devices,
        })
    }

    /// From JSON of this version.
    pub fn from_json(text: &str) -> Result<Profile, String> {
        let stored: Stored =
            json::from_str(text).map_err(|_| "it is not the JSON of a machine profile".to_string())?;
        if stored.version != VERSION {
            return Err(format!("it has version {}, this program reads {VERSION}", stored.version));
        }
        if stored.devices.is_empty() {
            return Err("it has no devices".to_string());
        }
        let devices = stored.devices.into_iter().map(StoredDevice::checked).collect::<Result<_, _>>()?;
        Ok(Profile { version: VERSION, machine: stored.machine, made: stored.made, devices })
    }

    /// Reads a file.
    ///
    /// ```
    /// use crossover_runtime::Profile;
    /// let missing = Profile::load("/nowhere/profile.json".as_ref()).unwrap_err();
    /// assert!(missing.to_string().contains("/nowhere/profile.json"));
    /// ```
    pub fn load(path: &Path) -> Result<Profile> {
        let file = || path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| refused(path, "read", &error))?;
        Profile::from_json(&text).map_err(|what| Error::Corrupt { file: file(), format: "profile", what })
    }

    /// Writes a file, whole or not at all, and makes its folder.
    ///
    /// ```
    /// use crossover_runtime::Profile;
    /// let path = std::env::temp_dir().join(format!("crossover-profile-{}.json", std::process::id()));
    /// let assumed = Profile::assumed(2, 0);
    /// assumed.save(&path)?;
    /// assert_eq!(Profile::load(&path)?, assumed);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn save(&self, path: &Path) -> Result<()> {
        write(path, &self.to_json())
    }
}

/// Writes a file, whole or not at all, and makes its folder.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| refused(folder, "make", &error))?;
    // Processes and threads that write the same file must not write the same fresh one.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let fresh = path.with_extension(format!("{}-{count}.tmp", std::process::id()));
    let written = std::fs::write(&fresh, text).and_then(|()| std::fs::rename(&fresh, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&fresh);
        refused(path, "write", &error)
    })
}

/// A profile as it is written.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    machine: String,
    made: Made,
    devices: Vec<StoredDevice>,
}

#[derive(Serialize, Deserialize)]
struct StoredDevice {
    name: String,
    launch_ns: f64,
    sync_ns: f64,
    units: u32,
    alone_ns: f64,
    bandwidth: Curve,
    rates: BTreeMap<String, f64>,
    measured: Option<Vec<String>>,
    links: Option<Links>,
}

impl StoredDevice {
    fn checked(self) -> Result<DeviceProfile, String> {
        let mut numbers = vec![self.launch_ns, self.sync_ns, self.alone_ns];
        let mut links = self.links;
        if let Some(links) = &mut links {
            let all = [
                Some(&mut links.up),
                Some(&mut links.down),
                links.up_pinned.as_mut(),
                links.down_pinned.as_mut(),
            ];
            for link in all.into_iter().flatten() {
                numbers.push(link.latency_ns);
                link.bandwidth = Curve::new(link.bandwidth.points.iter().copied());
            }
        }
        if self.units == 0 || !numbers.iter().all(|n| n.is_finite() && *n >= 0.0) {
            return Err(format!("the latencies of {} are not numbers of nanoseconds", self.name));
        }
        let assumed = if links.is_some() {
            DeviceProfile::assumed_gpu()
        } else {
            DeviceProfile::assumed_host(self.units as usize)
        };
        Ok(DeviceProfile {
            name: self.name,
            launch_ns: self.launch_ns,
            sync_ns: self.sync_ns,
            units: self.units,
            alone_ns: self.alone_ns,
            bandwidth: Curve::new(self.bandwidth.points),
            rates: RateTable::from_named(&self.rates, &self.measured.unwrap_or_default(), &assumed.rates)?,
            links,
        })
    }
}

pub(crate) fn refused(path: &Path, action: &'static str, error: &io::Error) -> Error {
    let file = path.display().to_string();
    Error::Io { file, action, kind: error.kind(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossover_plan::Term;

    #[test]
    fn work_below_the_threshold_is_done_by_one_unit() {
        let host = DeviceProfile::assumed_host(8);
        let work = |count: u64| Work {
            bytes: 0,
            terms: [Term { class: Class::Function, width: Width::Single, count }].into_iter().collect(),
        };
        assert_eq!(host.time(&work(1000)), 500.0 + 1000.0);
        assert_eq!(host.time(&work(8_000_000)), 500.0 + 1e6);
        // In between more work never takes less time.
        let times: Vec<f64> = (1..200).map(|k| host.time(&work(k * 1000))).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn many_writers_of_one_file_leave_it_whole_at_every_moment() {
        let folder = std::env::temp_dir().join(format!("crossover-profiles-{}", std::process::id()));
        let path = folder.join("shared.json");
        let profiles = [Profile::assumed(2, 0), Profile::assumed(64, 8)];
        profiles[0].save(&path).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (path, profile) = (&path, &profiles[writer % 2]);
                scope.spawn(move || (0..50).for_each(|_| profile.save(path).unwrap()));
            }
            for _ in 0..200 {
                let found = Profile::load(&path).unwrap();
                assert!(profiles.contains(&found));
            }
        });
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn measured_rates_are_told_from_carried_over_ones_in_files_too() {
        let mut profile = Profile::assumed(2, 1);
        profile.devices[1].rates.scale(None, 2.0);
        profile.devices[1].rates.set(Class::Sort, Width::Single, 7.0);
        let again = Profile::from_json(&profile.to_json()).unwrap();
        assert_eq!(again, profile);
        let measured = |class| again.devices[1].rates.is_measured(class, Width::Single);
        assert!(measured(Class::Sort) && !measured(Class::Product));
        let old = profile.to_json().replace("\"measured\"", "\"unknown\"");
        assert!(
            Profile::from_json(&old)
                .is_ok_and(|p| !p.devices[1].rates.is_measured(Class::Sort, Width::Single))
        );
    }

    #[test]
    fn files_that_are_not_profiles_are_errors_that_name_them() {
        let good = Profile::assumed(2, 1);
        for (from, to) in [
            ("\"version\":1", "\"version\":9"),
            ("simple.f32", "simple.f99"),
            ("\"launch_ns\":500", "\"launch_ns\":-1"),
            ("devices", "gadgets"),
        ] {
            let bad = good.to_json().replace(from, to);
            assert!(Profile::from_json(&bad).is_err(), "{from}");
        }
        let folder = std::env::temp_dir().join(format!("crossover-profile-{}", std::process::id()));
        let path = folder.join("deep").join("a.json");
        assert!(matches!(Profile::load(&path), Err(Error::Io { .. })));
        good.save(&path).unwrap();
        assert_eq!(Profile::load(&path).unwrap(), good);
        std::fs::write(&path, "{}").unwrap();
        let error = Profile::load(&path).unwrap_err();
        assert!(error.to_string().contains("a.json is not a valid profile file"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
