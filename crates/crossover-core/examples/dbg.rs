use crossover_core::ops::{Apply1, gelu::Gelu};
fn main(){ let x=f32::from_bits(0xc11ecb6d);
 let y=<Gelu as Apply1<f32>>::apply(x);
 let u = (2.0f64 / std::f64::consts::PI).sqrt() * (x as f64 + 0.044715 * (x as f64).powi(3));
 println!("{y:e} {:e} {:e}", x as f64/(1.0+(-2.0*u).exp()), <Gelu as Apply1<f64>>::apply(x as f64)); }
