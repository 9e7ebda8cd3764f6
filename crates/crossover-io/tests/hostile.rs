//! Files that are damaged, cut short or made to mislead: each is a typed error that says what is wrong.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use crossover_core::{DType, Shape};
use crossover_io::{Error, Npy, Npz, Result, Safetensors, npy, npz, safetensors};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Reads a `.npy` file to the end.
fn load(file: &[u8]) -> Result<Vec<u8>> {
    let reader = Npy::new(file, file.len() as u64, "x.npy")?;
    let mut bytes = vec![0; reader.header().bytes];
    reader.read(&mut bytes)?;
    Ok(bytes)
}

/// Reads every member of an archive.
fn load_all(file: &[u8]) -> Result<()> {
    let mut archive = Npz::from_bytes(file, "x.npz")?;
    for i in 0..archive.names().len() {
        let reader = archive.member(i)?;
        let mut bytes = vec![0; reader.header().bytes];
        reader.read(&mut bytes)?;
    }
    Ok(())
}

fn load_tensors(file: &[u8]) -> Result<usize> {
    let mut reader = Safetensors::new(Cursor::new(file), file.len() as u64, "x.safetensors")?;
    for i in 0..reader.tensors().len() {
        let mut bytes = vec![0; reader.tensors()[i].bytes()];
        reader.read(i, &mut bytes)?;
    }
    Ok(reader.tensors().len())
}

/// A version 1 file with this dictionary and data.
fn with_header(text: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.as_bytes());
    file.extend(data);
    file
}

#[track_caller]
fn corrupt<T: std::fmt::Debug>(result: Result<T>, part: &str) {
    match result {
        Err(Error::Corrupt { what, .. }) => assert!(what.contains(part), "{what:?} lacks {part:?}"),
        other => panic!("{other:?} instead of a corrupt file: {part}"),
    }
}

#[test]
fn every_beginning_of_a_file_is_refused() {
    let mut file = Vec::new();
    npy::write(&mut file, DType::F64, &Shape::from([3]), &[1; 24]).unwrap();
    assert!(load(&file).is_ok());
    for length in 0..file.len() {
        assert!(matches!(load(&file[..length]), Err(Error::Corrupt { .. })), "{length}");
    }
    let mut writer = npz::Writer::new(Cursor::new(Vec::new()), true);
    writer.add("x", DType::F64, &Shape::from([3]), &[1; 24]).unwrap();
    let file = writer.finish().unwrap().into_inner();
    for length in 0..file.len() {
        assert!(load_all(&file[..length]).is_err(), "{length}");
    }
    let shape = Shape::from([3]);
    let entry = safetensors::Entry { name: "x", dtype: DType::F64, shape: &shape, data: &[1; 24] };
    let mut file = Vec::new();
    safetensors::write(&mut file, &[entry], &[]).unwrap();
    for length in 0..file.len() {
        assert!(matches!(load_tensors(&file[..length]), Err(Error::Corrupt { .. })), "{length}");
    }
}

#[test]
fn headers_that_mislead_are_refused() {
    let dictionary =
        |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
    let x = |shape: &str, data: &[u8]| load(&with_header(&dictionary("'|u1'", shape), data));
    assert_eq!(x("(2,)", &[5, 6]).unwrap(), [5, 6]);
    corrupt(x("(2,)", &[5]), "1 bytes of data, but u8[2] takes 2");
    corrupt(x("(2,)", &[5, 6, 7]), "3 bytes of data");
    corrupt(x("(18446744073709551615, 2)", &[0]), "more elements than can be addressed");
    corrupt(x("(9999999999999999999999,)", &[0]), "cannot be addressed");
    corrupt(x("(4294967296, 4294967296, 0)", &[]), "more elements than can be addressed");
    corrupt(x("(1099511627776,)", &[0]), "takes 1099511627776");
    corrupt(x("(-1,)", &[]), "'-'");
    corrupt(load(&with_header("{'descr': '|u1'}", &[])), "lacks");
    corrupt(load(&with_header(&dictionary("True", "()"), &[0])), "`descr` is Bool(true)");
    corrupt(load(&with_header("{'descr': '|u1', 'descr': '|u1'}", &[])), "twice");
    corrupt(load(&with_header("{'x': '|u1'}", &[])), "unknown key");
    corrupt(load(b"\x93NUMPZ\x01\x00\x00\x00"), "does not start with");
    corrupt(load(b"\x93NUMPY\x02\x00\xff\xff\xff\xff"), "a header of 4294967295 bytes; at most 65536");
    corrupt(load(b"\x93NUMPY\x02\x00\x00\x01\x00\x00"), "a header of 256 bytes in a file of 12");
    corrupt(load(&with_header(&dictionary("'|b1'", "(3,)"), &[0, 1, 7])), "element 2 of a bool array is 7");
    let many = dictionary("'|u1'", &format!("({})", "1,".repeat(65)));
    assert!(matches!(load(&with_header(&many, &[0])), Err(Error::Unsupported { .. })));
    assert!(matches!(load(b"\x93NUMPY\x09\x00\x00\x00"), Err(Error::Unsupported { .. })));
}

/// An archive with these members, whatever they are.
fn archive(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in members {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(data).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn archives_that_mislead_are_refused() {
    let mut member = Vec::new();
    npy::write(&mut member, DType::U8, &Shape::from([2]), &[1, 2]).unwrap();
    let stored = |name| archive(&[(name, &member)], CompressionMethod::Stored);
    assert!(load_all(&stored("x.npy")).is_ok());
    for name in ["../x.npy", "/x.npy", "a\\x.npy", "a//x.npy", ".npy", "C:x.npy"] {
        corrupt(load_all(&stored(name)), "is not allowed");
    }
    assert!(matches!(load_all(&stored("x.txt")), Err(Error::Unsupported { .. })));

    let mut damaged = stored("x.npy");
    let at = damaged.windows(2).position(|pair| pair == [1, 2]).unwrap();
    damaged[at] = 9;
    corrupt(load_all(&damaged), "");

    // The central directory says how large a member is; make it claim far more than deflate can hold.
    let mut bomb = archive(&[("x.npy", &member)], CompressionMethod::Deflated);
    let central = bomb.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    bomb[central + 24..central + 28].copy_from_slice(&0xf000_0000u32.to_le_bytes());
    assert!(matches!(load_all(&bomb), Err(Error::Corrupt { .. })), "{:?}", load_all(&bomb));
}

#[test]
fn members_that_share_bytes_are_refused() {
    let mut member = Vec::new();
    npy::write(&mut member, DType::U8, &Shape::from([2]), &[1, 2]).unwrap();
    let mut file = archive(&[("a.npy", &member), ("b.npy", &member)], CompressionMethod::Stored);
    // Both entries of the central directory point at the first member.
    let entries: Vec<usize> = (0..file.len() - 4).filter(|&at| file[at..at + 4] == *b"PK\x01\x02").collect();
    assert_eq!(entries.len(), 2);
    file[entries[1] + 42..entries[1] + 46].copy_from_slice(&[0; 4]);
    assert!(matches!(load_all(&file), Err(Error::Corrupt { .. })), "{:?}", load_all(&file));
}

/// A safetensors file with this header and as many zeros.
fn tensors(header: &str, data: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(vec![0; data]);
    file
}

#[test]
fn tensors_that_mislead_are_refused() {
    let one = |name: &str, shape: &str, from: u64, to: u64| {
        format!(r#""{name}":{{"dtype":"U8","shape":{shape},"data_offsets":[{from},{to}]}}"#)
    };
    let file = |entries: &[String], data| load_tensors(&tensors(&format!("{{{}}}", entries.join(",")), data));
    assert_eq!(file(&[one("a", "[2]", 0, 2), one("b", "[2]", 2, 4)], 4).unwrap(), 2);
    assert_eq!(file(&[], 0).unwrap(), 0);
    corrupt(file(&[one("a", "[3]", 0, 3), one("b", "[2]", 2, 4)], 4), "\"b\" shares 1 bytes");
    corrupt(file(&[one("a", "[2]", 0, 2), one("b", "[2]", 0, 2)], 2), "shares 2 bytes");
    corrupt(
        file(&[one("a", "[1]", 0, 1), one("b", "[2]", 2, 4)], 4),
        "1 bytes before \"b\" belong to no tensor",
    );
    corrupt(file(&[one("a", "[2]", 0, 2)], 3), "1 bytes at its end");
    corrupt(file(&[one("a", "[2]", 0, 2), one("a", "[2]", 2, 4)], 4), "two tensors have the name \"a\"");
    corrupt(file(&[one("a", "[3]", 0, 2)], 2), "has 2 bytes, but u8[3] takes 3");
    corrupt(file(&[one("a", "[2]", 0, 99)], 2), "0..99 of 2 bytes");
    corrupt(file(&[one("a", "[2]", 2, 0)], 2), "2..0");
    corrupt(file(&[one("a", "[18446744073709551615,18446744073709551615]", 0, 1)], 1), "more elements");
    corrupt(file(&[one("a", "[-1]", 0, 1)], 1), "is '-', not a natural number");
    corrupt(
        file(&[r#""a":{"dtype":"U8","shape":[],"data_offsets":[0,1],"x":1}"#.to_string()], 1),
        "unknown key",
    );
    corrupt(file(&[r#""__metadata__":{"a":1}"#.to_string()], 0), "its header");
    corrupt(file(&[r#""__metadata__":{"a":"1","a":"2"}"#.to_string()], 0), "twice");
    corrupt(load_tensors(&tensors("[]", 0)), "does not start with `{`");
    corrupt(load_tensors(&tensors(&"{\"a\":".repeat(10_000), 0)), "the unknown key");
    corrupt(load_tensors(&u64::MAX.to_le_bytes()), "a header of 18446744073709551615 bytes; at most");
    corrupt(load_tensors(&99u64.to_le_bytes()), "a header of 99 bytes in a file of 8");
    let odd = r#"{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}"#;
    assert!(matches!(load_tensors(&tensors(odd, 1)), Err(Error::Unsupported { .. })));
    let truth = r#"{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}"#;
    let mut file = tensors(truth, 1);
    *file.last_mut().unwrap() = 2;
    corrupt(load_tensors(&file), "neither 0 nor 1");
}

#[test]
fn what_cannot_be_written_is_refused() {
    let shape = Shape::from([1]);
    let entry = |name, dtype, data| safetensors::Entry { name, dtype, shape: &shape, data };
    let write = |entries: &[safetensors::Entry<'_>]| safetensors::write(&mut Vec::new(), entries, &[]);
    assert!(write(&[entry("x", DType::C128, &[0; 16])]).unwrap_err().to_string().contains("use .npz"));
    assert!(write(&[entry("x", DType::U8, &[0]), entry("x", DType::U8, &[0])]).is_err());
    assert!(write(&[entry("x", DType::U8, &[0; 2])]).is_err());
    assert!(write(&[entry("__metadata__", DType::U8, &[0])]).is_err());
    assert!(npy::write(&mut Vec::new(), DType::F32, &shape, &[0; 3]).is_err());
}
