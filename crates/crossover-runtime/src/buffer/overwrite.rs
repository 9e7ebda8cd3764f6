//! Parts of a buffer that are written where it is.

use std::sync::Arc;

use super::Buffer;
use crate::{Address, Block, Device, Error, Result};

/// About how many microseconds it takes to overwrite a part on an accelerator, and to bring a buffer to the host and back beside its
/// bytes; bytes that move in one. Rough, since they only decide after how many small assignments in a row the next ones are made on the host.
const OVERWRITE: u64 = 12;
const BOTH_WAYS: u64 = 20;
const RATE: u64 = 10_000;

impl Buffer {
    /// Copies bytes of another buffer over some of this one's on an accelerator where its contents are; other copies are given up.
    /// False, with nothing done, if the device cannot copy, or if so many parts were overwritten since a kernel used the buffer that
    /// it had better come to the host for the next ones.
    ///
    /// ```
    /// use crossover_runtime::{Buffer, Device, Machine, sim::{Clock, SimDevice, SimHost, SimOptions}};
    /// # use std::sync::Arc;
    /// let (clock, options) = (Clock::default(), SimOptions::default());
    /// let gpu = Arc::new(SimDevice::hollow(options.clone(), clock.clone()));
    /// let machine = Machine::new(Arc::new(SimHost::hollow(options, clock)), vec![gpu])?;
    /// let (mut buffer, source) = (Buffer::from_bytes(&machine, &[1, 2, 3])?, Buffer::from_bytes(&machine, &[4, 5])?);
    /// let own = Buffer::exclusive(&mut buffer).expect("nobody else has it");
    /// own.keep_on(Device(1))?;
    /// assert!(own.overwrite(Device(1), 1, &source, 0..2)?);
    /// assert_eq!(buffer.valid_on().as_slice(), [Device(1)]);
    /// # Ok::<(), crossover_runtime::Error>(())
    /// ```
    pub fn overwrite(
        &mut self,
        device: Device,
        at: usize,
        source: &Arc<Buffer>,
        bytes: std::ops::Range<usize>,
    ) -> Result<bool> {
        if bytes.len() > self.bytes.saturating_sub(at) || bytes.end > source.bytes || bytes.start > bytes.end
        {
            let (here, there) = (self.bytes, source.bytes);
            let what = format!("bytes {bytes:?} of {there} do not fit at {at} of {here}");
            return Err(Error::Internal(what));
        }
        let times = self.overwritten.get_mut();
        // Having moved it would have cost as much by now.
        if u64::from(*times) * OVERWRITE > BOTH_WAYS + self.bytes as u64 / RATE {
            return Ok(false);
        }
        *times += 1;
        let slot = &self.state.get_mut().slots[device.0];
        let Some(block) = slot.block.filter(|_| slot.valid && slot.owner.is_none()) else { return Ok(false) };
        let (from, _, _pin) = source.held_on(device)?;
        let part = |block: Block, start: usize| Block {
            address: Address(block.address.0 + start as u64),
            bytes: bytes.len(),
        };
        let backend = self.machine.backend(device);
        let (from, to) = (part(from, bytes.start), part(block, at));
        if !bytes.is_empty() && !backend.copy_from(&**backend, from, to, bytes.len())? {
            return Ok(false);
        }
        self.keep_on(device)?;
        Ok(true)
    }
}
