//! What the models promise, on random vectors.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, Key, random, s};
use crossover_hrr::{Model, Space};

fn values(x: &Array) -> Vec<f64> {
    x.astype(DType::F64).to_vec::<f64>().unwrap()
}

fn alike(space: &Space, a: &Array, b: &Array) -> f64 {
    values(&space.similarity(a, b).unwrap())[0]
}

/// Σ a[j]·b[i - j], or Σ c[i + j]·a[j].
fn by_definition(a: &[f64], b: &[f64], correlate: bool) -> Vec<f64> {
    let d = a.len();
    let at = |i: usize, j: usize| if correlate { a[(i + j) % d] * b[j] } else { a[j] * b[(i + d - j) % d] };
    (0..d).map(|i| (0..d).map(|j| at(i, j)).sum()).collect()
}

/// Lengths of every path: kernels, odd, prime, long primes in half of an even one, one and two.
const LENGTHS: [usize; 19] = [1, 2, 3, 5, 16, 17, 18, 20, 30, 32, 64, 97, 100, 120, 126, 210, 256, 514, 640];

#[test]
fn binding_is_the_definition_for_every_length() {
    for d in LENGTHS {
        for (dtype, error) in [(DType::F32, 3e-6), (DType::F64, 1e-14), (DType::BF16, 1e-2)] {
            let space = Space::new(Model::Hrr, d).unwrap().with_dtype(dtype).unwrap();
            // Enough rows for both forms of the CPU's kernel, and a rest.
            for rows in [1, 37] {
                let (a, b) = (space.random(&Key::new(1), rows), space.random(&Key::new(2), rows));
                let (x, y) = (values(&a), values(&b));
                for correlate in [false, true] {
                    let made = if correlate { space.unbind(&a, &b) } else { space.bind(&a, &b) };
                    let made = values(&made.unwrap());
                    for row in 0..rows {
                        let at = row * d..(row + 1) * d;
                        let wanted = by_definition(&x[at.clone()], &y[at.clone()], correlate);
                        let size = wanted.iter().map(|v| v * v).sum::<f64>().sqrt();
                        let off: f64 = made[at].iter().zip(&wanted).map(|(m, w)| (m - w).powi(2)).sum();
                        assert!(
                            off.sqrt() <= error * size,
                            "{dtype} d={d} rows={rows} {correlate}: {}",
                            off.sqrt() / size
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn lengths_that_take_radices_of_two_primes_are_bound_by_definition() {
    for d in [324, 750 * 2, 2500, 3750, 6250] {
        let space = Space::new(Model::Hrr, d).unwrap();
        let rows = if d < 2000 { 37 } else { 6 };
        let (a, b) = (space.random(&Key::new(1), rows), space.random(&Key::new(2), rows));
        let (x, y) = (values(&a), values(&b));
        let (bound, unbound) = (values(&space.bind(&a, &b).unwrap()), values(&space.unbind(&a, &b).unwrap()));
        // The last row: one of the rest where rows go together.
        let at = (rows - 1) * d..rows * d;
        for (made, correlate) in [(bound, false), (unbound, true)] {
            let wanted = by_definition(&x[at.clone()], &y[at.clone()], correlate);
            let size = wanted.iter().map(|v| v * v).sum::<f64>().sqrt();
            let off: f64 = made[at.clone()].iter().zip(&wanted).map(|(m, w)| (m - w).powi(2)).sum();
            assert!(off.sqrt() <= 3e-6 * size, "{d} {correlate}: {}", off.sqrt() / size);
        }
        let together = space.bind_superpose(&a, &b).unwrap();
        let apart = space.superpose(&space.bind(&a, &b).unwrap()).unwrap();
        assert!(alike(&space, &together, &apart) > 0.99999, "{d}");
    }
}

#[test]
fn small_rows_keep_their_precision_beside_large_ones() {
    let space = Space::new(Model::Hrr, 256).unwrap();
    let (a, b) = (space.random(&Key::new(1), 20), space.random(&Key::new(2), 20) * 1e-6);
    let scales = Array::from_vec((0..20).map(|i| 10f32.powi(i % 9 - 4)).collect::<Vec<f32>>(), [20, 1]);
    let a = a * scales;
    let (x, y, made) = (values(&a), values(&b), values(&space.bind(&a, &b).unwrap()));
    for row in 0..20 {
        let at = row * 256..(row + 1) * 256;
        let wanted = by_definition(&x[at.clone()], &y[at.clone()], false);
        let size = wanted.iter().map(|v| v * v).sum::<f64>().sqrt();
        let off: f64 = made[at].iter().zip(&wanted).map(|(m, w)| (m - w).powi(2)).sum();
        assert!(off.sqrt() < 1e-6 * size, "row {row}: {}", off.sqrt() / size);
    }
}

#[test]
fn one_key_for_all_rows_is_that_key_for_each() {
    for d in [64, 126, 97] {
        let space = Space::new(Model::Hrr, d).unwrap();
        let (rows, key) = (space.random(&Key::new(1), 21), space.named("key").unwrap());
        for correlate in [false, true] {
            let call = |a: &Array, b: &Array| if correlate { space.unbind(a, b) } else { space.bind(a, b) };
            let together = values(&call(&rows, &key).unwrap());
            let each = values(&call(&rows, &key.broadcast_to([21, d])).unwrap());
            let off = together.iter().zip(&each).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-6, "{d}: {off}");
        }
    }
}

#[test]
fn normalised_and_superposed_bindings_are_their_parts() {
    for d in [64, 90, 97] {
        let space = Space::new(Model::Hrr, d).unwrap();
        for rows in [1, 3, 50, 300] {
            let (a, b) = (space.random(&Key::new(1), rows), space.random(&Key::new(2), rows));
            let bound = space.bind(&a, &b).unwrap();
            let normalised = space.bind_normalised(&a, &b).unwrap();
            let wanted = values(&space.normalise(&bound).unwrap());
            assert!(values(&normalised).iter().zip(&wanted).all(|(x, y)| (x - y).abs() < 1e-5), "{d} {rows}");
            let together = space.bind_superpose(&a, &b).unwrap();
            assert!(alike(&space, &together, &space.superpose(&bound).unwrap()) > 0.99999, "{d} {rows}");
        }
        let zero = Array::zeros::<f32>([10, d]);
        assert!(values(&space.bind_normalised(&zero, &zero).unwrap()).iter().all(|&v| v == 0.0));
    }
}

#[test]
fn a_unitary_key_keeps_similarity_over_a_thousand_rounds() {
    for d in [256, 255] {
        let space = Space::new(Model::Hrr, d).unwrap();
        let key = space.unitary(&space.named("key").unwrap()).unwrap();
        key.eval().unwrap();
        let start = space.named("x").unwrap();
        let mut x = start.clone();
        for _ in 0..1000 {
            x = space.unbind(&space.bind(&x, &key).unwrap(), &key).unwrap();
            x.eval().unwrap();
        }
        assert!(alike(&space, &x, &start) >= 0.9999, "d={d}: {}", alike(&space, &x, &start));
    }
}

#[test]
fn many_are_bound_as_one_after_the_other() {
    for model in Model::ALL {
        let space = Space::new(model, 129).unwrap();
        let vectors: Vec<Array> = (0..5).map(|i| space.random(&Key::new(i), 1).index(0)).collect();
        let all = space.multi_bind(&vectors.iter().collect::<Vec<_>>()).unwrap();
        let chained = vectors[1..].iter().fold(vectors[0].clone(), |x, y| space.bind(&x, y).unwrap());
        assert!(alike(&space, &all, &chained) > 0.9999, "{model}");
        let nothing = space.multi_bind(&[]).unwrap();
        let same = space.bind(&nothing, &vectors[0]).unwrap();
        assert!(alike(&space, &same, &vectors[0]) > 0.9999, "{model}");
    }
}

#[test]
fn order_matters_in_every_model() {
    for model in Model::ALL {
        let space = Space::new(model, 1000).unwrap();
        let word = |text: &str| space.named_all(&text.chars().map(String::from).collect::<Vec<_>>()).unwrap();
        for make in [Space::ngram, Space::sequence] {
            let (abc, cba) = (make(&space, &word("abc")).unwrap(), make(&space, &word("cba")).unwrap());
            assert!(alike(&space, &abc, &cba) < 0.6, "{model}: {}", alike(&space, &abc, &cba));
            assert!(alike(&space, &abc, &make(&space, &word("abc")).unwrap()) > 0.999, "{model}");
        }
        let ngram = |text: &str| space.ngram(&word(text)).unwrap();
        assert!(alike(&space, &ngram("abc"), &ngram("cba")).abs() < 0.2, "{model}");
    }
}

#[test]
fn structures_of_many_are_those_of_each() {
    for model in Model::ALL {
        let space = Space::new(model, 130).unwrap();
        let rows = space.random(&Key::new(9), 2 * 3 * 5).reshape([2, 3, 5, 130]);
        type Make = fn(&Space, &Array) -> crossover_hrr::Result<Array>;
        let makes: [Make; 3] = [Space::sequence, Space::ngram, |space, rows| space.ngrams(rows, 3)];
        for (kind, make) in makes.into_iter().enumerate() {
            let all = make(&space, &rows).unwrap();
            assert_eq!(all.shape().dims(), [2, 3, 130]);
            for (i, j) in [(0, 0), (1, 2)] {
                let (made, each) = (all.slice(s![i, j]), make(&space, &rows.slice(s![i, j])).unwrap());
                assert!(alike(&space, &made, &each) > 0.9999, "{model} {kind} {i} {j}");
            }
        }
        // As it is defined, one row after the other.
        let one = rows.slice(s![1, 1]);
        let moved: Vec<Array> = (0..5).map(|i| space.permute(&one.index(i), i).unwrap()).collect();
        let wanted = space.superpose(&Array::stack(&moved.iter().collect::<Vec<_>>(), 0)).unwrap();
        let made = space.sequence(&one).unwrap();
        assert_eq!(made.to_npy().unwrap(), wanted.to_npy().unwrap(), "{model}");
        let back = space.sequence_item(&space.sequence(&rows).unwrap(), 2).unwrap();
        assert_eq!(back.shape().dims(), [2, 3, 130]);
        let error = space.ngrams(&one, 6).unwrap_err().to_string();
        assert!(error.contains("wants [.., count, d]"), "{error}");
        assert!(space.sequence(&one.slice(0..0)).unwrap_err().to_string().contains("at least one vector"));
    }
}

#[test]
fn similarity_is_that_of_similarities_for_short_vectors_too() {
    for (model, scale) in [(Model::Hrr, 1e-4), (Model::Hrr, 1e-7), (Model::Map, 1e-6), (Model::Hlb, 1e-6)] {
        let space = Space::new(model, 500).unwrap();
        let x = space.named_all(&["a", "b"]).unwrap() * scale;
        let together = values(&space.similarities(&x, &x).unwrap());
        for (i, j) in [(0, 0), (0, 1), (1, 1)] {
            let (a, b) = (x.index(i as i64), x.index(j as i64));
            let one = alike(&space, &a, &b);
            assert!(
                (one - together[2 * i + j]).abs() < 1e-5,
                "{model} {scale}: {one} {}",
                together[2 * i + j]
            );
            assert!(i != j || one > 0.9999, "{model} {scale}: {one}");
        }
        let found = space.cleanup(&x.index(1), &x, 0.9).unwrap()[0].unwrap();
        assert_eq!(found.index, 1);
        let zero = &x * 0.0;
        assert!(values(&space.similarity(&zero, &x).unwrap()).iter().all(|&v| v == 0.0));
    }
    let space = Space::new(Model::Fhrr, 500).unwrap();
    let x = space.named("a").unwrap() * 1e-6;
    assert!(alike(&space, &x, &x) > 0.9999);
}

#[test]
fn superposing_16_bit_vectors_rounds_once() {
    for model in [Model::Hrr, Model::Hlb] {
        let short = Space::new(model, 96).unwrap().with_dtype(DType::BF16).unwrap();
        let wide = Space::new(model, 96).unwrap();
        let rows = short.random(&Key::new(4), 40);
        let weights = Array::from_vec((1..41).map(|i| i as f32 / 7.0).collect::<Vec<f32>>(), [40]);
        let widened = rows.astype(DType::F32);
        for (made, once) in [
            (short.superpose(&rows), wide.superpose(&widened)),
            (short.superpose_weighted(&rows, &weights), wide.superpose_weighted(&widened, &weights)),
        ] {
            let once = once.unwrap().astype(DType::BF16);
            assert_eq!(values(&made.unwrap()), values(&once), "{model}");
        }
    }
}

#[test]
fn inverses_undo_and_zeros_are_reported() {
    for model in Model::ALL {
        let space = Space::new(model, 63).unwrap();
        let (a, b) = (space.named("a").unwrap(), space.named("b").unwrap());
        let bound = space.bind(&a, &b).unwrap();
        let exact = space.unbind_exact(&bound, &a).unwrap();
        assert!(exact.zeros.is_empty(), "{model}");
        assert!(alike(&space, &exact.array, &b) > 0.999, "{model}");
        let by_inverse = space.bind(&bound, &space.inverse(&a).unwrap()).unwrap();
        assert!(alike(&space, &by_inverse, &space.unbind(&bound, &a).unwrap()) > 0.9999, "{model}");
    }
    let space = Space::new(Model::Hrr, 8).unwrap();
    // Alternating: only the highest frequency.
    let wave = Array::from([1.0f32, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]);
    let exact = space.inverse_exact(&wave).unwrap();
    assert_eq!(exact.zeros.iter().map(|z| z.bin).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(values(&exact.array).iter().all(|v| v.is_finite()));
}

#[test]
fn powers_add_their_exponents_where_they_exist() {
    for model in [Model::Hrr, Model::Fhrr] {
        let space = Space::new(model, 65).unwrap();
        let mut x = space.unitary(&space.named("x").unwrap()).unwrap();
        if model == Model::Hrr && values(&x).iter().sum::<f64>() < 0.0 {
            x = -x;
        }
        let power = |p: f64| space.power(&x, p).unwrap();
        let product = space.bind(&power(0.7), &power(1.8)).unwrap();
        assert!(alike(&space, &product, &power(2.5)) > 0.999, "{model}");
        assert!(alike(&space, &space.bind(&power(-2.0), &power(3.0)).unwrap(), &x) > 0.999, "{model}");
        assert!(alike(&space, &power(0.0), &space.identity()) > 0.999, "{model}");
    }
    let space = Space::new(Model::Hrr, 4).unwrap();
    let negative = Array::from([-1.0f32, 0.0, 0.0, 0.0]);
    assert!(space.power(&negative, 0.5).unwrap_err().to_string().contains("positive sum"));
    let nyquist = Array::from([0.1f32, 1.0, 0.1, 1.0]);
    assert!(space.power(&nyquist, 0.5).unwrap_err().to_string().contains("alternating"));
    assert!(space.power(&nyquist, 3.0).is_ok());
    // Zeros of a spectrum are there up to rounding only; an inverse of what is left of them would be noise.
    for (d, dtype) in [(63, DType::F32), (64, DType::F32), (97, DType::F64), (99, DType::BF16)] {
        let space = Space::new(Model::Hrr, d).unwrap().with_dtype(dtype).unwrap();
        let error = space.power(&Array::ones_dtype([d], dtype), -1.0).unwrap_err().to_string();
        assert!(error.contains("see inverse_exact"), "{d} {dtype}: {error}");
        assert!(space.power(&space.named("x").unwrap(), -1.0).is_ok());
    }
    let bits = Space::new(Model::Bsc, 64).unwrap();
    let x = bits.named("x").unwrap();
    assert_eq!(bits.power(&x, 3.0).unwrap().to_vec::<bool>().unwrap(), x.to_vec::<bool>().unwrap());
    assert!(!bits.power(&x, 2.0).unwrap().any(()).item::<bool>().unwrap());
}

#[test]
fn permutations_compose_and_are_undone() {
    let space = Space::new(Model::Map, 50).unwrap();
    let x = space.random(&Key::new(3), 2);
    let there = space.permute(&space.permute(&x, 2).unwrap(), 5).unwrap();
    assert_eq!(values(&there), values(&space.permute(&x, 7).unwrap()));
    assert_eq!(values(&space.permute(&there, -7).unwrap()), values(&x));
    assert_ne!(values(&there), values(&x));
}

#[test]
fn names_give_the_same_vectors_for_ever() {
    let space = Space::new(Model::Map, 16).unwrap();
    let bits = |name: &str| {
        values(&space.named(name).unwrap())
            .iter()
            .map(|&v| if v > 0.0 { '1' } else { '0' })
            .collect::<String>()
    };
    // Written down when the format was made: stores depend on it.
    assert_eq!((bits("cat").as_str(), bits("dog").as_str()), ("1010101011100011", "0101001011101000"));
    assert_ne!(bits("cat"), bits("dog"));
    let seeded = space.clone().with_seed(1);
    assert_ne!(values(&seeded.named("cat").unwrap()), values(&space.named("cat").unwrap()));
    let many: Vec<String> = (0..300).map(|i| i.to_string()).collect();
    let all = values(&space.named_all(&many).unwrap());
    assert_eq!(&all[299 * 16..], values(&space.named("299").unwrap()));
}

#[test]
fn resonators_find_factors() {
    for model in [Model::Hrr, Model::Fhrr, Model::Map] {
        let space = Space::new(model, 601).unwrap();
        let book = |seed: u64| match model {
            Model::Hrr => space.unitary(&space.random(&Key::new(seed), 12)).unwrap(),
            _ => space.random(&Key::new(seed), 12),
        };
        let books = [book(1), book(2), book(3)];
        let bound = space.multi_bind(&[&books[0].index(3), &books[1].index(11), &books[2].index(7)]).unwrap();
        let all = [&books[0], &books[1], &books[2]];
        let found = space.factor(&bound, &all, 60).unwrap().remove(0);
        assert!(found.is_found, "{model}: {found:?}");
        assert_eq!(found.indices, [3, 11, 7], "{model}");
        // Many at once are found as each alone, in their order; one that is none of them does not keep the others from it.
        let product = |of: [i64; 3]| {
            space
                .multi_bind(&[&books[0].index(of[0]), &books[1].index(of[1]), &books[2].index(of[2])])
                .unwrap()
        };
        let none = space.named("no product").unwrap();
        let stacked = Array::stack(&[&product([0, 5, 9]), &none, &bound, &product([11, 0, 2])], 0);
        let many = space.factor(&stacked.reshape([2, 2, 601]), &all, 60).unwrap();
        let indices: Vec<&[usize]> = many.iter().map(|found| &*found.indices).collect();
        assert_eq!((indices[0], indices[2], indices[3]), (&[0, 5, 9][..], &[3, 11, 7][..], &[11, 0, 2][..]));
        assert_eq!(many.iter().map(|f| f.is_found).collect::<Vec<_>>(), [true, false, true, true], "{model}");
        assert!(many[1].rounds == 60 && space.factor(&stacked.slice(0..0), &all, 60).unwrap().is_empty());
        // A vector that is no product of theirs is not found, and that is said.
        let other = space.factor(&none, &all[..2], 5).unwrap().remove(0);
        assert!(!other.is_found && other.rounds == 5, "{model}: {other:?}");
    }
    assert!(Space::new(Model::Bsc, 8).unwrap().factor(&Array::zeros::<bool>([8]), &[], 1).is_err());
}

#[test]
fn vectors_that_are_used_once_are_summed_and_shared_ones_multiplied() {
    let space = Space::new(Model::Hrr, 64).unwrap();
    let weights = random::uniform::<f32>(&Key::new(1), [5, 300]);
    let plan = |vectors: &Array| {
        let superposed = space.superpose_weighted(vectors, &weights).unwrap();
        superposed.explain().unwrap().to_string()
    };
    let sets = plan(&random::normal::<f32>(&Key::new(2), [5, 300, 64]));
    assert!(sets.contains("Column") && !sets.contains("matmul"), "{sets}");
    assert!(plan(&random::normal::<f32>(&Key::new(3), [300, 64])).contains("matmul"));
}

#[test]
fn weights_weigh() {
    for model in [Model::Hrr, Model::Map, Model::Hlb, Model::Bsc, Model::Fhrr] {
        let space = Space::new(model, 2000).unwrap();
        let rows = space.random(&Key::new(5), 3);
        let weights = Array::from([[0.0f32, 1.0, 0.0], [3.0, 1.0, 1.0]]);
        let mixed = space.superpose_weighted(&rows, &weights).unwrap();
        assert!(alike(&space, &mixed.index(0), &rows.index(1)) > 0.99, "{model}");
        assert!(
            alike(&space, &mixed.index(1), &rows.index(0))
                > alike(&space, &mixed.index(1), &rows.index(2)) + 0.2
        );
        let stacked = Array::stack(&[&rows, &rows], 0);
        let each = space.superpose_weighted(&stacked, &weights).unwrap();
        assert!(values(&space.similarity(&each, &mixed).unwrap()).iter().all(|&v| v > 0.999), "{model}");
        let alone = space.superpose_weighted(&rows, &weights.index(1)).unwrap();
        assert!(alike(&space, &alone, &mixed.index(1)) > 0.999, "{model}");
        assert!(space.superpose_weighted(&rows, &Array::from([1.0f32, 2.0])).is_err());
    }
}

#[test]
fn wrong_vectors_are_refused_with_what_was_wanted() {
    let space = Space::new(Model::Hrr, 8).unwrap();
    let x = space.named("x").unwrap();
    assert!(space.bind(&x, &Array::zeros::<f64>([8])).unwrap_err().to_string().contains("not f64"));
    assert!(space.superpose(&x).unwrap_err().to_string().contains("as rows"));
    assert!(space.bind(&space.random(&Key::new(1), 2), &space.random(&Key::new(1), 3)).is_err());
    assert!(Space::new(Model::Hrr, 0).is_err());
}
