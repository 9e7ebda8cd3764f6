//! Items of one kind put together: which belong to a group, how large it may be, and the array of all of them.

use std::{panic::Location, sync::Arc};

use crossover_core::{Layout, Shape, graph::Type};
use crossover_runtime::{Buffer, Device, Placement};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::{Array, Error, Result, Runtime, array::eval_all, convert, eval};

/// Bytes from which threads share the copying.
const LARGE: usize = 1 << 20;
/// Bytes of a group, beyond which another is begun: while one is computed the next is put together. Where copies to and from a device take
/// longer than computing, groups are small, so that the first is soon on its way; a host alone has nothing to wait for.
const ENOUGH: [u64; 2] = [256 << 20, 16 << 20];

/// Positions of items by the types of their pieces, in the order of first occurrence.
pub(super) fn kinds(types: &[Vec<Type>]) -> Vec<(Vec<Type>, Vec<usize>)> {
    let mut found: Vec<(Vec<Type>, Vec<usize>)> = Vec::new();
    let mut known: FxHashMap<&[Type], usize> = FxHashMap::default();
    for (item, ty) in types.iter().enumerate() {
        let kind = *known.entry(ty).or_insert_with(|| {
            found.push((ty.clone(), Vec::new()));
            found.len() - 1
        });
        found[kind].1.push(item);
    }
    found
}

/// How many items a group has at most, of so many bytes each: three groups fit into what is left on every device once `kept` bytes are taken, by
/// items that are still to be computed and by results.
pub(super) fn size(runtime: &Runtime, bytes_per_item: u64, kept: u64, most: Option<usize>) -> usize {
    let left = runtime.memory_stats().iter().map(|(_, memory)| memory.available()).min().unwrap_or(u64::MAX);
    // Three groups may be there at once: one waits, one is computed, one is fetched.
    let enough = ENOUGH[usize::from(runtime.device_count() > 0)];
    let fits = (left.saturating_sub(kept) / 3).min(enough) / bytes_per_item.max(1);
    usize::try_from(fits).unwrap_or(usize::MAX).clamp(1, most.unwrap_or(usize::MAX).max(1))
}

/// Arrays of one type as one buffer, along a new first axis.
pub(super) fn stacked(
    arrays: &[&Array],
    ty: &Type,
    location: &'static Location<'static>,
) -> Result<Arc<Buffer>> {
    let runtime = Runtime::current();
    // What is pending is computed first, as one plan.
    eval_all(arrays)?;
    if arrays.iter().all(|array| !matches!(array.device(), crate::Device::Cpu)) {
        // They are on a GPU: there they stay.
        let whole = Array::stack(arrays, 0);
        return eval::node(&whole.node());
    }
    let bytes = ty.shape.size() * ty.dtype.size();
    let contents: Vec<(Arc<Buffer>, Layout)> =
        arrays.iter().map(|array| array.contents()).collect::<Result<_>>()?;
    let size = bytes * arrays.len();
    if let (Ok(Placement::On(device)), true) = (runtime.placement(), size >= LARGE)
        && device != Device::HOST
        && contents.iter().all(|(_, layout)| layout.is_contiguous())
    {
        // They go straight to where they will be needed.
        match sent(&runtime, device, &contents, ty) {
            Ok(whole) => return Ok(whole),
            // The host has everything, and can compute it.
            Err(error) => tracing::debug!(target: "crossover::fallback", %error, "a group stays on the host"),
        }
    }
    let target = Layout::contiguous(ty.shape.clone());
    let fill = |(to, (buffer, layout)): (&mut [u8], &(Arc<Buffer>, Layout))| {
        let from = buffer.host_bytes().map_err(|error| Error::new(error, location))?;
        convert::copy(from, layout, to, &target, ty.dtype.size());
        Ok(())
    };
    let mut copied: Result<()> = Ok(());
    let buffer = Buffer::from_fill(runtime.machine(), size, |to| {
        if bytes == 0 {
            return;
        }
        copied = if to.len() < LARGE {
            to.chunks_mut(bytes).zip(&contents).try_for_each(fill)
        } else {
            to.par_chunks_mut(bytes).zip(&contents).try_for_each(fill)
        };
    });
    copied?;
    buffer.map_err(|error| Error::new(error, location))
}

/// Elements in a row of each buffer, as one buffer on a device.
fn sent(
    runtime: &Runtime,
    device: Device,
    contents: &[(Arc<Buffer>, Layout)],
    ty: &Type,
) -> crossover_runtime::Result<Arc<Buffer>> {
    let (size, bytes) = (ty.dtype.size(), ty.shape.size() * ty.dtype.size());
    let mut parts: Vec<&[u8]> = Vec::with_capacity(contents.len());
    for (buffer, layout) in contents {
        parts.push(&buffer.host_bytes()?[layout.offset * size..][..bytes]);
    }
    runtime.executor().send(device, &parts)
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
