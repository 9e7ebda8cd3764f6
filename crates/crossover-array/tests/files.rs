//! Arrays through files: every dtype and layout, mapped memory, damaged files.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::path::Path;

use crossover_array::{Array, Complex, DType, Key, Result, Runtime, io, random, s};
use crossover_runtime::Error as Kind;
use tempfile::tempdir;

/// Equal dtype, shape and bits.
#[track_caller]
fn same(a: &Array, b: &Array) {
    assert_eq!(a.dtype(), b.dtype());
    assert_eq!(a.shape(), b.shape());
    assert_eq!(a.to_npy().unwrap(), b.to_npy().unwrap());
}

fn samples(dtype: DType) -> Vec<Array> {
    let x = Array::arange(24).reshape([2, 3, 4]).astype(dtype);
    vec![
        x.clone(),
        x.permute([2, 0, 1]),
        x.flip(()),
        x.slice(s![1, .., ..; -2]),
        x.slice(s![.., 1..1]),
        x.slice(s![0, 0, 1]),
        x.slice(s![0, 0, ..1]).broadcast_to([2, 5]),
    ]
}

#[test]
fn every_dtype_and_layout_comes_back() -> Result<()> {
    let folder = tempdir().unwrap();
    for dtype in DType::ALL {
        let arrays = samples(dtype);
        for x in &arrays {
            x.save(folder.path().join("x.npy"))?;
            same(&Array::load(folder.path().join("x.npy"))?, x);
            // SAFETY: this folder is ours, and saving replaces the file instead of changing it.
            same(&unsafe { io::map_npy(folder.path().join("x.npy")) }?, x);
        }
        let names: Vec<String> = (0..arrays.len()).map(|i| format!("part/{i}")).collect();
        let named: Vec<(&str, &Array)> = names.iter().map(String::as_str).zip(&arrays).collect();
        io::save_npz(folder.path().join("x.npz"), &named)?;
        io::save_npz_compressed(folder.path().join("y.npz"), &named)?;
        for file in ["x.npz", "y.npz"] {
            let loaded = io::load_npz(folder.path().join(file))?;
            assert_eq!(loaded.len(), arrays.len());
            named.iter().for_each(|(name, x)| same(&loaded[*name], x));
        }
        let path = folder.path().join("x.safetensors");
        let saved = io::save_safetensors(&path, &named, &[("dtype", dtype.name())]);
        if dtype == DType::C128 {
            assert!(saved.unwrap_err().to_string().contains("safetensors has no c128"));
            continue;
        }
        saved?;
        assert_eq!(io::safetensors_metadata(&path)?["dtype"], dtype.name());
        // SAFETY: this folder is ours, and saving replaces the file instead of changing it.
        for loaded in [io::load_safetensors(&path)?, unsafe { io::map_safetensors(&path) }?] {
            named.iter().for_each(|(name, x)| same(&loaded[*name], x));
        }
    }
    Ok(())
}

#[test]
fn files_of_numpy_are_arrays() -> Result<()> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crossover-io/tests/golden");
    let fortran = Array::load(golden.join("i32-fortran.npy"))?;
    same(&fortran, &Array::arange(12).reshape([2, 3, 2]).astype(DType::I32));
    for dtype in DType::ALL.into_iter().filter(|&d| d != DType::BF16) {
        let want = Array::arange(6).reshape([2, 3]).astype(dtype);
        same(&Array::load(golden.join(format!("{dtype}-big.npy")))?, &want);
        // SAFETY: nobody changes files of the repository while tests run.
        same(&unsafe { io::map_npy(golden.join(format!("{dtype}-big.npy"))) }?, &want);
    }
    // SAFETY: as above.
    let mapped = unsafe { io::map_safetensors(golden.join("all.safetensors")) }?;
    same(&mapped["bf16"], &Array::arange(6).reshape([2, 3]).astype(DType::BF16));
    Ok(())
}

#[test]
fn special_values_keep_their_bits() -> Result<()> {
    let bits = [0x7fc0_0001u32, 0xffff_ffff, 0x7f80_0000, 0x8000_0000, 1, 0x7f80_0001];
    let x = Array::from(bits.map(f32::from_bits));
    let back = Array::from_npy(&x.to_npy()?)?;
    assert_eq!(back.to_vec::<f32>()?.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), bits);
    let z = Array::from([Complex::new(-0.0f64, f64::NAN)]);
    assert!(Array::from_npy(&z.to_npy()?)?.to_vec::<Complex<f64>>()?[0].re.is_sign_negative());
    Ok(())
}

#[test]
fn assigning_to_a_mapped_array_leaves_the_file_alone() -> Result<()> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.npy");
    Array::arange(10).save(&path)?;
    let before = std::fs::read(&path).unwrap();
    // SAFETY: this folder is ours.
    let x = unsafe { io::map_npy(&path) }?;
    let doubled = &x * 2;
    x.slice(3..5).fill(-1)?;
    assert_eq!(x.to_vec::<i64>()?, [0, 1, 2, -1, -1, 5, 6, 7, 8, 9]);
    assert_eq!(doubled.to_vec::<i64>()?[3], 6);
    // A buffer that nobody else holds is changed in place, unless it is a file.
    // SAFETY: as above.
    let y = unsafe { io::map_npy(&path) }?;
    y.slice(0).fill(7)?;
    assert_eq!(y.to_vec::<i64>()?[..2], [7, 1]);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // The map outlives the name.
    // SAFETY: as above; removing a name does not change the file.
    let z = unsafe { io::map_npy(&path) }?;
    std::fs::remove_file(&path).unwrap();
    assert_eq!(z.sum(()).item::<i64>()?, 45);
    Ok(())
}

#[test]
fn mapped_memory_serves_other_runtimes_and_the_whole_graph() -> Result<()> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let x = random::normal::<f32>(&Key::new(1), [100, 70]);
    x.save(&path)?;
    // SAFETY: this folder is ours.
    let mapped = unsafe { io::map_npy(&path) }?;
    let other = Runtime::builder().threads(1).build()?;
    let there = other.scope(|| mapped.softmax(-1).to_vec::<f32>())?;
    assert_eq!(there, x.softmax(-1).to_vec::<f32>()?);
    Ok(())
}

#[test]
fn raw_files_are_checked_before_they_are_mapped() -> Result<()> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.bin");
    std::fs::write(&path, [0u8, 1, 1, 0, 2, 0, 0, 0, 9]).unwrap();
    // SAFETY: this folder is ours, and nothing changes the file.
    unsafe {
        assert_eq!(io::map_raw::<u32>(&path, 4, [1])?.to_vec::<u32>()?, [2]);
        // Not aligned: a copy.
        assert_eq!(io::map_raw::<u32>(&path, 1, [1])?.to_vec::<u32>()?, [0x0200_0101]);
        assert_eq!(io::map_raw::<bool>(&path, 0, [2, 2])?.to_vec::<bool>()?, [false, true, true, false]);
        assert_eq!(io::map_raw::<u32>(&path, 9, [0])?.to_vec::<u32>()?, []);
        let error = io::map_raw::<bool>(&path, 0, [5]).unwrap_err();
        assert!(error.to_string().contains("byte 4 is 2"), "{error}");
        for (offset, length) in [(6, 1), (u64::MAX, 1), (10, 0)] {
            assert!(matches!(
                io::map_raw::<u32>(&path, offset, [length]).unwrap_err().kind(),
                Kind::Format { .. }
            ));
        }
        assert!(io::map_raw::<u32>(&path, 0, [usize::MAX, 2]).is_err());
        assert!(matches!(io::map_raw::<u8>("no-such", 0, [1]).unwrap_err().kind(), Kind::Io { .. }));
    }
    Ok(())
}

#[test]
fn errors_name_the_file_and_the_caller() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.npy");
    std::fs::write(&path, b"\x93NUMPY\x01\x00\xff\xff").unwrap();
    let error = Array::load(&path).unwrap_err();
    assert!(matches!(error.kind(), Kind::Corrupt { format: ".npy", .. }));
    assert!(error.to_string().contains("x.npy is not a valid .npy file: a header of 65535 bytes"), "{error}");
    assert_eq!(error.location().file(), file!());
    for error in [io::load_npz(&path).unwrap_err(), io::load_safetensors(&path).unwrap_err()] {
        assert!(matches!(error.kind(), Kind::Corrupt { .. }), "{error}");
    }
    assert!(matches!(Array::load(folder.path()).unwrap_err().kind(), Kind::Io { .. } | Kind::Corrupt { .. }));
    // An array that carries an error is not saved, and what was there stays.
    let wrong = Array::from([1, 2]).reshape([7]);
    assert!(wrong.save(&path).is_err());
    assert!(io::save_npz(&path, &[("x", &Array::arange(3)), ("wrong", &wrong)]).is_err());
    assert_eq!(std::fs::read(&path).unwrap().len(), 10);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn memory_is_not_reserved_beyond_the_budget() -> Result<()> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.npz");
    io::save_npz_compressed(&path, &[("x", &Array::zeros::<u8>([8 << 20]))])?;
    assert!(std::fs::metadata(&path).unwrap().len() < 16 << 10);
    let small = Runtime::builder().threads(1).memory_budget(1 << 20).build()?;
    let error = small.scope(|| io::load_npz(&path).map(drop)).unwrap_err();
    assert!(matches!(error.kind(), Kind::OutOfMemory { .. }), "{error}");
    Ok(())
}
