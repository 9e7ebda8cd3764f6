//! Embeddings in three precisions: what less of it saves, and what it costs.

use std::time::Duration;

use anyhow::Result;
use crossover::{
    Array, DType,
    embed::{EmbedConfig, Embedder, Precision},
};
use serde::Serialize;

use super::measure;
use crate::units;

/// The name by which `--only` chooses this.
pub const NAME: &str = "embedding";

/// Tokens, sequences, tokens of a sequence, columns.
const FULL: [usize; 4] = [50_000, 16, 512, 512];
const QUICK: [usize; 4] = [5_000, 4, 128, 256];

/// An embedding in one precision.
#[derive(Serialize)]
pub struct Row {
    precision: &'static str,
    /// Sequences, tokens of a sequence, columns.
    shape: [usize; 3],
    /// Median time of lookup, encoding and their sum.
    seconds: f64,
    table_bytes: u64,
    result_bytes: u64,
    /// Largest difference from the same in f64.
    largest_error: f64,
}

impl Row {
    /// Whether the error is what rounding the table and the result explains; results are below 2.
    pub fn is_right(&self) -> bool {
        let unit = match self.precision {
            "f32" => f64::from(f32::EPSILON),
            "mixed_f16" => 2f64.powi(-10),
            _ => 2f64.powi(-7),
        };
        self.largest_error <= 2.0 * unit
    }
}

/// Measures all precisions.
pub fn rows(quick: bool, budget: Duration) -> Result<Vec<Row>> {
    let [vocabulary, batch, length, columns] = if quick { QUICK } else { FULL };
    let exact = Embedder::new(EmbedConfig::new(vocabulary, columns))?;
    let tokens = (Array::arange((batch * length) as i64) * 7919 % vocabulary as i64).reshape([batch, length]);
    tokens.eval()?;
    let encoding = exact.config().sinusoid()?.range(length, DType::F64)?;
    let wanted = exact.lookup(&tokens)?.astype(DType::F64) + encoding;
    wanted.eval()?;
    let mut rows = Vec::new();
    for precision in Precision::ALL {
        let embedder = exact.with_precision(precision)?;
        let out = embedder.embed(&tokens)?;
        let largest_error = (out.astype(DType::F64) - &wanted).abs().max(()).item::<f64>()?;
        let seconds = measure::median(budget, || Ok(embedder.embed(&tokens).map(drop)?))?;
        rows.push(Row {
            precision: precision.name(),
            shape: [batch, length, columns],
            seconds,
            table_bytes: (vocabulary * columns * precision.dtype().size()) as u64,
            result_bytes: (out.size() * precision.dtype().size()) as u64,
            largest_error,
        });
    }
    Ok(rows)
}

/// A table of the rows; nothing without any.
pub fn text(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let [batch, length, columns] = first.shape;
    let mut text = format!("\nembedding of {batch} x {length} tokens in {columns} columns\n");
    for row in rows {
        let (time, table, result) =
            (units::seconds(row.seconds), units::bytes(row.table_bytes), units::bytes(row.result_bytes));
        let line = format!(
            "  {:<11}{time:>10}   table {table:>10}   result {result:>10}   largest error {:.1e}\n",
            row.precision, row.largest_error
        );
        text += &line;
    }
    text
}
