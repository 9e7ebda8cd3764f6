//! Names of devices that nobody mixes up: machines with several GPUs have several of one model.

use std::collections::HashMap;

use crate::{MachineDevice, Track, TrackKind};

/// Gives devices that share a name their numbers, and the queues whose names begin with it.
pub(crate) fn name(devices: &mut [MachineDevice], tracks: &mut [Track]) {
    // A name that was made may be that of another device; every round makes them longer, so there are few.
    loop {
        let mut counts: HashMap<String, usize> = HashMap::new();
        devices.iter().for_each(|device| *counts.entry(device.name.clone()).or_default() += 1);
        if counts.values().all(|&count| count == 1) {
            return;
        }
        for (number, device) in devices.iter_mut().enumerate().filter(|(_, device)| counts[&device.name] > 1)
        {
            // As programs write them: the host has no number, and the first GPU is 0.
            let fresh = match number {
                0 => format!("{} ({})", device.name, device.kind),
                _ => format!("{} ({}:{})", device.name, device.kind, number - 1),
            };
            let queues = tracks
                .iter_mut()
                .filter(|track| track.kind == TrackKind::Stream && track.device as usize == number);
            for track in queues {
                if let Some(purpose) = track.name.strip_prefix(&format!("{} ", device.name)) {
                    track.name = format!("{fresh} {purpose}");
                }
            }
            device.name = fresh;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_one_name_get_numbers() {
        let device =
            |name: &str| MachineDevice { name: name.into(), kind: "cuda".into(), ..MachineDevice::default() };
        let queue = |device, name: &str| Track { name: name.into(), kind: TrackKind::Stream, device };
        let mut devices = [device("CPU"), device("H200"), device("H200"), device("H200 (cuda:1)")];
        let mut tracks = [queue(1, "H200 compute"), queue(2, "H200 compute"), queue(3, "mine")];
        name(&mut devices, &mut tracks);
        let names = devices.each_ref().map(|device| device.name.as_str());
        assert_eq!(names, ["CPU", "H200 (cuda:0)", "H200 (cuda:1) (cuda:1)", "H200 (cuda:1) (cuda:2)"]);
        let names = tracks.each_ref().map(|track| track.name.as_str());
        assert_eq!(names, ["H200 (cuda:0) compute", "H200 (cuda:1) (cuda:1) compute", "mine"]);
        let before = devices.clone();
        name(&mut devices, &mut tracks);
        assert_eq!(devices, before, "once is enough");
    }
}
