//! Encodings against values computed with 200 bits; most of these lie next to a zero of the sine or the cosine, where a small error of the
//! angle is a large one of the value.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, bf16, f16, s};
use crossover_embed::{EmbedConfig, Layout, Rotary, Sinusoid};

/// Width, base, scale, phase, position, frequency, and the bits of sine and cosine as correctly rounded `f32`.
type Case = (usize, f64, f64, f64, i64, usize, u32, u32);

#[rustfmt::skip]
const TRUTH: &[Case] = &[
    (256, 10000.0, 1.0, 0.0, 6_317_531, 88, 0xb7f8_c28b, 0x3f80_0000),
    (256, 10000.0, 1.0, 0.0, 3_328_486, 32, 0x3867_7672, 0xbf80_0000),
    (256, 10000.0, 1.0, 0.0, 7_630_279, 127, 0xb896_f450, 0xbf80_0000),
    (256, 10000.0, 1.0, 0.0, 7_765_951, 117, 0xbf80_0000, 0x3898_1660),
    (256, 10000.0, 1.0, 0.0, 2_197_886, 24, 0xb8c0_9261, 0x3f80_0000),
    (256, 10000.0, 1.0, 0.0, 7_718_301, 14, 0x38d1_85a0, 0x3f80_0000),
    (256, 10000.0, 1.0, 0.0, 6_290_144, 84, 0x392f_4d55, 0x3f80_0000),
    (256, 10000.0, 1.0, 0.0, 7_853_068, 115, 0xb980_1148, 0xbf7f_ffff),
    (256, 10000.0, 1.0, 0.0, 0, 75, 0x0000_0000, 0x3f80_0000),
    (256, 10000.0, 1.0, 0.0, 1, 87, 0x3afa_78e7, 0x3f7f_ffe1),
    (256, 10000.0, 1.0, 0.0, 1_000, 103, 0x3f11_7475, 0x3f52_a9b6),
    (256, 10000.0, 1.0, 0.0, 32_768, 86, 0xbf77_c3c7, 0xbe80_d1d4),
    (256, 10000.0, 1.0, 0.0, 131_071, 32, 0x3ebb_bedb, 0x3f6e_2af5),
    (256, 10000.0, 1.0, 0.0, 1_000_003, 63, 0x3f75_19cf, 0xbe93_ce1d),
    (256, 10000.0, 1.0, 0.0, 9_999_999, 91, 0xbf78_0094, 0xbe7d_f4ed),
    (256, 10000.0, 1.0, 0.0, 10_000_000, 33, 0x3f45_7949, 0x3f22_e94e),
    (512, 10000.0, 1.0, 0.0, 1_244_907, 207, 0xb8c5_809c, 0xbf80_0000),
    (512, 10000.0, 1.0, 0.0, 3_706_010, 211, 0xbf80_0000, 0xb969_5c52),
    (512, 10000.0, 1.0, 0.0, 7_865_125, 19, 0xb96c_004e, 0xbf80_0000),
    (512, 10000.0, 1.0, 0.0, 8_785_462, 17, 0x3f7f_ffff, 0xb99b_79c9),
    (512, 10000.0, 1.0, 0.0, 3_312_876, 82, 0xb9c8_3b4e, 0xbf7f_ffff),
    (512, 10000.0, 1.0, 0.0, 3_288_928, 15, 0x3f7f_fffe, 0xb9ed_bcf7),
    (512, 10000.0, 1.0, 0.0, 9_032_148, 87, 0x3a05_be57, 0x3f7f_fffe),
    (512, 10000.0, 1.0, 0.0, 5_976_153, 200, 0x3f7f_fffd, 0xba1f_7fa5),
    (512, 10000.0, 1.0, 0.0, 0, 49, 0x0000_0000, 0x3f80_0000),
    (512, 10000.0, 1.0, 0.0, 1, 251, 0x38fb_0c03, 0x3f80_0000),
    (512, 10000.0, 1.0, 0.0, 1_000, 127, 0xbf4e_f807, 0xbf16_aa33),
    (512, 10000.0, 1.0, 0.0, 32_768, 243, 0xbf5e_5a67, 0x3efd_bb9a),
    (512, 10000.0, 1.0, 0.0, 131_071, 74, 0xbf7a_4833, 0xbe57_37a4),
    (512, 10000.0, 1.0, 0.0, 1_000_003, 63, 0xbee8_5a95, 0xbf64_1ed4),
    (512, 10000.0, 1.0, 0.0, 9_999_999, 141, 0xbc25_a8d7, 0x3f7f_fca6),
    (512, 10000.0, 1.0, 0.0, 10_000_000, 202, 0xbf3c_a98d, 0xbf2d_0a03),
    (64, 500.0, 2.5, 0.7, 5_207_918, 30, 0x3801_5407, 0xbf80_0000),
    (64, 500.0, 2.5, 0.7, 8_918_482, 23, 0xbf80_0000, 0x3824_3e30),
    (64, 500.0, 2.5, 0.7, 9_581_385, 10, 0x3f80_0000, 0x3885_60e4),
    (64, 500.0, 2.5, 0.7, 8_650_140, 8, 0x3f80_0000, 0xb8eb_f14f),
    (64, 500.0, 2.5, 0.7, 5_610_087, 25, 0x38ff_9f20, 0xbf80_0000),
    (64, 500.0, 2.5, 0.7, 6_779_769, 15, 0x3901_d370, 0xbf80_0000),
    (64, 500.0, 2.5, 0.7, 6_219_376, 20, 0x3f80_0000, 0x390b_adf2),
    (64, 500.0, 2.5, 0.7, 2_380_180, 25, 0xbf80_0000, 0xb95c_2603),
    (64, 500.0, 2.5, 0.7, 0, 19, 0x3f24_eb73, 0x3f43_ccb3),
    (64, 500.0, 2.5, 0.7, 1, 27, 0x3f27_7d91, 0x3f41_9ae8),
    (64, 500.0, 2.5, 0.7, 1_000, 20, 0x3f76_2bcf, 0xbe8c_8299),
    (64, 500.0, 2.5, 0.7, 32_768, 27, 0xbe43_e2e2, 0x3f7b_45b8),
    (64, 500.0, 2.5, 0.7, 131_071, 4, 0xbf5f_d6f9, 0xbef8_730a),
    (64, 500.0, 2.5, 0.7, 1_000_003, 28, 0xbeea_fcd5, 0xbf63_71e8),
    (64, 500.0, 2.5, 0.7, 9_999_999, 10, 0x3f31_1dfd, 0xbf38_d6d4),
    (64, 500.0, 2.5, 0.7, 10_000_000, 4, 0x3e67_890c, 0x3f79_5ec1),
    (30, 10000.0, 1.0, -3.25, 8_960_294, 14, 0x371f_26db, 0x3f80_0000),
    (30, 10000.0, 1.0, -3.25, 4_906_834, 11, 0xb956_ae05, 0x3f80_0000),
    (30, 10000.0, 1.0, -3.25, 1_743_832, 13, 0x3f7f_ffff, 0x3986_3b40),
    (30, 10000.0, 1.0, -3.25, 7_719_651, 5, 0x399b_e53b, 0x3f7f_ffff),
    (30, 10000.0, 1.0, -3.25, 2_196_342, 6, 0xb9a2_4321, 0x3f7f_ffff),
    (30, 10000.0, 1.0, -3.25, 408_617, 14, 0x39b5_e8e2, 0xbf7f_ffff),
    (30, 10000.0, 1.0, -3.25, 5_177_244, 1, 0x39be_37cb, 0xbf7f_ffff),
    (30, 10000.0, 1.0, -3.25, 5_893_033, 11, 0x3a03_3967, 0x3f7f_fffe),
    (30, 10000.0, 1.0, -3.25, 0, 3, 0x3ddd_9569, 0xbf7e_7f48),
    (30, 10000.0, 1.0, -3.25, 1, 12, 0x3ddc_4c8a, 0xbf7e_83be),
    (30, 10000.0, 1.0, -3.25, 1_000, 1, 0xbf26_5265, 0xbf42_9c27),
    (30, 10000.0, 1.0, -3.25, 32_768, 4, 0xbf78_f876, 0x3e6e_50f3),
    (30, 10000.0, 1.0, -3.25, 131_071, 11, 0xbf71_2e65, 0x3eab_ab6d),
    (30, 10000.0, 1.0, -3.25, 1_000_003, 2, 0x3ea2_db7b, 0xbf72_b44c),
    (30, 10000.0, 1.0, -3.25, 9_999_999, 1, 0x3ea2_6cfe, 0xbf72_c6ce),
    (30, 10000.0, 1.0, -3.25, 10_000_000, 0, 0xbf04_2864, 0x3f5b_3fdc),
    // The nearest of all positions up to ten million to a zero, at any of these frequencies.
    (256, 10000.0, 1.0, 0.0, 3_803_902, 25, 0x3f80_0000, 0xaf9b_ea83),
    (256, 10000.0, 1.0, 0.0, 4_524_508, 10, 0x3f80_0000, 0x2fae_2b40),
    (256, 10000.0, 1.0, 0.0, 1_194_127, 89, 0x318d_db0f, 0xbf80_0000),
    (256, 10000.0, 1.0, 0.0, 5_603_947, 66, 0xb1b0_cb09, 0xbf80_0000),
    (512, 10000.0, 1.0, 0.0, 9_681_691, 140, 0x3f80_0000, 0xb0ca_4a39),
    (512, 10000.0, 1.0, 0.0, 5_529_297, 139, 0x30cf_3f7b, 0x3f80_0000),
    (512, 10000.0, 1.0, 0.0, 5_970_635, 242, 0x3f80_0000, 0x310d_db0f),
];

/// Units in the last place between two floats.
fn apart(a: f32, b: f32) -> u32 {
    let order = |x: f32| {
        if x.is_sign_negative() { -((x.to_bits() & 0x7fff_ffff) as i64) } else { x.to_bits() as i64 }
    };
    (order(a) - order(b)).unsigned_abs() as u32
}

#[test]
fn values_are_exact_to_a_unit_up_to_ten_million() {
    for &(width, base, scale, phase, position, frequency, sine, cosine) in TRUTH {
        let encoding =
            Sinusoid::new(width).unwrap().base(base).unwrap().scale(scale).unwrap().phase(phase).unwrap();
        let found = encoding.encode(&Array::from([position]), DType::F32).unwrap().to_vec::<f32>().unwrap();
        let (sine, cosine) = (f32::from_bits(sine), f32::from_bits(cosine));
        let found = (found[2 * frequency], found[2 * frequency + 1]);
        assert!(apart(found.0, sine) <= 1, "sine at {position}, {frequency} of {width}: {} {sine}", found.0);
        assert!(
            apart(found.1, cosine) <= 1,
            "cosine at {position}, {frequency} of {width}: {} {cosine}",
            found.1
        );
        // The same position by way of an offset.
        let moved = encoding.offset(position - 7).encode(&Array::from([7i32]), DType::F32).unwrap();
        assert_eq!(moved.to_vec::<f32>().unwrap()[2 * frequency], found.0);
    }
}

#[test]
fn narrow_dtypes_are_rounded_once() {
    let positions = Array::arange(3000) * 3331;
    let encoding = Sinusoid::new(64).unwrap();
    let exact = encoding.encode(&positions, DType::F64).unwrap().to_vec::<f64>().unwrap();
    let halves = encoding.encode(&positions, DType::F16).unwrap().to_vec::<f16>().unwrap();
    let brains = encoding.encode(&positions, DType::BF16).unwrap().to_vec::<bf16>().unwrap();
    for (at, &exact) in exact.iter().enumerate() {
        // Other conversions go through f32 and round twice; none may be nearer.
        let error = |half: f16| (half.to_f64() - exact).abs();
        assert!(error(halves[at]) <= error(f16::from_f64(exact)), "{at}");
        assert!((brains[at].to_f64() - exact).abs() <= exact.abs() / 256.0, "{at}");
    }
}

#[test]
fn layouts_hold_the_same_values() {
    let positions = Array::from([0i64, 5, 77]);
    let values = |layout, width| {
        let encoding = Sinusoid::new(width).unwrap().layout(layout);
        encoding.encode(&positions, DType::F32).unwrap().to_vec::<f32>().unwrap()
    };
    for width in [8, 9] {
        let (woven, joined, flipped) = (
            values(Layout::Interleaved, width),
            values(Layout::Concatenated, width),
            values(Layout::Flipped, width),
        );
        for row in 0..3 {
            for i in 0..4 {
                let at = |column: usize| row * width + column;
                assert_eq!(woven[at(2 * i)], joined[at(i)]);
                assert_eq!(woven[at(2 * i + 1)], joined[at(4 + i)]);
                assert_eq!(flipped[at(i)], joined[at(4 + i)]);
                assert_eq!(flipped[at(4 + i)], joined[at(i)]);
            }
            if width == 9 {
                assert_eq!([woven[row * 9 + 8], joined[row * 9 + 8]], [0.0, 0.0]);
            }
        }
    }
}

#[test]
fn frequencies_follow_base_scale_and_shift() {
    let shifted = Sinusoid::new(8).unwrap().shift(1.0).unwrap().scale(2.0).unwrap();
    let frequencies = shifted.frequencies();
    assert!((frequencies[0] - 2.0).abs() < 1e-15 && (frequencies[3] - 2e-4).abs() < 1e-18, "{frequencies:?}");
    assert!(Sinusoid::new(8).unwrap().shift(4.0).is_err());
    assert!(Sinusoid::new(8).unwrap().base(0.0).unwrap_err().to_string().starts_with("base is 0"));
    assert!(Sinusoid::new(0).is_err());
    let error = Sinusoid::new(8).unwrap().scale(f64::MAX).unwrap_err();
    assert_eq!(error.to_string(), "scale is 1.7976931348623157e308; it must lie between -32 and 32");
    // Frequencies that grow: their angles would end anywhere.
    let error = Sinusoid::new(128).unwrap().base(1e-12).unwrap_err();
    assert_eq!(error.to_string(), "base is 1e-12; no frequency may exceed 32 radians per position");
    assert!(Sinusoid::new(8).unwrap().base(0.5).unwrap().scale(32.0).is_err());
    assert!(Sinusoid::new(8).unwrap().base(0.5).unwrap().shift(3.9).is_err());
    let growing = Sinusoid::new(8).unwrap().base(0.5).unwrap().frequencies();
    assert!((growing[3] - 2f64.powf(0.75)).abs() < 1e-15, "{growing:?}");
    let mut config = EmbedConfig::new(10, 8);
    (config.base, config.scale) = (1e-3, 0.01);
    assert!((config.sinusoid().unwrap().frequencies()[3] - 0.01 * 1e-3f64.powf(-0.75)).abs() < 1e-14);
    config.scale = 1.0;
    assert!(config.sinusoid().is_err());
    let error = Sinusoid::new(8).unwrap().encode(&Array::arange(3), DType::I32).unwrap_err();
    assert!(error.to_string().contains("i32 cannot hold sines"), "{error}");
}

#[test]
fn rotations_keep_lengths_and_differences_of_positions() {
    let x = Array::linspace(-1.0, 1.0, 2 * 5 * 8).reshape([2, 5, 8]);
    let encoding = Sinusoid::new(8).unwrap();
    for pairs in [Rotary::Neighbours, Rotary::Halves] {
        let turned = encoding.rotate(&x, &Array::arange(5), pairs).unwrap();
        let (before, after) = (x.square().sum(2), turned.square().sum(2));
        assert!((before - after).abs().max(()).item::<f64>().unwrap() < 1e-12);
        assert_eq!(turned.to_vec::<f64>().unwrap()[..8], x.to_vec::<f64>().unwrap()[..8]);
        // The product of two turned rows depends on how far apart they are.
        let product = |a: i64, b: i64| {
            let (left, right) = (x.slice(s![0, 1..2]), x.slice(s![1, 2..3]));
            let at = |row: &Array, position| encoding.rotate(row, &Array::from([position]), pairs).unwrap();
            (at(&left, a) * at(&right, b)).sum(()).item::<f64>().unwrap()
        };
        assert!((product(3, 10) - product(1_000_003, 1_000_010)).abs() < 1e-9);
    }
    let halves = encoding.rotate(&x.astype(DType::BF16), &Array::arange(5), Rotary::Halves).unwrap();
    assert_eq!(halves.dtype(), DType::BF16);
    assert!(encoding.rotate(&x, &Array::arange(4), Rotary::Halves).is_err());
    assert!(Sinusoid::new(6).unwrap().rotate(&x, &Array::arange(5), Rotary::Halves).is_err());
}
