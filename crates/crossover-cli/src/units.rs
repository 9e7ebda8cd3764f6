//! Numbers with units, in three significant digits.

/// Three significant digits, never in exponent form.
pub fn three(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Seconds in the unit that suits them.
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 999.5e-9 => format!("{} ns", three(v * 1e9)),
        v if v < 999.5e-6 => format!("{} µs", three(v * 1e6)),
        v if v < 999.5e-3 => format!("{} ms", three(v * 1e3)),
        v => format!("{} s", three(v)),
    }
}

/// Bytes in powers of 1024, as memory and caches are counted.
pub fn bytes(value: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit < units.len() - 1 {
        scaled /= 1024.0;
        unit += 1;
    }
    if scaled.fract() == 0.0 {
        return format!("{scaled} {}", units[unit]);
    }
    format!("{} {}", three(scaled), units[unit])
}

/// A rate per second in units of 10⁹, or of 10⁶ where that is clearer.
pub fn rate(per_second: f64, what: &str) -> String {
    match per_second {
        v if v >= 0.9995e9 => format!("{} G{what}/s", three(v * 1e-9)),
        v => format!("{} M{what}/s", three(v * 1e-6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept_where_the_unit_changes() {
        assert_eq!(seconds(1.234e-6), "1.23 µs");
        assert_eq!(seconds(999.7e-6), "1.00 ms");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(12.0), "12.0 s");
        assert_eq!(three(99.96), "100");
    }

    #[test]
    fn whole_sizes_have_no_decimals() {
        assert_eq!(bytes(64 << 20), "64 MiB");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(0), "0 B");
    }

    #[test]
    fn rates_below_a_thousand_million_are_in_millions() {
        assert_eq!(rate(23.4e9, "B"), "23.4 GB/s");
        assert_eq!(rate(410e6, "sample"), "410 Msample/s");
    }
}
