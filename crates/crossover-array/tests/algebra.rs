//! Contractions, linear algebra, transforms and convolutions as array code: values that NumPy and SciPy give, shapes, empty
//! and strided operands, errors at their place, laziness.

use crossover_array::{
    Array, Complex, DType, Error, Padding, Result, Runtime, einsum,
    fft::{self, Norm},
    linalg::{self, MatrixNorm},
    random::{self, Key},
    s,
    signal::{self, Boundary, Method, Mode},
};

fn close(a: &Array, b: &Array, bound: f64) -> Result<bool> {
    assert_eq!(a.shape(), b.shape());
    if a.size() == 0 {
        return Ok(true);
    }
    let wide = |x: &Array| x.astype(if x.dtype().is_complex() { DType::C128 } else { DType::F64 });
    Ok((wide(a) - wide(b)).abs().max(()).item::<f64>()? <= bound)
}

fn normal(seed: u64, shape: &[usize]) -> Array {
    random::normal::<f64>(&Key::new(seed), shape)
}

/// Sums of products by loops over every index, for one-letter labels.
fn naive(subscripts: &str, operands: &[&Array]) -> Vec<f64> {
    let (inputs, output) = subscripts.split_once("->").expect("explicit");
    let inputs: Vec<&str> = inputs.split(',').collect();
    let mut labels: Vec<(char, usize)> = Vec::new();
    for (text, operand) in inputs.iter().zip(operands) {
        for (label, &length) in text.chars().zip(operand.shape().iter()) {
            if !labels.iter().any(|l| l.0 == label) {
                labels.push((label, length));
            }
        }
    }
    let values: Vec<Vec<f64>> = operands.iter().map(|x| x.to_vec::<f64>().expect("evaluates")).collect();
    let length = |label: char| labels.iter().find(|l| l.0 == label).map_or(1, |l| l.1);
    let place = |text: &str, index: &[usize]| {
        text.chars().fold(0, |at, label| {
            let i = labels.iter().position(|l| l.0 == label).expect("known");
            at * length(label) + index[i]
        })
    };
    let mut out = vec![0.0; output.chars().map(length).product()];
    let total: usize = labels.iter().map(|l| l.1).product();
    for mut rest in 0..total {
        let index: Vec<usize> = labels
            .iter()
            .map(|&(_, n)| {
                let i = rest % n;
                rest /= n;
                i
            })
            .collect();
        let product: f64 = inputs.iter().zip(&values).map(|(text, v)| v[place(text, &index)]).product();
        out[place(output, &index)] += product;
    }
    out
}

#[test]
fn einsum_agrees_with_loops() -> Result<()> {
    let lengths = |label: char| 2 + (label as usize) % 3;
    for subscripts in [
        "ij,jk->ik",
        "ij,jk->ki",
        "ij->ji",
        "ij->",
        "ij->j",
        "i,j->ij",
        "i,i->",
        "i,i->i",
        "bij,bjk->bik",
        "bij,bkj->bki",
        "ij,ij->ij",
        "ij,ij->",
        "ii->i",
        "ii->",
        "iij->ij",
        "iji,j->i",
        "ij,jk,kl->il",
        "ij,jk,kl,lm->im",
        "ab,bc,cd,de,ef,fa->",
        "abc,bd,ce->ade",
        "ijk,k->ij",
        "ijk,jki->",
        "ij,k->kij",
        "abcd,cd,ab->bd",
    ] {
        let (inputs, _) = subscripts.split_once("->").expect("explicit");
        let operands: Vec<Array> = inputs
            .split(',')
            .enumerate()
            .map(|(i, text)| normal(i as u64, &text.chars().map(lengths).collect::<Vec<_>>()))
            .collect();
        let operands: Vec<&Array> = operands.iter().collect();
        let got = einsum(subscripts, &operands);
        let want = naive(subscripts, &operands);
        let want = Array::from_vec(want, got.shape());
        assert!(close(&got, &want, 1e-12)?, "{subscripts}");
    }
    Ok(())
}

#[test]
fn einsum_has_ellipses_implicit_results_and_typed_errors() -> Result<()> {
    let (a, b) = (normal(1, &[4, 1, 2, 3]), normal(2, &[5, 3, 2]));
    assert!(close(&einsum("...ij,...jk->...ik", &[&a, &b]), &a.matmul(&b), 1e-13)?);
    assert!(close(&einsum("...ij,...jk", &[&a, &b]), &a.matmul(&b), 1e-13)?);
    assert_eq!(einsum("ba", &[&normal(3, &[2, 3])]).shape().dims(), [3, 2]);
    assert_eq!(einsum("i...->...i", &[&a]).shape().dims(), [1, 2, 3, 4]);
    assert_eq!(einsum("i , i -> ", &[&Array::from([1i32, 2]), &Array::from([3i32, 4])]).item::<i32>()?, 11);
    let z = Array::from([Complex::new(0.0f32, 1.0), Complex::new(2.0, 0.0)]);
    assert_eq!(einsum("i,i->", &[&z, &z]).item::<Complex<f32>>()?, Complex::new(3.0, 0.0));
    let x = normal(4, &[2, 3]);
    for (wrong, what) in [
        ("ij,jk->ik", "has 2 operands, 1 given"),
        ("ijk->i", "names 3 axes of an operand with 2"),
        ("ij->ii", "twice in the result"),
        ("ij->k", "is in no operand"),
        ("i1->i", "is no letter"),
        ("ii->i", "has length 3, elsewhere 2"),
        ("...->", "has no `...`"),
    ] {
        let error = einsum(wrong, &[&x]).check().expect_err(wrong).to_string();
        assert!(error.starts_with("einsum: ") && error.contains(what), "{wrong}: {error}");
    }
    let (paths, ends) = (Array::from([[true, false], [true, true]]), Array::from([false, true]));
    assert_eq!(einsum("ij,j->i", &[&paths, &ends]).to_vec::<bool>()?, [false, true]);
    assert_eq!(einsum("ij,jk->ik", &[&paths, &paths]).to_vec::<bool>()?, [true, false, true, true]);
    Ok(())
}

#[test]
fn contractions_follow_numpy() -> Result<()> {
    let (a, b) = (normal(1, &[2, 3, 4]), normal(2, &[4, 3, 5]));
    assert!(close(&a.tensordot(&b, [2, 1], [0, 1]), &einsum("ijk,kjl->il", &[&a, &b]), 1e-13)?);
    let none: [i64; 0] = [];
    assert_eq!(a.tensordot(&b, none, none).shape().dims(), [2, 3, 4, 4, 3, 5]);
    assert!(a.tensordot(&b, [0], [0]).check().is_err() && a.tensordot(&b, [0, 1], [0]).check().is_err());
    let z = Array::from([Complex::new(0.0f64, 1.0), Complex::new(2.0, 0.0)]);
    assert_eq!(z.vecdot(&z, -1).item::<Complex<f64>>()?, Complex::new(5.0, 0.0));
    assert_eq!(Array::from([1i8, 100]).vecdot(&Array::from([1i8, 2]), 0).item::<i8>()?, -55);
    let (u, v) = (normal(3, &[6, 3]), normal(4, &[3]));
    let cross = linalg::cross(&u, &v, -1);
    assert!(close(&cross.vecdot(&u, -1), &Array::zeros::<f64>([6]), 1e-14)?);
    assert_eq!(linalg::cross(&u.t(), &v.reshape([3, 1]), -2).shape().dims(), [3, 6]);
    assert!(linalg::cross(&u, &a, -1).check().is_err());
    let x = Array::arange(24).reshape([2, 3, 4]);
    assert_eq!(linalg::diagonal(&x, 1).to_vec::<i64>()?, [1, 6, 11, 13, 18, 23]);
    assert_eq!(linalg::diagonal(&x.slice(s![.., ..; -1, ..]), -1).to_vec::<i64>()?, [4, 1, 16, 13]);
    assert_eq!(linalg::trace(&x, -7).to_vec::<i64>()?, [0, 0]);
    assert_eq!(linalg::diagonal(&Array::zeros::<f32>([0, 3]), 1).size(), 0);
    assert!(linalg::trace(&v, 0).check().is_err());
    Ok(())
}

#[test]
fn matmul_takes_vectors_batches_and_transposed_operands_without_copies() -> Result<()> {
    let (a, b) = (normal(1, &[5, 1, 2, 3]), normal(2, &[4, 3, 2]));
    assert_eq!(a.matmul(&b).shape().dims(), [5, 4, 2, 2]);
    assert_eq!(normal(3, &[3]).matmul(&b).shape().dims(), [4, 2]);
    assert_eq!(b.matmul(&normal(4, &[2])).shape().dims(), [4, 3]);
    assert_eq!(normal(5, &[3]).matmul(&normal(6, &[3])).ndim(), 0);
    let text = normal(7, &[30, 40]).eval()?.t().matmul(&normal(8, &[50, 30]).eval()?.t()).explain()?;
    assert!(text.starts_with("plan: 1 kernel"), "{text}");
    Ok(())
}

#[test]
fn decompositions_of_strided_batches_give_the_matrix_back() -> Result<()> {
    let x = normal(1, &[3, 6, 4]).swap_axes(1, 2).flip(1);
    let (q, r) = linalg::qr(&x);
    assert!(close(&q.matmul(&r), &x, 1e-13)?);
    let (u, values, vh) = linalg::svd(&x);
    assert!(close(&(&u * values.expand_dims(-2)).matmul(&vh), &x, 1e-13)?);
    assert!(close(&linalg::svdvals(&x), &values, 1e-13)?);
    let square = x.matmul(&linalg::matrix_transpose(&x));
    let (w, v) = linalg::eigh(&square);
    assert!(close(&square.matmul(&v), &(&v * w.expand_dims(-2)), 1e-12)?);
    let lower = linalg::cholesky(&square);
    assert!(close(&lower.matmul(&linalg::matrix_transpose(&lower)), &square, 1e-12)?);
    assert!(close(&linalg::matrix_transpose(&linalg::cholesky_upper(&square)), &lower, 1e-13)?);
    assert!(close(&linalg::det(&square), &w.prod(-1), 1e-8)?);
    let (sign, log) = linalg::slogdet(&square);
    assert!(close(&(&sign * log.exp()), &w.prod(-1), 1e-8)?);
    let y = linalg::solve(&square, &normal(2, &[4, 2]));
    assert!(close(&square.matmul(&y), &normal(2, &[4, 2]).broadcast_to([3, 4, 2]), 1e-9)?);
    assert!(close(
        &linalg::inv(&square).matmul(&square),
        &Array::eye::<f64>(4).broadcast_to([3, 4, 4]),
        1e-9
    )?);
    assert!(close(&x.matmul(&linalg::pinv(&x, None)).matmul(&x), &x, 1e-12)?);
    assert!(close(&linalg::matrix_power(&square, -2), &linalg::inv(&square.matmul(&square)), 1e-6)?);
    assert_eq!(
        linalg::matrix_power(&square, 0).index(1).to_vec::<f64>()?,
        Array::eye::<f64>(4).to_vec::<f64>()?
    );
    assert_eq!(linalg::matrix_rank(&x.slice(s![.., .., ..2]), None).to_vec::<i64>()?, [2, 2, 2]);
    assert!(close(&linalg::matrix_norm(&x, MatrixNorm::Spectral), &values.max(-1), 1e-13)?);
    assert!(close(&linalg::matrix_norm(&x, MatrixNorm::Nuclear), &values.sum(-1), 1e-13)?);
    assert!(close(&linalg::matrix_norm(&x, MatrixNorm::Frobenius), &values.square().sum(-1).sqrt(), 1e-13)?);
    Ok(())
}

#[test]
fn least_squares_has_numpys_results() -> Result<()> {
    let a = Array::from([[1.0f64, 1.0], [1.0, 2.0], [1.0, 3.0], [1.0, 4.0]]);
    let fit = linalg::lstsq(&a, &Array::from([6.0f64, 5.0, 7.0, 10.0]), None);
    assert!(close(&fit.solution, &Array::from([3.5f64, 1.4]), 1e-13)?);
    assert!(close(&fit.residuals, &Array::from([4.2f64]), 1e-12)?);
    assert_eq!(fit.rank.item::<i64>()?, 2);
    let deficient = linalg::lstsq(&Array::ones::<f64>([3, 2]), &Array::ones::<f64>([3]), None);
    assert!(close(&deficient.solution, &Array::from([0.5f64, 0.5]), 1e-14)?);
    assert_eq!(deficient.rank.item::<i64>()?, 1);
    assert!(linalg::lstsq(&a, &Array::ones::<f64>([3]), None).solution.check().is_err());
    Ok(())
}

#[test]
fn integers_and_halves_are_widened() {
    assert_eq!(linalg::inv(&Array::from([[2i32]])).dtype(), DType::F64);
    assert_eq!(linalg::det(&Array::ones_dtype([1, 1], DType::BF16)).dtype(), DType::F32);
    assert_eq!(linalg::eigvals(&Array::ones::<f32>([2, 2])).dtype(), DType::C64);
    assert_eq!(linalg::eigvalsh(&Array::ones_dtype([2, 2], DType::C64)).dtype(), DType::F32);
    assert_eq!(fft::fft(&Array::ones_dtype([2], DType::F16)).dtype(), DType::C64);
    assert_eq!(fft::rfft(&Array::from([1i8, 2])).dtype(), DType::C128);
    assert_eq!(
        signal::convolve(&Array::ones_dtype([2], DType::BF16), &Array::ones_dtype([2], DType::BF16)).dtype(),
        DType::BF16
    );
}

#[test]
fn errors_name_the_call_that_caused_them() {
    let singular = Array::from([[1.0f64, 2.0], [2.0, 4.0]]);
    let here = line!() + 1;
    let inverse = linalg::inv(&singular);
    let far = ((&inverse + 1.0) * linalg::inv(&Array::eye::<f64>(2))).sum(());
    for _ in 0..2 {
        let error: Error = far.to_vec::<f64>().unwrap_err();
        assert_eq!((error.location().file(), error.location().line()), (file!(), here));
        assert!(error.to_string().starts_with("inv: matrix 0 is singular"), "{error}");
    }
    assert!(inverse.check().is_err());
    let both = crossover_array::eval_all(&[&far, &linalg::cholesky(&(-Array::eye::<f64>(2)))]);
    assert!(both.is_err());
    for wrong in [
        linalg::inv(&Array::ones::<f64>([2, 3])),
        linalg::det(&Array::ones::<f64>([3])),
        linalg::solve(&Array::eye::<f64>(2), &Array::ones::<f64>([3])),
        fft::rfft(&Array::ones_dtype([3], DType::C64)),
        fft::fft(&Array::zeros::<f32>([2, 0])),
        fft::fftn_with(&Array::ones::<f32>([2]), fft::Options::new().axes([0, 0])),
        fft::fft(&Array::scalar(1.0f32)),
        signal::convolve(&Array::ones::<f32>([2]), &Array::ones::<f32>([2, 2])),
        signal::convolve(&Array::zeros::<f32>([0]), &Array::ones::<f32>([2])),
        signal::convolve(&Array::from([1i8]), &Array::from([true])).astype(DType::I8).reshape([7]),
    ] {
        let error = wrong.check().unwrap_err();
        assert_eq!(error.location().file(), file!(), "{error}");
    }
}

#[test]
fn parts_of_a_decomposition_share_it() -> Result<()> {
    let runtime = Runtime::builder().threads(1).build()?;
    runtime.scope(|| {
        let x = normal(9, &[8, 8]);
        x.eval()?;
        let before = runtime.executor().counts().launches;
        let (u, s, vh) = linalg::svd(&x);
        for part in [&u, &s, &vh] {
            part.eval()?;
        }
        // One decomposition, and a copy out of its result for each part.
        assert_eq!(runtime.executor().counts().launches - before, 4);
        Ok(())
    })
}

#[test]
fn transforms_have_numpys_lengths_axes_and_norms() -> Result<()> {
    let x = normal(1, &[4, 6]);
    let options = fft::Options::new;
    for norm in [Norm::Backward, Norm::Ortho, Norm::Forward] {
        for n in [5, 6, 9] {
            let spectrum = fft::fft_with(&x, options().length(n).norm(norm));
            let back = fft::ifft_with(&spectrum, options().norm(norm));
            let kept = n.min(6);
            assert_eq!(spectrum.shape().dims(), [4, n]);
            assert!(close(
                &back.real().slice(s![.., ..kept as i64]),
                &x.slice(s![.., ..kept as i64]),
                1e-14
            )?);
            let half = fft::rfft_with(&x, options().length(n).norm(norm));
            assert!(close(&half, &spectrum.slice(s![.., ..(n / 2 + 1) as i64]), 1e-14)?);
            let again = fft::irfft_with(&half, options().length(n).norm(norm));
            assert!(close(&again, &back.real(), 1e-14)?);
            let real = fft::hfft_with(&half, options().length(n).norm(norm));
            let same = fft::ihfft_with(&real, options().norm(norm));
            assert!(close(&same, &half, 1e-13)?);
        }
        let both = fft::fftn_with(&x, options().norm(norm));
        let twice = fft::fft_with(&fft::fft_with(&x, options().norm(norm)), options().axis(0).norm(norm));
        assert!(close(&both, &twice, 1e-13)?);
        assert!(close(&fft::ifft2_with(&both, options().norm(norm)).real(), &x, 1e-14)?);
        let half = fft::rfftn_with(&x, options().norm(norm));
        assert!(close(&half, &both.slice(s![.., ..4]), 1e-13)?);
        assert!(close(&fft::irfftn_with(&half, options().norm(norm)), &x, 1e-14)?);
    }
    let turned = fft::fft_with(&x.t(), options().axis(0));
    assert!(close(&turned, &fft::fft(&x).t(), 1e-14)?);
    assert_eq!(fft::fftfreq(5, 1.0).to_vec::<f64>()?, [0.0, 0.2, 0.4, -0.4, -0.2]);
    assert_eq!(fft::fftshift(&Array::arange(6).reshape([2, 3]), -1).to_vec::<i64>()?, [2, 0, 1, 5, 3, 4]);
    assert!(close(&fft::ifftshift(&fft::fftshift(&x, ()), ()), &x, 0.0)?);
    let text = fft::fft2(x.astype(DType::C128).eval()?).explain()?;
    assert!(text.starts_with("plan: 1 kernel") && text.contains("Call fft"), "{text}");
    Ok(())
}

#[test]
fn integers_through_transforms_are_those_of_the_direct_way() -> Result<()> {
    let options = signal::Options::new;
    for dtype in [DType::I8, DType::U8, DType::I16, DType::U16] {
        let key = Key::new(7);
        let (low, high) = dtype.iinfo().map(|i| (i.min as i64, i.max as i64)).unwrap_or_default();
        let x = random::integers::<i64>(&key, [300], low..=high).astype(dtype);
        let k = random::integers::<i64>(&key.fold(1), [70], low..=high).astype(dtype);
        let direct = signal::convolve_with(&x, &k, options().method(Method::Direct));
        let transformed = signal::convolve_with(&x, &k, options().method(Method::Fft));
        assert!(transformed.explain()?.contains("Call rfft"));
        assert_eq!(transformed.dtype(), dtype);
        assert_eq!(
            transformed.astype(DType::I64).to_vec::<i64>()?,
            direct.astype(DType::I64).to_vec::<i64>()?
        );
    }
    let (x, k) = (Array::from([1i32, 2, 3]), Array::from([4i32, 5, 6]));
    assert_eq!(signal::convolve(&x, &k).to_vec::<i32>()?, [4, 13, 28, 27, 18]);
    let error = signal::convolve_with(&x, &k, options().method(Method::Fft)).check().unwrap_err().to_string();
    assert!(
        error.contains("elements of i32 may be off by") && error.contains("use the direct method"),
        "{error}"
    );
    Ok(())
}

#[test]
fn convolutions_agree_whichever_way_they_are_computed() -> Result<()> {
    let options = signal::Options::new;
    for (shape, kernel) in [(vec![50], vec![7]), (vec![9, 12], vec![3, 4]), (vec![4, 5, 6], vec![2, 1, 3])] {
        let (x, k) = (normal(1, &shape), normal(2, &kernel));
        for mode in [Mode::Full, Mode::Same, Mode::Valid] {
            let direct = signal::convolve_with(&x, &k, options().mode(mode).method(Method::Direct));
            let transformed = signal::convolve_with(&x, &k, options().mode(mode).method(Method::Fft));
            assert!(close(&direct, &transformed, 1e-13)?);
            let complex = signal::convolve_with(
                &x.astype(DType::C128),
                &k.astype(DType::C128),
                options().mode(mode).method(Method::Fft),
            );
            assert!(close(&complex.real(), &direct, 1e-13)?);
        }
        // Where the kernel is longer along every axis, the operands change places.
        let inside = signal::convolve_with(&k, &x, options().mode(Mode::Valid));
        assert!(close(&inside, &signal::convolve_with(&x, &k, options().mode(Mode::Valid)), 0.0)?);
    }
    let wrapped = signal::convolve_with(
        &Array::ones::<f32>([2]),
        &Array::ones::<f32>([2]),
        options().boundary(Boundary::Wrap).method(Method::Fft),
    );
    assert!(wrapped.check().is_err());
    // Large kernels go through transforms, small ones do not.
    let large = signal::convolve(&normal(3, &[256, 256]), &normal(4, &[200, 200])).explain()?;
    assert!(large.contains("Call rfft"), "{large}");
    let small = signal::convolve(&normal(3, &[256, 256]), &normal(4, &[5, 5])).explain()?;
    assert!(small.contains("Call convolve"), "{small}");
    Ok(())
}

#[test]
fn long_vectors_go_through_transforms_in_pieces() -> Result<()> {
    let options = signal::Options::new;
    let (x, k) = (normal(8, &[9000]), normal(9, &[37]));
    let pieces = signal::convolve_with(&x, &k, options().method(Method::Fft)).explain()?;
    assert!(pieces.contains("Call rfft"), "{pieces}");
    for mode in [Mode::Full, Mode::Same, Mode::Valid] {
        let direct = signal::convolve_with(&x, &k, options().mode(mode).method(Method::Direct));
        let transformed = signal::convolve_with(&x, &k, options().mode(mode).method(Method::Fft));
        assert!(close(&direct, &transformed, 1e-12)?, "{mode:?}");
        let turned = signal::convolve_with(
            &(x.astype(DType::C128) * Complex::new(0.0, 1.0)),
            &k.astype(DType::C128),
            options().mode(mode).method(Method::Fft),
        );
        assert!(close(&turned.imag(), &direct, 1e-12)?, "{mode:?}");
    }
    let whole = random::integers::<i64>(&Key::new(7), [9000], -128..=127).astype(DType::I8);
    let few = whole.slice(s![..40]);
    let direct = signal::convolve_with(&whole, &few, options().method(Method::Direct));
    let rounded = signal::convolve_with(&whole, &few, options().method(Method::Fft));
    assert_eq!(rounded.astype(DType::I64).to_vec::<i64>()?, direct.astype(DType::I64).to_vec::<i64>()?);
    Ok(())
}

#[test]
fn boundaries_are_what_padding_puts_around_the_array() -> Result<()> {
    let boundaries = [
        (Boundary::Fill, Padding::Constant(0.into())),
        (Boundary::Wrap, Padding::Wrap),
        (Boundary::Symm, Padding::Symmetric),
        (Boundary::Nearest, Padding::Edge),
        (Boundary::Mirror, Padding::Reflect),
    ];
    assert_eq!(boundaries.map(|(boundary, _)| boundary), Boundary::ALL);
    let shapes: [(&[usize], &[usize]); 5] =
        [(&[7], &[3]), (&[3], &[8]), (&[1], &[4]), (&[5, 40], &[4, 3]), (&[2, 1, 6], &[3, 2, 9])];
    for (boundary, padding) in boundaries {
        for (n, k) in shapes {
            let (x, kernel) = (normal(5, n), normal(6, k));
            let widths: Vec<(usize, usize)> = k.iter().map(|&k| (k - 1, k - 1)).collect();
            let valid = signal::Options::new().mode(Mode::Valid).method(Method::Direct);
            let around = signal::convolve_with(&x.pad(&widths, padding), &kernel, valid);
            let inside = signal::Options::new().boundary(boundary).method(Method::Direct);
            let got = signal::convolve_with(&x, &kernel, inside);
            assert_eq!(got.to_vec::<f64>()?, around.to_vec::<f64>()?, "{boundary:?} of {n:?} and {k:?}");
        }
    }
    Ok(())
}

#[test]
fn equal_eigenvalues_have_vectors_too() -> Result<()> {
    // 7 on the diagonal of equal rows: 7 is an eigenvalue five times, and differences of two of them are rounding.
    let row = Array::from([0.912868f32, 0.7201392, 0.8542317, -0.23596546, -0.9824953, -0.8176411]);
    let a = row.broadcast_to([6, 6]) + Array::eye::<f32>(6) * 7.0;
    let (w, v) = linalg::eig(&a);
    let residual = a.astype(DType::C64).matmul(&v) - &v * &w;
    assert!(residual.abs().max(()).item::<f32>()? < 1e-4);
    assert!((v.abs().square().sum(0) - 1.0).abs().max(()).item::<f32>()? < 1e-5);
    Ok(())
}

#[test]
fn determinants_survive_pivots_without_an_inverse() -> Result<()> {
    // Equal columns: elimination leaves ever smaller rounding errors, and the inverse of the smallest overflows.
    let column = normal(7, &[9, 1]).astype(DType::F32);
    let equal = column.broadcast_to([9, 9]);
    assert!(linalg::det(&equal).item::<f32>()?.abs() < 1e-6);
    let tiny = Array::from([[1e-40f32, 0.0], [0.0, 1.0]]);
    assert_eq!(linalg::det(&tiny).item::<f32>()?, 1e-40);
    assert_eq!(linalg::det(&tiny.flip(0)).item::<f32>()?, -1e-40);
    let (sign, log) = linalg::slogdet(&tiny);
    assert_eq!(sign.item::<f32>()?, 1.0);
    assert!((log.item::<f32>()? - -92.1034).abs() < 1e-2);
    Ok(())
}

#[test]
fn empty_matrices_have_numpys_results() -> Result<()> {
    let empty = Array::zeros::<f64>([2, 0, 0]);
    assert_eq!(linalg::det(&empty).to_vec::<f64>()?, [1.0, 1.0]);
    let (sign, log) = linalg::slogdet(&empty);
    assert_eq!((sign.to_vec::<f64>()?, log.to_vec::<f64>()?), (vec![1.0; 2], vec![0.0; 2]));
    assert_eq!(linalg::inv(&empty).shape().dims(), [2, 0, 0]);
    let (q, r) = linalg::qr_complete(&Array::zeros::<f64>([3, 0]));
    assert_eq!((q.to_vec::<f64>()?, r.shape().dims()), (Array::eye::<f64>(3).to_vec::<f64>()?, &[3, 0][..]));
    let (u, s, vh) = linalg::svd_full(&Array::zeros::<f32>([0, 2]));
    assert_eq!((u.size(), s.size(), vh.to_vec::<f32>()?), (0, 0, vec![1.0, 0.0, 0.0, 1.0]));
    assert_eq!(linalg::eigvals(&empty).size(), 0);
    assert_eq!(linalg::matrix_rank(&Array::zeros::<f64>([3, 0]), None).item::<i64>()?, 0);
    assert_eq!(linalg::pinv(&Array::zeros::<f64>([3, 0]), None).shape().dims(), [0, 3]);
    assert_eq!(
        einsum("ij,jk->ik", &[&Array::zeros::<f64>([2, 0]), &Array::zeros::<f64>([0, 3])]).to_vec::<f64>()?,
        [0.0; 6]
    );
    assert_eq!(fft::fft(&Array::zeros::<f32>([0, 4])).shape().dims(), [0, 4]);
    Ok(())
}
