//! Items of one kind put together: which belong to a group, how large it may be, and the array of all of them.

use std::{panic::Location, sync::Arc};

use crossover_core::{Layout, Shape, graph::Type};
use crossover_runtime::{Backend, Buffer, Device, Entry, Sending};
use rayon::prelude::*;

use crate::{Array, Error, Result, Runtime, array::eval_all, convert, eval, node::State};

/// Bytes from which threads share the copying.
const LARGE: usize = 1 << 20;
/// Bytes of a group, beyond which another is begun: while one is computed the next is put together. Where copies to and from a device take
/// longer than computing, groups are small, so that the first is soon on its way; a host alone has nothing to wait for.
const ENOUGH: [u64; 2] = [256 << 20, 16 << 20];

/// Bytes that a group's plan may take in deterministic mode, however much memory there is.
const PINNED: u64 = 256 << 20;

/// How large groups may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes of pieces and results beyond which another group is begun.
    enough: u64,
    /// Bytes that a group's plan may take.
    held: u64,
}

impl Limits {
    /// Three groups fit into what is left on every device once `kept` bytes are taken, by items that are still to be computed and by results,
    /// and so are buffers that the function has `captured`.
    ///
    /// In deterministic mode they are constants: how many items share a plan decides where its products belong, and so their bits.
    pub(super) fn new(runtime: &Runtime, kept: u64, captured: &[Arc<Buffer>]) -> Limits {
        if runtime.executor().router().is_deterministic() {
            return Limits { enough: ENOUGH[1], held: PINNED };
        }
        // As the accounts have it: asking a driver takes longer than many a group.
        let room = |backend: &dyn Backend| match backend.account() {
            Some(account) => Some(account.room()),
            None => backend.memory().map(|memory| memory.available()),
        };
        let machine = runtime.machine();
        let left = |device: Device| {
            let missing = captured.iter().filter(|buffer| !buffer.is_valid_on(device));
            let missing = missing.map(|buffer| buffer.bytes() as u64).sum();
            Some(room(&**machine.backend(device))?.saturating_sub(kept).saturating_sub(missing))
        };
        let left = machine.devices().filter_map(left).min().unwrap_or(u64::MAX);
        // Three groups may be there at once: one waits, one is computed, one is fetched.
        Limits { enough: ENOUGH[usize::from(runtime.device_count() > 0)], held: left / 3 }
    }

    /// How many items a group has at most, if each of them moves so many bytes.
    pub(super) fn items(&self, bytes_per_item: u64, most: Option<usize>) -> usize {
        let fits = self.enough / bytes_per_item.max(1);
        usize::try_from(fits).unwrap_or(usize::MAX).clamp(1, most.unwrap_or(usize::MAX).max(1))
    }

    /// Whether a plan that takes so many bytes is allowed.
    pub(super) fn hold(&self, bytes: u64) -> bool {
        bytes <= self.held
    }

    /// How many of so many items are allowed, if all of them take so many bytes that it is too much: fewer, but one.
    pub(super) fn fewer(&self, items: usize, bytes: u64) -> usize {
        let fits = items as u128 * u128::from(self.held) / u128::from(bytes.max(1));
        usize::try_from(fits).unwrap_or(usize::MAX).clamp(1, items.saturating_sub(1).max(1))
    }
}

/// Items per group, all about as large as the first, so that few shapes are planned; at most `most`.
pub(super) fn even(items: usize, most: usize) -> usize {
    items.div_ceil(items.div_ceil(most))
}

/// Arrays of one type as one buffer, or on the way to being one.
pub(super) enum Stacked {
    /// It is there.
    Ready(Arc<Buffer>),
    /// Elements in a row of each, on their way to a device; and where they come from, should they not arrive.
    Coming(Sending, Vec<(Arc<Buffer>, Layout)>),
    /// The same as that of an earlier piece.
    Same(usize),
}

impl Stacked {
    /// The buffer, once kernels find everything in it; `before` are those of earlier pieces.
    pub(super) fn arrived(
        self,
        before: &[Arc<Buffer>],
        ty: &Type,
        location: &'static Location<'static>,
    ) -> Result<Arc<Buffer>> {
        let internal = || crossover_runtime::Error::Internal("a piece that is the same as none".into());
        match self {
            Stacked::Ready(buffer) => Ok(buffer),
            Stacked::Same(piece) => {
                before.get(piece).cloned().ok_or_else(|| Error::new(internal(), location))
            }
            Stacked::Coming(sending, contents) => sending.wait().or_else(|error| {
                stays(&error);
                put_together(&contents, ty, location)
            }),
        }
    }
}

/// Arrays of one type along a new first axis, on their way to the device where they will be needed, if there is one.
pub(super) fn stacked(
    arrays: &[&Array],
    ty: &Type,
    to: Option<Device>,
    location: &'static Location<'static>,
) -> Result<Stacked> {
    let runtime = Runtime::current();
    // What is pending is computed first, as one plan.
    eval_all(arrays)?;
    if arrays.iter().all(|array| !matches!(array.device(), crate::Device::Cpu)) {
        // They are on a GPU: there they stay.
        let whole = Array::stack(arrays, 0);
        return eval::node(&whole.node()).map(Stacked::Ready);
    }
    let contents: Vec<(Arc<Buffer>, Layout)> =
        arrays.iter().map(|array| array.contents()).collect::<Result<_>>()?;
    let bytes = ty.shape.size() * ty.dtype.size();
    if let (Some(device), true) = (to, bytes * arrays.len() >= LARGE)
        && contents.iter().all(|(_, layout)| layout.is_contiguous())
    {
        // They go straight to where they will be needed.
        match sent(&runtime, device, &contents, ty) {
            Ok(Ok(sending)) => return Ok(Stacked::Coming(sending, contents)),
            Ok(Err(whole)) => return Ok(Stacked::Ready(whole)),
            Err(error) => stays(&error),
        }
    }
    put_together(&contents, ty, location).map(Stacked::Ready)
}

/// Notes that the host, which has everything, computes a group or sends it there as one.
fn stays(error: &crossover_runtime::Error) {
    tracing::debug!(target: "crossover::fallback", %error, "a group stays on the host");
}

/// Elements of several buffers in one of the host's.
fn put_together(
    contents: &[(Arc<Buffer>, Layout)],
    ty: &Type,
    location: &'static Location<'static>,
) -> Result<Arc<Buffer>> {
    let bytes = ty.shape.size() * ty.dtype.size();
    let target = Layout::contiguous(ty.shape.clone());
    let fill = |(to, (buffer, layout)): (&mut [u8], &(Arc<Buffer>, Layout))| {
        let from = buffer.host_bytes().map_err(|error| Error::new(error, location))?;
        convert::copy(from, layout, to, &target, ty.dtype.size());
        Ok(())
    };
    let mut copied: Result<()> = Ok(());
    let buffer = Buffer::from_fill(Runtime::current().machine(), bytes * contents.len(), |to| {
        if bytes == 0 {
            return;
        }
        copied = if to.len() < LARGE {
            to.chunks_mut(bytes).zip(contents).try_for_each(fill)
        } else {
            to.par_chunks_mut(bytes).zip(contents).try_for_each(fill)
        };
    });
    copied?;
    buffer.map_err(|error| Error::new(error, location))
}

/// Bytes of elements that lie in a row.
fn entry(buffer: &Arc<Buffer>, layout: &Layout, ty: &Type) -> Entry {
    let start = layout.offset * ty.dtype.size();
    (buffer.clone(), start..start + ty.shape.size() * ty.dtype.size())
}

/// Elements in a row of each buffer on their way to a device; as one buffer there, where nothing can be done meanwhile.
fn sent(
    runtime: &Runtime,
    device: Device,
    contents: &[(Arc<Buffer>, Layout)],
    ty: &Type,
) -> crossover_runtime::Result<std::result::Result<Sending, Arc<Buffer>>> {
    let parts: Vec<Entry> = contents.iter().map(|(buffer, layout)| entry(buffer, layout, ty)).collect();
    if let Some(sending) = runtime.executor().begin_send(device, &parts)? {
        return Ok(Ok(sending));
    }
    let mut bytes: Vec<&[u8]> = Vec::with_capacity(parts.len());
    for (buffer, range) in &parts {
        bytes.push(&buffer.host_bytes()?[range.clone()]);
    }
    runtime.executor().send(device, &bytes).map(Err)
}

/// Where each of some arrays is, if all of them are ready and their elements lie in a row.
pub(super) fn entries<'a>(arrays: impl Iterator<Item = Option<&'a Array>>, ty: &Type) -> Option<Vec<Entry>> {
    let bytes = ty.shape.size() * ty.dtype.size();
    let one = |array: Option<&Array>| {
        let array = array?;
        // All of a cell lies in a row.
        let start = match array.view() {
            None => 0,
            Some(layout) if layout.is_contiguous() => layout.offset * ty.dtype.size(),
            Some(_) => return None,
        };
        let node = array.version();
        match &*node.state() {
            State::Ready(buffer) => Some((buffer.clone(), start..start + bytes)),
            _ => None,
        }
    };
    arrays.map(one).collect()
}

/// The entries of a group's result, as arrays that share its memory.
pub(super) fn parted(
    whole: Arc<Buffer>,
    ty: &Type,
    count: usize,
    location: &'static Location<'static>,
) -> Vec<Array> {
    let shape: Shape = std::iter::once(count).chain(ty.shape.iter().copied()).collect();
    let whole = Array::from_buffer(whole, Type { dtype: ty.dtype, shape }, location);
    let item = ty.shape.size();
    let part = |at: usize| {
        let mut layout = Layout::contiguous(ty.shape.clone());
        layout.offset = at * item;
        whole.with_layout(layout)
    };
    (0..count).map(part).collect()
}
