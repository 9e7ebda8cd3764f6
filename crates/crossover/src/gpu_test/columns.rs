//! Reductions of many long columns side by side, which random graphs are too small for: bits against the CPU.

use crossover::{Array, DType, Device, Key, random, with_device};

use crate::{Options, Result, report::Report, setup::Setup};

/// Stacks of matrices: outer, rows, columns. Whole segments and parts of one, columns that fill the last block and that do not.
const SHAPES: [[usize; 3]; 5] =
    [[300, 300, 130], [513, 129, 64], [130, 1000, 512], [3, 2049, 16_400], [256, 4100, 100]];

type Reduction = (&'static str, fn(&Array) -> Array);

const REDUCTIONS: [Reduction; 6] = [
    ("sum", |x| x.sum(1)),
    ("weighted sum", |x| {
        (x * Array::arange(x.shape().dims()[1] as i64).astype(x.dtype()).expand_dims(-1)).sum(1)
    }),
    ("max", |x| x.max(1)),
    ("argmin", |x| x.argmin(1)),
    ("variance", |x| x.var(1)),
    ("sum and largest", |x| x.sum(1) + x.max(1)),
];

pub fn run(_: &Setup, _: &Options, report: &mut Report) -> Result<()> {
    for [outer, rows, columns] in SHAPES {
        let normal = random::normal::<f32>(&Key::new(outer as u64), [outer, rows, columns]);
        let special = normal.greater(3.5).where_(f32::NAN, &normal);
        for (dtype, x) in [
            (DType::F32, normal.clone()),
            (DType::F32, special),
            (DType::F64, normal.astype(DType::F64)),
            (DType::BF16, normal.astype(DType::BF16)),
            (DType::I32, (&normal * 1e6).astype(DType::I32)),
        ] {
            x.eval()?;
            let mut differ = Vec::new();
            for (name, reduce) in REDUCTIONS {
                let on = |device| -> Result<Vec<u8>> {
                    Ok(with_device(device, || -> crossover::Result<Vec<u8>> {
                        let found = reduce(&x);
                        found.eval()?;
                        Ok(found
                            .astype(DType::F64)
                            .to_vec::<f64>()?
                            .iter()
                            .flat_map(|v| v.to_bits().to_le_bytes())
                            .collect())
                    })?)
                };
                if on(Device::Cuda(0))? != on(Device::Cpu)? {
                    differ.push(name);
                }
            }
            let name = format!("columns of {outer}x{rows}x{columns} {dtype}");
            report.check(
                &name,
                differ.is_empty(),
                format!("{} reductions, differ: {differ:?}", REDUCTIONS.len()),
            );
        }
    }
    Ok(())
}
