//! Files written by NumPy and by the safetensors library; `golden/make.py` made them.
#![allow(clippy::unwrap_used)]

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use crossover_core::{DType, Number, Shape};
use crossover_io::{Error, Npy, Npz, Safetensors, npy, npz, safetensors};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// 0, 1, 2, … as elements of a dtype.
fn ramp(dtype: DType, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size * dtype.size()];
    for (i, to) in bytes.chunks_exact_mut(dtype.size()).enumerate() {
        Number::Int(i as i128).to_scalar(dtype).write_to(to);
    }
    bytes
}

fn read(reader: Npy<impl Read>) -> (DType, Shape, Vec<u8>) {
    let header = reader.header().clone();
    let mut bytes = vec![0; header.bytes];
    reader.read(&mut bytes).unwrap();
    (header.dtype, header.shape, bytes)
}

fn open(name: &str) -> Result<Npy<File>, Error> {
    let file = File::open(folder().join(name)).unwrap();
    let length = file.metadata().unwrap().len();
    Npy::new(file, length, name)
}

#[test]
fn every_dtype_in_either_byte_order_is_read() {
    for dtype in DType::ALL {
        let want = (dtype, Shape::from([2, 3]), ramp(dtype, 6));
        assert_eq!(read(open(&format!("{dtype}.npy")).unwrap()), want);
        if dtype != DType::BF16 {
            let big = open(&format!("{dtype}-big.npy")).unwrap();
            assert_eq!(big.header().big_endian, dtype.size() > 1);
            assert_eq!(read(big), want);
        }
    }
}

#[test]
fn our_files_are_those_of_numpy() {
    for dtype in DType::ALL {
        let mut ours = Vec::new();
        npy::write(&mut ours, dtype, &Shape::from([2, 3]), &ramp(dtype, 6)).unwrap();
        // NumPy leaves room for the first axis to grow; the dictionary is the same.
        let theirs = std::fs::read(folder().join(format!("{dtype}.npy"))).unwrap();
        let dictionary = |file: &[u8]| {
            let text = String::from_utf8_lossy(&file[10..]).into_owned();
            text[..=text.find('}').unwrap()].to_string()
        };
        assert_eq!(dictionary(&ours), dictionary(&theirs), "{dtype}");
        assert!(ours.ends_with(&ramp(dtype, 6)));
    }
}

#[test]
fn versions_orders_and_ranks_are_read() {
    for version in 1..=3 {
        let want = (DType::F64, Shape::from([4]), ramp(DType::F64, 4));
        assert_eq!(read(open(&format!("f64-version-{version}.npy")).unwrap()), want);
    }
    assert_eq!(read(open("f32-scalar.npy").unwrap()), (DType::F32, Shape::scalar(), vec![0; 4]));
    assert_eq!(read(open("i64-empty.npy").unwrap()), (DType::I64, Shape::from([0, 3]), vec![]));
    let fortran = open("i32-fortran.npy").unwrap();
    assert!(fortran.header().fortran_order);
    let columns: Vec<u8> =
        [0i32, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(read(fortran), (DType::I32, Shape::from([2, 3, 2]), columns));
    assert_eq!(open("u8-axes.npy").unwrap().header().shape.rank(), 32);
}

#[test]
fn elements_we_do_not_have_are_named() {
    for (name, part) in [("records", "records"), ("text", "<U2"), ("dates", "<M8[ns]")] {
        let error = open(&format!("refused-{name}.npy")).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn archives_stored_and_deflated_are_read() {
    for (name, more) in [("stored.npz", 0), ("deflated.npz", 1)] {
        let mut archive = Npz::new(File::open(folder().join(name)).unwrap(), name).unwrap();
        assert_eq!(archive.names().len(), 4 + more);
        for (i, member) in archive.names().to_vec().iter().enumerate() {
            let (dtype, shape, bytes) = read(archive.member(i).unwrap());
            let want = member.strip_prefix("folder/").unwrap_or(member);
            assert_eq!(dtype.name(), want);
            assert_eq!(bytes, ramp(dtype, shape.size()), "{member}");
        }
    }
}

#[test]
fn safetensors_of_every_dtype_are_read() {
    let file = File::open(folder().join("all.safetensors")).unwrap();
    let length = file.metadata().unwrap().len();
    let mut reader = Safetensors::new(file, length, "all").unwrap();
    assert_eq!(reader.metadata()["made by"], "safetensors");
    assert_eq!(reader.tensors().len(), 15);
    for (i, tensor) in reader.tensors().to_vec().iter().enumerate() {
        let mut bytes = vec![0; tensor.bytes()];
        reader.read(i, &mut bytes).unwrap();
        assert_eq!(tensor.name.split('-').next(), Some(tensor.dtype.name()));
        assert_eq!(bytes, ramp(tensor.dtype, tensor.shape.size()), "{}", tensor.name);
    }
}

#[test]
fn archives_and_tensors_round_trip() {
    let shape = Shape::from([2, 3]);
    for compressed in [false, true] {
        let mut writer = npz::Writer::new(std::io::Cursor::new(Vec::new()), compressed);
        for dtype in DType::ALL {
            writer.add(dtype.name(), dtype, &shape, &ramp(dtype, 6)).unwrap();
        }
        assert!(writer.add("f32", DType::F32, &shape, &ramp(DType::F32, 6)).is_err());
        assert!(writer.add("../f32", DType::F32, &shape, &ramp(DType::F32, 6)).is_err());
        let mut archive = Npz::new(writer.finish().unwrap(), "ours").unwrap();
        for (i, dtype) in DType::ALL.into_iter().enumerate() {
            assert_eq!(archive.names()[i], dtype.name());
            assert_eq!(read(archive.member(i).unwrap()), (dtype, shape.clone(), ramp(dtype, 6)));
        }
    }
    let data: Vec<(DType, Vec<u8>)> =
        DType::ALL.into_iter().filter(|&d| d != DType::C128).map(|d| (d, ramp(d, 6))).collect();
    let entries: Vec<safetensors::Entry<'_>> = data
        .iter()
        .map(|(dtype, data)| safetensors::Entry { name: dtype.name(), dtype: *dtype, shape: &shape, data })
        .collect();
    let mut file = Vec::new();
    safetensors::write(&mut file, &entries, &[("a", "b")]).unwrap();
    let length = file.len() as u64;
    let mut reader = Safetensors::new(std::io::Cursor::new(file), length, "ours").unwrap();
    for i in 0..entries.len() {
        let tensor = reader.tensors()[i].clone();
        assert_eq!(tensor.range.start % tensor.dtype.size() as u64, 0, "{} is aligned", tensor.name);
        let mut bytes = vec![0; tensor.bytes()];
        reader.read(i, &mut bytes).unwrap();
        assert_eq!(bytes, ramp(tensor.dtype, 6));
    }
}
