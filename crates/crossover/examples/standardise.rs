//! Columns of a table brought to mean 0 and deviation 1, and rows that stand out.
//!
//! `cargo run --release -p crossover --example standardise`

use crossover::prelude::*;

fn main() -> Result<(), Error> {
    let key = Key::new(7);
    let units = Array::from([170.0f64, 70.0, 40.0]); // centimetres, kilograms, years
    let spread = Array::from([10.0f64, 12.0, 15.0]);
    let people = random::normal::<f64>(&key, [500, 3]) * spread + units;

    let scores = (&people - people.mean(keepdims(0))) / people.std(keepdims(0));
    println!("means      {}", scores.mean(0));
    println!("deviations {}", scores.std(0));

    // Row by row: who is more than three deviations from the mean in anything?
    let far = scores.abs().max(1).greater(3.0);
    let unusual = people.get(&far);
    println!("{} of {} stand out:\n{unusual}", unusual.shape().dims()[0], people.shape().dims()[0]);
    for row in unusual.rows().take(3) {
        println!("  {:.0} cm", row.index(0).item::<f64>()?);
    }
    assert!(scores.mean(0).abs().max(()).item::<f64>()? < 1e-12);
    Ok(())
}
