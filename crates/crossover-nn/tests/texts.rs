//! Every kind of call of attention has CUDA text for the devices it is for, and the texts compile.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crossover_array::{Array, DType, Precision};
use crossover_cuda::{Nvrtc, calls};
use crossover_nn::Attention;
use crossover_plan::{Options, Plan, kernel::Kernel};

/// The text of a call on a device of a compute capability.
fn text(out: &Array, capability: u32) -> Option<String> {
    let plan = Plan::new(&out.graph().unwrap(), Options::default()).unwrap();
    plan.launches.iter().find_map(|launch| match &launch.kernel {
        Kernel::Call(call) if launch.kernel.is_custom() => calls::texts_since(call, capability).pop(),
        _ => None,
    })
}

fn calls_of(dtype: DType, size: usize) -> Vec<(String, Array)> {
    let x = |queries| Array::zeros_dtype([1, 4, queries, size], dtype);
    let (long, few) = (x(1024), x(4));
    let plain = Attention::new;
    let bias = Array::zeros::<f32>([1, 1, 1, 1024]);
    let named = |name: &str, out: Array| (format!("{dtype} {size} {name}"), out);
    let mut out = vec![
        named("plain", plain().call(&long, &long, &long)),
        named("few queries", plain().call(&few, &long, &long)),
    ];
    let joined = |batch| Array::zeros_dtype([batch, 128, 3, 4, size], dtype);
    out.push(named("short", plain().call_joined(&joined(40))));
    out.push(named("short, few", plain().call_joined(&joined(1))));
    if size == 64 {
        out.push(named("tf32", plain().precision(Precision::Tf32).causal().call(&long, &long, &long)));
        out.push(named("bias", plain().bias(&bias).call(&long, &long, &long)));
        out.push(named("mask", plain().mask(&bias.equal(0.0f32)).call(&few, &long, &long)));
        out.push(named("lengths", plain().lengths(&[7]).call(&long, &long, &long)));
    }
    if size == 128 {
        out.push(named("packed", plain().call_with_lse(&long, &long, &long).1));
        out.push(named("packed, few", plain().call_with_lse(&few, &long, &long).1));
        out.push(named("tf32", plain().precision(Precision::Tf32).call(&long, &long, &long)));
    }
    out
}

#[test]
fn every_kind_of_call_has_a_text_for_every_device_since_ampere() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        for size in [32, 64, 96, 128, 192, 256] {
            for (name, out) in calls_of(dtype, size) {
                for capability in [80, 86, 90, 100, 120] {
                    assert!(text(&out, capability).is_some(), "{name} on {capability}");
                }
            }
        }
    }
    let wide = Array::zeros::<f32>([1, 1, 8, 264]);
    assert_eq!(text(&Attention::new().call(&wide, &wide, &wide), 90), None, "the host does wider heads");
}

#[test]
fn hopper_has_its_own_for_long_sequences() {
    let x = Array::zeros_dtype([1, 4, 1024, 128], DType::BF16);
    let of = |capability| text(&Attention::new().causal().call(&x, &x, &x), capability).unwrap();
    assert!(of(90).contains("wgmma") && !of(89).contains("wgmma") && !of(100).contains("wgmma"));
}

#[test]
fn texts_compile() {
    let nvrtc = match Nvrtc::open() {
        Ok(nvrtc) => nvrtc,
        Err(reason) => return println!("not run: {reason}"),
    };
    // What two architectures share is compiled for the first.
    let mut texts = BTreeMap::new();
    for (dtype, sizes) in [(DType::F32, &[64][..]), (DType::F16, &[96]), (DType::BF16, &[128])] {
        for &size in sizes {
            for (name, out) in calls_of(dtype, size) {
                for (capability, architecture) in [(80, "sm_80"), (90, "sm_90a")] {
                    texts.entry(text(&out, capability).unwrap()).or_insert((name.clone(), architecture));
                }
            }
        }
    }
    assert!(texts.len() > 12, "{}", texts.len());
    assert!(texts.values().any(|(_, architecture)| *architecture == "sm_90a"));
    for (text, (name, architecture)) in texts {
        let made = nvrtc.compile(&text, architecture);
        assert!(made.is_ok(), "{name} for {architecture}: {}", made.unwrap_err());
    }
}
