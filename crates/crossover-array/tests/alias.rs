//! NumPy's aliasing: what an assignment shows through, and what it does not.

use crossover_array::{Array, Index, Result, s};

fn base() -> Array {
    Array::from([[0i64, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
}

/// Every view of a 3×4 base, with the positions it shows as NumPy gives them.
fn views(x: &Array) -> Vec<(&'static str, Array)> {
    vec![
        ("x", x.clone()),
        ("x[1]", x.index(1)),
        ("x[-1]", x.index(-1)),
        ("x[:, 2]", x.slice(s![.., 2])),
        ("x[::2, ::-1]", x.slice(s![..; 2, ..; -1])),
        ("x[1:, :2]", x.slice(s![1.., ..2])),
        ("x.T", x.t()),
        ("x.T[::-1]", x.t().slice(s![..; -1])),
        ("x[::-1, ::-1]", x.flip(())),
        ("x.reshape(4, 3)", x.reshape([4, 3])),
        ("x.reshape(2, 6)[1]", x.reshape([2, 6]).index(1)),
        ("x.reshape(-1)[::5]", x.reshape(-1).slice(s![..; 5])),
        ("x[None, ..., 0]", x.slice(s![Index::NewAxis, Index::Ellipsis, 0])),
        ("x[::2].T[1:3][::-1]", x.slice(s![..; 2]).t().slice(1..3).slice(s![..; -1])),
        ("x.swapaxes(0, 1)[2]", x.swap_axes(0, 1).index(2)),
        ("x[2:0:-1, 3:0:-2]", x.slice(s![2..0; -1, 3..0; -2])),
        ("x[1, 1]", x.slice(s![1, 1])),
        ("x[5:]", x.slice(5..)),
    ]
}

#[test]
fn every_view_writes_through_to_every_other() -> Result<()> {
    let count = views(&base()).len();
    for written in 0..count {
        let x = base();
        let all = views(&x);
        let (name, view) = &all[written];
        // The elements of the base are their own positions: what a view shows says which of them it covers.
        let covered = view.to_vec::<i64>()?;
        let before: Vec<Vec<i64>> = all.iter().map(|(_, v)| v.to_vec()).collect::<Result<_>>()?;
        let kept: Vec<Array> = all.iter().map(|(_, v)| v + 0).collect();
        view.assign(&(view.copy() * 100))?;
        for ((other, array), (old, kept)) in all.iter().zip(before.iter().zip(&kept)) {
            let want: Vec<i64> = old.iter().map(|v| if covered.contains(v) { v * 100 } else { *v }).collect();
            assert_eq!(array.to_vec::<i64>()?, want, "{other} after {name} was written");
            assert_eq!(kept.to_vec::<i64>()?, *old, "{other} + 0 from before {name} was written");
        }
    }
    Ok(())
}

#[test]
fn overlapping_assignments_read_old_values_first() -> Result<()> {
    let x = Array::arange(6);
    x.slice(1..).assign(x.slice(..-1))?;
    assert_eq!(x.to_vec::<i64>()?, [0, 0, 1, 2, 3, 4]);
    let x = Array::arange(6);
    x.slice(..-1).assign(x.slice(1..))?;
    assert_eq!(x.to_vec::<i64>()?, [1, 2, 3, 4, 5, 5]);
    let x = Array::arange(5);
    x.assign(x.flip(0))?;
    assert_eq!(x.to_vec::<i64>()?, [4, 3, 2, 1, 0]);
    let x = base().slice(s![.., ..3]);
    x.assign(x.t())?;
    assert_eq!(x.to_vec::<i64>()?, [0, 4, 8, 1, 5, 9, 2, 6, 10]);
    Ok(())
}

#[test]
fn copies_are_independent() -> Result<()> {
    let x = Array::from([1.0f32, 2.0]);
    let computed = [x.copy(), x.astype(x.dtype()), &x * 1.0, x.abs(), x.real(), x.flip(0).flip(0).copy()];
    let (clone, view) = (x.clone(), x.reshape([1, 2]));
    x.fill(9)?;
    for array in &computed {
        assert_eq!(array.to_vec::<f32>()?, [1.0, 2.0]);
    }
    assert_eq!(clone.to_vec::<f32>()?, [9.0, 9.0]);
    assert_eq!(view.to_vec::<f32>()?, [9.0, 9.0]);
    computed[0].fill(5)?;
    assert_eq!(x.to_vec::<f32>()?, [9.0, 9.0]);
    // A reshape that strides cannot express is a copy, as in NumPy.
    let y = base();
    let copied = y.t().reshape([12]);
    copied.fill(0)?;
    assert_eq!(y.sum(()).item::<i64>()?, 66);
    Ok(())
}

#[test]
fn two_cells_may_share_a_version_until_one_changes() -> Result<()> {
    let (x, y) = (Array::from([1, 2, 3]), Array::from([4, 5, 6]));
    x.assign(&y)?;
    x.slice(..1).fill(0)?;
    y.slice(1..).fill(7)?;
    assert_eq!(x.to_vec::<i32>()?, [0, 5, 6]);
    assert_eq!(y.to_vec::<i32>()?, [4, 7, 7]);
    Ok(())
}

#[test]
fn values_are_converted_and_broadcast() -> Result<()> {
    let x = Array::zeros::<i32>([2, 3]);
    x.assign(Array::from([1.9f64, -2.9, 3.0]))?;
    assert_eq!(x.to_vec::<i32>()?, [1, -2, 3, 1, -2, 3]);
    x.slice(s![.., 0]).assign(7.9)?;
    x.index(1).assign(Array::from([[[1u8, 2, 3]]]))?;
    assert_eq!(x.to_vec::<i32>()?, [7, -2, 3, 1, 2, 3]);
    let scalar = Array::scalar(1.5f32);
    scalar.assign(2)?;
    assert_eq!(scalar.item::<f32>()?, 2.0);
    let empty = Array::zeros::<f32>([0, 3]);
    empty.assign(Array::from([1.0f32, 2.0, 3.0]))?;
    empty.fill(1)?;
    assert_eq!(empty.size(), 0);
    Ok(())
}

#[test]
fn a_buffer_that_nobody_else_holds_is_changed_in_place() -> Result<()> {
    // A million small assignments to one large array: copies would move 8 TB.
    let x = Array::zeros::<f64>([1_000_000]);
    x.eval()?;
    for i in 0..1_000_000 {
        x.slice(s![i..i + 1]).fill(1)?;
    }
    assert_eq!(x.sum(()).item::<f64>()?, 1e6);
    Ok(())
}

#[test]
fn pending_arrays_can_be_assigned_to() -> Result<()> {
    let x = Array::from([1.0f32, 2.0, 3.0]).exp();
    let view = x.slice(1..);
    let later = &view * 2.0;
    view.fill(0)?;
    assert_eq!(x.to_vec::<f32>()?[1..], [0.0, 0.0]);
    assert!(later.to_vec::<f32>()?[0] > 14.0);
    Ok(())
}

#[test]
fn operators_with_assignment_replace_the_variable() -> Result<()> {
    let mut x = Array::from([1, 2]);
    let alias = x.clone();
    x += 1;
    x *= &alias;
    x -= 1;
    x <<= 1;
    assert_eq!(x.to_vec::<i32>()?, [2, 10]);
    assert_eq!(alias.to_vec::<i32>()?, [1, 2]);
    Ok(())
}
