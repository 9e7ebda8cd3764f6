//! Items as queries compare with them, where there is room for more.

use crossover_array::{Array, DType, Device, Runtime, current_device, s, with_device};

use crate::Result;

/// Rows that grow in place: on the device where they are, nothing that is there moves when others come.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    /// `[capacity, width]`, of which the first rows count.
    storage: Option<Array>,
    len: usize,
}

impl Reserved {
    /// Room on the GPU that evaluations are told to use, or may use; if there is none, or it has too little, that is left for later.
    pub fn on_gpu(items: usize, width: usize, dtype: DType) -> Reserved {
        let Some(gpu) = wanted().filter(|gpu| items > 0 && Runtime::current().is_available(*gpu)) else {
            return Reserved::default();
        };
        let storage = with_device(gpu, || Array::zeros_dtype([items, width], dtype));
        match with_device(gpu, || storage.eval().map(drop)) {
            Ok(()) => Reserved { storage: Some(storage), len: 0 },
            Err(error) => {
                tracing::warn!(target: "crossover::hrr", items, %error, "no memory is taken on the GPU yet");
                Reserved::default()
            }
        }
    }

    /// Rows that count.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Forgets all rows from one on; their room stays.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The rows that count.
    pub fn rows(&self) -> Option<Array> {
        self.storage.as_ref().map(|storage| storage.slice(s![0..self.len]))
    }

    /// Puts rows behind those that are there. Where that takes a move, there is room for `capacity` rows afterwards.
    pub fn push(&mut self, new: Array, capacity: usize) -> Result<()> {
        let (count, width) = (new.shape().dims()[0], new.shape().dims()[1]);
        let end = self.len + count;
        match &self.storage {
            Some(storage) if end <= storage.shape().dims()[0] => {
                storage.slice(s![self.len..end]).assign(new)?;
                storage.eval()?;
            }
            // Nothing to keep, and nothing known of what is to come.
            _ if self.len == 0 && end >= capacity => {
                new.eval()?;
                self.storage = Some(new);
            }
            _ => {
                let room = Array::zeros_dtype([capacity.max(end) - end, width], new.dtype());
                let kept = self.rows();
                let all: Vec<&Array> = kept.iter().chain([&new, &room]).collect();
                let larger = Array::concat(&all, 0);
                larger.eval()?;
                self.storage = Some(larger);
            }
        }
        self.len = end;
        Ok(())
    }

    /// Moves all to a device.
    pub fn move_to(&mut self, device: Device) -> Result<()> {
        if let Some(storage) = &mut self.storage {
            *storage = storage.to_device(device)?;
        }
        Ok(())
    }
}

/// The GPU that [`with_device`] or the runtime names; the first where neither does; none where the CPU is to be used.
fn wanted() -> Option<Device> {
    let device = match current_device() {
        Device::Auto => {
            let settings = Runtime::current().settings();
            let told = settings.iter().find(|setting| setting.name == "device");
            told.and_then(|told| told.value.parse().ok()).unwrap_or_default()
        }
        told => told,
    };
    match device {
        Device::Auto => Some(Device::Cuda(0)),
        Device::Cpu => None,
        gpu => Some(gpu),
    }
}
