//! scratch
use crossover_array::{Array, DType};
fn main() {
    let mut bad = 0;
    for line in std::fs::read_to_string("/tmp/fuzz.txt").unwrap().lines() {
        let p: Vec<&str> = line.split('\t').collect();
        let bytes: Vec<u8> = (0..p[1].len() / 2).map(|i| u8::from_str_radix(&p[1][2 * i..2 * i + 2], 16).unwrap()).collect();
        let a = match p[0] {
            "float16" => Array::from(bytes.chunks(2).map(|c| half::f16::from_le_bytes(c.try_into().unwrap())).collect::<Vec<_>>()),
            "float32" => Array::from(bytes.chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect::<Vec<_>>()),
            _ => Array::from(bytes.chunks(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect::<Vec<_>>()),
        };
        let _ = DType::F16;
        let got = a.to_string().replace('\n', "|");
        if got != p[2] { bad += 1; if bad < 15 { println!("{}\n  got  {got}\n  want {}", p[0], p[2]); } }
    }
    println!("{bad} differ");
}
