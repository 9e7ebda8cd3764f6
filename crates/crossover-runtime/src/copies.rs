//! Copies between the host and a device that are under way while whoever asked for them does something else.
//!
//! What always holds: both ends of a copy stay where they are until it has been waited for or dropped, since it holds the buffers that they
//! belong to. One that is forgotten holds them for ever.
#![allow(unsafe_code)]

use std::{ops::Range, sync::Arc};

use smallvec::SmallVec;

use crate::{Block, Buffer, Device, Error, Executor, Landing, Machine, Result, Underway, buffer::Pin, trace};

/// Host bytes on their way to a device.
#[must_use = "a copy that is dropped has been made for nothing"]
pub struct Sending {
    underway: Option<Box<dyn Underway>>,
    block: Option<Block>,
    device: Device,
    machine: Arc<Machine>,
    /// Whose bytes they are; after the copy.
    _from: SmallVec<[Arc<Buffer>; 8]>,
}

impl Sending {
    /// The buffer, once kernels that are launched from here on find the bytes in it.
    pub fn wait(mut self) -> Result<Arc<Buffer>> {
        let _span = trace::span(trace::Kind::Wait, "send to a device");
        if let Some(underway) = self.underway.take() {
            underway.wait()?;
        }
        let block = self.block.take();
        let block = block.ok_or_else(|| Error::Internal("a copy without memory".to_string()))?;
        Ok(Buffer::placed(&self.machine, self.device, block))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        drop(self.underway.take());
        if let Some(block) = self.block.take() {
            self.machine.backend(self.device).free(block);
        }
    }
}

/// How contents come to the host.
enum Way {
    /// Into memory of the device's driver.
    Landing(Box<dyn Landing>),
    /// Into memory of the host's.
    Copy(Box<dyn Underway>, Block),
    /// They are there, or come when they are asked for.
    Later,
}

/// Contents of a buffer on their way to the host.
#[must_use = "a copy that is dropped has been made for nothing"]
pub struct Bringing {
    way: Way,
    /// Whose contents they are, and what keeps them where they are; after the copy.
    _pin: Option<Pin>,
    buffer: Arc<Buffer>,
}

impl Bringing {
    /// Waits until the host has the contents.
    pub fn wait(mut self) -> Result<()> {
        let _span = trace::span(trace::Kind::Wait, "read from a device");
        match std::mem::replace(&mut self.way, Way::Later) {
            Way::Landing(landing) => self.buffer.landed(landing.wait()?),
            Way::Copy(underway, block) => {
                let host = self.buffer.machine().backend(Device::HOST);
                match underway.wait() {
                    Ok(()) => self.buffer.came_home(block),
                    Err(error) => {
                        host.free(block);
                        return Err(error);
                    }
                }
            }
            Way::Later => {}
        }
        // Whatever became of the copy: this is what was asked for.
        self.buffer.host_bytes().map(drop)
    }
}

impl Drop for Bringing {
    fn drop(&mut self) {
        if let Way::Copy(underway, block) = std::mem::replace(&mut self.way, Way::Later) {
            drop(underway);
            self.buffer.machine().backend(Device::HOST).free(block);
        }
    }
}

impl Buffer {
    /// Starts to bring the contents to the host, where that can be done beside something else; otherwise they come when the answer is waited
    /// for.
    ///
    /// ```
    /// use crossover_runtime::{Buffer, Device, Machine, sim::{Clock, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
    /// let machine = Machine::new(host, Vec::new())?;
    /// let buffer = Buffer::from_bytes(&machine, &[1, 2, 3])?;
    /// buffer.begin_home()?.wait()?;
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn begin_home(self: &Arc<Self>) -> Result<Bringing> {
        let later = |pin| Bringing { way: Way::Later, _pin: pin, buffer: self.clone() };
        let Some((device, block, pin)) = self.away() else { return Ok(later(None)) };
        let backend = self.machine().backend(device);
        let from = Block { bytes: self.bytes(), ..block };
        if let Some(landing) = backend.begin_landing(from)? {
            return Ok(Bringing { way: Way::Landing(landing), _pin: Some(pin), buffer: self.clone() });
        }
        let host = self.machine().backend(Device::HOST);
        let block = self.machine().obtain(Device::HOST, self.bytes())?;
        if self.bytes() == 0 {
            host.free(block);
            return Ok(later(Some(pin)));
        }
        // SAFETY: the host backend hands out so many writable bytes at this address, which nobody else knows until the copy is over.
        let to = unsafe { std::slice::from_raw_parts_mut(block.address.0 as *mut u8, self.bytes()) };
        // SAFETY: the answer holds the block of the host, the buffer, and the pin that keeps its memory on the device.
        match unsafe { backend.begin_download(from, to) } {
            Ok(Some(underway)) => {
                Ok(Bringing { way: Way::Copy(underway, block), _pin: Some(pin), buffer: self.clone() })
            }
            none => {
                host.free(block);
                none.map(|_| later(Some(pin)))
            }
        }
    }
}

impl Executor {
    /// Starts to send ranges of host buffers, all of one length, to a device, one behind the other; `None`, with nothing done, where that cannot
    /// be done beside something else.
    ///
    /// ```
    /// use crossover_runtime::{Buffer, Device, Executor, Machine, Placement, sim::{Clock, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let host = Arc::new(SimHost::hollow(SimOptions::default(), Clock::default()));
    /// let machine = Machine::new(host, Vec::new())?;
    /// let executor = Executor::new(machine.clone(), Default::default(), Placement::Host);
    /// let buffer = Buffer::from_bytes(&machine, &[1, 2, 3, 4])?;
    /// let parts = [(buffer.clone(), 0..2), (buffer, 2..4)];
    /// assert!(executor.begin_send(Device::HOST, &parts)?.is_none());
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn begin_send(
        &self,
        device: Device,
        parts: &[(Arc<Buffer>, Range<usize>)],
    ) -> Result<Option<Sending>> {
        let machine = self.machine();
        let outside = || Error::Internal("a part outside of its buffer".to_string());
        let mut from: Vec<&[u8]> = Vec::with_capacity(parts.len());
        for (buffer, range) in parts {
            from.push(buffer.host_bytes()?.get(range.clone()).ok_or_else(outside)?);
        }
        if from.windows(2).any(|pair| pair[0].len() != pair[1].len()) {
            return Err(Error::Internal("parts of several lengths".to_string()));
        }
        let bytes = from.iter().map(|part| part.len()).sum();
        // SAFETY: the answer holds the buffers; the host's memory of a buffer stays, with its contents, as long as the buffer does.
        let begun = machine.with_room(device, bytes, |backend| unsafe { backend.begin_parts(&from) })?;
        let Some((block, underway)) = begun else { return Ok(None) };
        self.note_moved(device, bytes);
        Ok(Some(Sending {
            underway: Some(underway),
            block: Some(block),
            device,
            machine: machine.clone(),
            _from: parts.iter().map(|(buffer, _)| buffer.clone()).collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Placement,
        sim::{Clock, Fault, SimDevice, SimHost, SimOptions},
    };

    const DEVICE: Device = Device(1);

    fn machine() -> (SimDevice, Arc<Machine>) {
        let (clock, options) = (Clock::default(), SimOptions::default());
        let device = SimDevice::hollow(options.clone(), clock.clone());
        let host = Arc::new(SimHost::hollow(options, clock));
        (device.clone(), Machine::new(host, vec![Arc::new(device)]).unwrap())
    }

    #[test]
    fn what_is_dropped_on_its_way_leaves_nothing_on_the_device() {
        let (device, machine) = machine();
        let executor = Executor::new(machine.clone(), Default::default(), Placement::Host);
        let buffer = Buffer::from_bytes(&machine, &[3; 300]).unwrap();
        let parts = [(buffer.clone(), 0..100), (buffer.clone(), 200..300)];
        drop(executor.begin_send(DEVICE, &parts).unwrap().unwrap());
        assert_eq!(device.used(), 0);
        let sent = executor.begin_send(DEVICE, &parts).unwrap().unwrap().wait().unwrap();
        assert_eq!(
            (sent.bytes(), sent.valid_on().as_slice(), device.used()),
            (200, [DEVICE].as_slice(), 200)
        );
        device.inject(Fault::Copy(1));
        assert!(executor.begin_send(DEVICE, &parts).unwrap().unwrap().wait().is_err());
        assert_eq!(device.used(), 200, "memory of a copy that failed is given back");
        let wrong = [(buffer.clone(), 0..100), (buffer.clone(), 0..99)];
        assert!(executor.begin_send(DEVICE, &wrong).is_err());
        assert!(executor.begin_send(DEVICE, &[(buffer, 250..301)]).is_err());
    }

    #[test]
    fn contents_come_home_by_either_way_and_once() {
        let (device, machine) = machine();
        for bytes in [1000, 100_000] {
            let made = || {
                let (buffer, _, pin) = Buffer::uninitialised(&machine, DEVICE, bytes).unwrap();
                drop(pin);
                buffer
            };
            let buffer = made();
            let (one, other) = (buffer.begin_home().unwrap(), buffer.begin_home().unwrap());
            assert_eq!(buffer.valid_on().as_slice(), [DEVICE], "nobody has waited yet");
            one.wait().unwrap();
            other.wait().unwrap();
            assert_eq!(buffer.valid_on().as_slice(), [Device::HOST, DEVICE]);
            drop(made().begin_home().unwrap());
            device.inject(Fault::Copy(0));
            let failing = made();
            let coming = failing.begin_home().unwrap();
            assert!(coming.wait().is_err(), "{bytes} bytes");
            assert_eq!(failing.valid_on().as_slice(), [DEVICE]);
        }
        assert_eq!(device.used(), 0);
    }
}
