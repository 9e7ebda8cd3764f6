//! Indexing by NumPy's rules, reading and writing, against a definition that walks index by index.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, Index, Result, Scatter, Shape, s};

/// A stream of random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// What one item of a list does along the axes it covers: fixed positions, or an index array.
#[derive(Clone)]
enum Item {
    At(i64),
    Range(Option<i64>, Option<i64>, i64),
    New,
    Rest,
    Indices(Vec<usize>, Vec<i64>),
    Mask(Vec<usize>, Vec<bool>),
}

impl Item {
    fn index(&self) -> Index {
        match self {
            Item::At(at) => Index::At(*at),
            Item::Range(start, stop, step) => Index::Range { start: *start, stop: *stop, step: *step },
            Item::New => Index::NewAxis,
            Item::Rest => Index::Ellipsis,
            Item::Indices(shape, values) => Array::from_vec(values.clone(), shape.as_slice()).into(),
            Item::Mask(shape, values) => Array::from_vec(values.clone(), shape.as_slice()).into(),
        }
    }

    fn covers(&self) -> usize {
        match self {
            Item::At(_) | Item::Range(..) | Item::Indices(..) => 1,
            Item::New | Item::Rest => 0,
            Item::Mask(shape, _) => shape.len(),
        }
    }

    fn is_array(&self) -> bool {
        matches!(self, Item::Indices(..) | Item::Mask(..))
    }
}

/// Python's `range(n)[start:stop:step]`.
fn walked(start: Option<i64>, stop: Option<i64>, step: i64, n: i64) -> Vec<i64> {
    let inside = |bound: i64| if bound < 0 { bound + n } else { bound };
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let start = start.map_or(if step > 0 { low } else { high }, |v| inside(v).clamp(low, high));
    let stop = stop.map_or(if step > 0 { high } else { low }, |v| inside(v).clamp(low, high));
    let mut at = start;
    std::iter::from_fn(|| {
        let here = at;
        at += step;
        (if step > 0 { here < stop } else { here > stop }).then_some(here)
    })
    .collect()
}

fn unravel(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, &n) in index.iter_mut().zip(shape).rev() {
        *at = position % n;
        position /= n;
    }
    index
}

/// The shape of `x[items]` and, for each of its elements, the position in `x`.
fn defined(shape: &[usize], items: &[Item]) -> (Vec<usize>, Vec<usize>) {
    let used: usize = items.iter().map(Item::covers).sum();
    let any_array = items.iter().any(Item::is_array);
    // Per axis of the array: a walk that makes an axis of the result, or an index array of the common shape.
    enum Along {
        Walk { axis: usize, places: Vec<i64> },
        Common { shape: Vec<usize>, places: Vec<i64> },
    }
    let mut along: Vec<Along> = Vec::new();
    let mut lengths: Vec<usize> = Vec::new();
    let mut common: Vec<usize> = Vec::new();
    let (mut first, mut last, mut apart): (Option<usize>, usize, bool) = (None, 0, false);
    let mut items = items.to_vec();
    if !items.iter().any(|i| matches!(i, Item::Rest)) {
        items.push(Item::Rest);
    }
    for (number, item) in items.iter().enumerate() {
        if item.is_array() || (any_array && matches!(item, Item::At(_))) {
            match first {
                None => first = Some(lengths.len()),
                Some(_) => apart |= number != last + 1,
            }
            last = number;
        }
        let n = |axis: usize| shape[axis] as i64;
        match item {
            Item::New => lengths.push(1),
            Item::Rest => {
                for _ in 0..shape.len() - used {
                    let places = (0..n(along.len())).collect();
                    along.push(Along::Walk { axis: lengths.len(), places });
                    lengths.push(shape[along.len() - 1]);
                }
            }
            Item::Range(start, stop, step) => {
                let places = walked(*start, *stop, *step, n(along.len()));
                lengths.push(places.len());
                along.push(Along::Walk { axis: lengths.len() - 1, places });
            }
            Item::At(at) => {
                let at = at.rem_euclid(n(along.len()));
                along.push(Along::Common { shape: vec![], places: vec![at] });
            }
            Item::Indices(shape, values) => {
                let length = n(along.len());
                let places = values.iter().map(|v| v.rem_euclid(length)).collect();
                along.push(Along::Common { shape: shape.clone(), places });
            }
            Item::Mask(covered, holds) => {
                let found: Vec<Vec<usize>> =
                    (0..holds.len()).filter(|&i| holds[i]).map(|i| unravel(covered, i)).collect();
                for axis in 0..covered.len() {
                    let places = found.iter().map(|index| index[axis] as i64).collect();
                    along.push(Along::Common { shape: vec![found.len()], places });
                }
            }
        }
    }
    for a in &along {
        if let Along::Common { shape, .. } = a {
            let joined = Shape::from(common.clone()).broadcast("test", &Shape::from(shape.clone())).unwrap();
            common = joined.dims().to_vec();
        }
    }
    let place = if apart { 0 } else { first.unwrap_or(0) };
    let mut result = lengths.clone();
    result.splice(place..place, common.iter().copied());
    let size: usize = result.iter().product();
    let position = |i: usize| {
        let mut index = unravel(&result, i);
        let at: Vec<usize> = index.drain(place..place + common.len()).collect();
        let axis_place = |a: &Along| match a {
            Along::Walk { axis, places } => places[index[*axis]],
            Along::Common { shape, places } => {
                let lead = common.len() - shape.len();
                let own =
                    shape.iter().zip(&at[lead..]).fold(0, |p, (&n, &i)| p * n + if n == 1 { 0 } else { i });
                places[own]
            }
        };
        along.iter().zip(shape).fold(0, |p, (a, &n)| p * n + axis_place(a) as usize)
    };
    (result.clone(), (0..size).map(position).collect())
}

/// A random list of indices for a shape; some cover all axes, some leave a few.
fn items(dice: &mut Dice, shape: &[usize]) -> Vec<Item> {
    let common: Vec<usize> = (0..dice.below(3)).map(|_| 1 + dice.below(3)).collect();
    let (mut list, mut axis, mut rest) = (Vec::new(), 0, false);
    while axis < shape.len() && dice.below(12) > 0 {
        let n = shape[axis];
        let item = match dice.below(9) {
            0 => Item::New,
            1 if !rest && axis + 1 < shape.len() => {
                rest = true;
                // The axes skipped here are the ones the list leaves in the end.
                axis += dice.below(shape.len() - axis);
                Item::Rest
            }
            2 | 3 => {
                let mut bound = || (dice.below(3) > 0).then(|| dice.below(2 * n + 5) as i64 - n as i64 - 2);
                let (start, stop) = (bound(), bound());
                Item::Range(start, stop, [1, 1, 2, -1, -2][dice.below(5)])
            }
            4 => Item::At(dice.below(2 * n) as i64 - n as i64),
            5 | 6 => {
                let shape: Vec<usize> = common[dice.below(common.len() + 1)..]
                    .iter()
                    .map(|&n| if dice.below(4) == 0 { 1 } else { n })
                    .collect();
                let size: usize = shape.iter().product();
                Item::Indices(shape, (0..size).map(|_| dice.below(2 * n) as i64 - n as i64).collect())
            }
            7 if dice.below(3) == 0 => {
                let covered = shape[axis..(axis + 1 + dice.below(2)).min(shape.len())].to_vec();
                let size: usize = covered.iter().product();
                Item::Mask(covered, (0..size).map(|_| dice.below(2) == 0).collect())
            }
            _ => Item::Range(None, None, 1),
        };
        axis += item.covers();
        list.push(item);
    }
    list
}

/// Whether the index arrays of a list fit together; masks of different counts may not.
fn fits(shape: &[usize], items: &[Item]) -> bool {
    let used: usize = items.iter().map(Item::covers).sum();
    let mut axis = 0;
    for item in items {
        if let Item::Mask(covered, _) = item
            && shape.get(axis..axis + covered.len()) != Some(covered.as_slice())
        {
            return false;
        }
        if let Item::Indices(_, values) = item {
            let n = shape[axis] as i64;
            if values.iter().any(|v| !(-n..n).contains(v)) {
                return false;
            }
        }
        if let Item::At(at) = item
            && !(-(shape[axis] as i64)..shape[axis] as i64).contains(at)
        {
            return false;
        }
        axis += if matches!(item, Item::Rest) { shape.len() - used } else { item.covers() };
    }
    let mut common = Shape::scalar();
    for item in items {
        let own = match item {
            Item::Indices(shape, _) => Shape::from(shape.clone()),
            Item::Mask(_, holds) => Shape::from([holds.iter().filter(|h| **h).count()]),
            _ => continue,
        };
        match common.broadcast("test", &own) {
            Ok(joined) => common = joined,
            Err(_) => return false,
        }
    }
    true
}

#[test]
fn lists_of_indices_read_and_write_what_they_define() -> Result<()> {
    let (mut read, mut written, mut with_arrays) = (0, 0, 0);
    for seed in 0..4000 {
        let dice = &mut Dice(seed);
        let rank = 1 + dice.below(4);
        let stored: Vec<usize> = (0..rank).map(|_| 1 + dice.below(4)).collect();
        let base = Array::arange(stored.iter().product::<usize>() as i64).reshape(stored.as_slice());
        let x = match dice.below(3) {
            0 => base.t(),
            1 => base.flip(()),
            _ => base,
        };
        let shape = x.shape().dims().to_vec();
        let items = items(dice, &shape);
        if !fits(&shape, &items) {
            continue;
        }
        let list: Vec<Index> = items.iter().map(Item::index).collect();
        let (want, positions) = defined(&shape, &items);
        let elements = x.to_vec::<i64>()?;
        with_arrays += items.iter().any(Item::is_array) as usize;
        if dice.below(2) == 0 {
            let got = x.get(list);
            assert_eq!(got.shape().dims(), want, "seed {seed}");
            let values: Vec<i64> = positions.iter().map(|&p| elements[p]).collect();
            assert_eq!(got.to_vec::<i64>()?, values, "seed {seed}");
            read += 1;
        } else {
            let values: Vec<i64> = (0..positions.len() as i64).map(|i| 1000 + i).collect();
            let mut after = elements.clone();
            positions.iter().zip(&values).for_each(|(&p, &v)| after[p] = v);
            x.set(list, Array::from_vec(values, want))?;
            assert_eq!(x.to_vec::<i64>()?, after, "seed {seed}");
            written += 1;
        }
    }
    assert!(read > 1000 && written > 1000 && with_arrays > 1000, "{read} {written} {with_arrays}");
    Ok(())
}

#[test]
fn set_shows_in_views_and_spares_what_was_computed_before() -> Result<()> {
    let x = Array::zeros::<f32>([2, 3]);
    let (column, before) = (x.slice(s![.., 1]), &x + 1);
    x.set(s![&Array::from([0, 1]), 1], Array::from([5, 6]))?;
    assert_eq!(column.to_vec::<f32>()?, [5.0, 6.0]);
    assert_eq!(before.to_vec::<f32>()?, [1.0; 6]);
    column.set(Array::from([false, true]), 9)?;
    assert_eq!(x.to_vec::<f32>()?, [0.0, 5.0, 0.0, 0.0, 9.0, 0.0]);
    // The value may come from the array itself.
    x.set(Array::from([1, 0]), &x)?;
    assert_eq!(x.to_vec::<f32>()?, [0.0, 9.0, 0.0, 0.0, 5.0, 0.0]);
    Ok(())
}

#[test]
fn of_equal_indices_the_last_value_stays() -> Result<()> {
    let x = Array::zeros::<i32>([3]);
    x.set(Array::from([1, 1, -2, 0]), Array::from([1, 2, 3, 4]))?;
    assert_eq!(x.to_vec::<i32>()?, [4, 3, 0]);
    Ok(())
}

#[test]
fn scattered_sums_of_half_floats_round_once() -> Result<()> {
    let x = Array::full_dtype([1], 2048, DType::F16);
    let ones = Array::ones_dtype([2], DType::F16);
    let sum = x.scatter(&[&Array::from([0, 0])], &ones, Scatter::Add);
    assert_eq!(sum.astype(DType::F32).to_vec::<f32>()?, [2050.0]);
    Ok(())
}

#[test]
fn masks_without_axes_take_everything_or_nothing() -> Result<()> {
    let x = Array::arange(6).reshape([2, 3]);
    let (yes, no) = (Array::from(true), Array::from(false));
    assert_eq!(x.get(&yes).shape().dims(), [1, 2, 3]);
    assert_eq!(x.get(&yes).to_vec::<i64>()?, [0, 1, 2, 3, 4, 5]);
    assert_eq!(x.get(&no).shape().dims(), [0, 2, 3]);
    assert_eq!(Array::from(7).get(&yes).to_vec::<i32>()?, [7]);
    // Beside other indices, as NumPy has it.
    assert_eq!(x.get(s![&yes, 1]).to_vec::<i64>()?, [3, 4, 5]);
    assert_eq!(x.get(s![.., &no, 1]).shape().dims(), [2, 0]);
    assert_eq!(x.get(s![&Array::from([1, 0]), &yes]).to_vec::<i64>()?, [3, 4, 5, 0, 1, 2]);
    assert_eq!(x.get(s![&yes, .., &Array::from([2, 0])]).shape().dims(), [2, 2]);
    x.set(&no, 9)?;
    assert_eq!(x.to_vec::<i64>()?, [0, 1, 2, 3, 4, 5]);
    x.set(s![&yes, 1], 9)?;
    assert_eq!(x.to_vec::<i64>()?, [0, 1, 2, 9, 9, 9]);
    x.set(&yes, Array::from([7, 8, 9]))?;
    assert_eq!(x.to_vec::<i64>()?, [7, 8, 9, 7, 8, 9]);
    Ok(())
}

#[test]
fn mistakes_name_what_is_wrong() {
    let x = Array::arange(6).reshape([2, 3]);
    let mask = Array::from([true, false, true]);
    let far = Array::from([0u64, u64::MAX]);
    let cases = [
        (x.get(s![&mask]), "the mask has the lengths of the axes it covers"),
        (x.get(s![&Array::from([0.5])]), "get: f64 is not supported"),
        (x.get(s![&Array::from([2])]), "get: index 2 is out of range for axis 0 of length 2"),
        (x.get(s![.., &Array::from([-4])]), "index -4 is out of range for axis 1 of length 3"),
        (x.get(s![&Array::from([0]), 3]), "index 3 is out of range for axis 1 of length 3"),
        (x.get(s![&Array::from([0, 1]), &Array::from([0, 1, 2])]), "shapes [2] and [3] do not fit"),
        (x.get(s![0, 0, &Array::from([0])]), "3 indices and 0 ellipses for the 2 axes"),
        (x.compress(&Array::scalar(true), 0), "a mask without axes chooses no entries"),
        (x.slice(&mask), "use get or set"),
        (x.take(&far, 0), "out of range for axis 0 of length 2"),
        (x.take(&Array::from([0]), 2), "axis 2 is out of range"),
        (x.gather(&[]), "0 index arrays for the 2 axes"),
        (x.take_along_axis(&Array::from([0]), 0), "use take for entries along one axis"),
        (x.scatter(&[&Array::from([0])], Array::from([1, 2]), Scatter::Set), "do not fit"),
        (x.astype(DType::C64).scatter(&[&Array::from([0])], 1, Scatter::Max), "c64 is not supported"),
    ];
    for (array, what) in cases {
        let error = array.check().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        assert!(error.contains("indexing.rs"), "{error}");
    }
    let error = x.set(&mask, 1).unwrap_err().to_string();
    assert!(error.contains("the mask has the lengths"), "{error}");
    let error = x.set(Array::from([0]), Array::from([1, 2])).unwrap_err().to_string();
    assert!(error.contains("must broadcast to the shape"), "{error}");
    let repeated = Array::from([1, 2]).broadcast_to([2, 2]);
    assert!(repeated.set(Array::from([0]), 1).is_err());
}

#[test]
fn nothing_can_be_read_and_written() -> Result<()> {
    let empty = Array::zeros::<f32>([0, 3]);
    let none = Array::from_vec(Vec::<i64>::new(), [0]);
    assert_eq!(empty.get(&none).shape().dims(), [0, 3]);
    assert_eq!(empty.get(s![.., &Array::from([0, 2])]).shape().dims(), [0, 2]);
    empty.set(&none, 5)?;
    let x = Array::arange(3);
    assert_eq!(x.get(Array::from([false, false, false])).to_vec::<i64>()?, []);
    x.set(&none, 7)?;
    assert_eq!(x.to_vec::<i64>()?, [0, 1, 2]);
    assert!(empty.get(Array::from([0])).check().is_err());
    assert_eq!(x.nonzero()?[0].to_vec::<i64>()?, [1, 2]);
    assert!(Array::scalar(1).nonzero().is_err());
    Ok(())
}

#[test]
fn the_range_of_indices_is_remembered_for_the_whole_array_alone() {
    let x = Array::from([10, 20, 30]);
    let at = Array::from([2i64, 0, 9]);
    let inside = at.slice(s![0..2]);
    assert_eq!(x.take(&inside, 0).to_vec::<i32>().unwrap(), [30, 10]);
    for _ in 0..2 {
        let error = x.take(&at, 0).to_vec::<i32>().unwrap_err().to_string();
        assert!(error.contains("index 9 is out of range"), "{error}");
        assert_eq!(x.take(&inside, 0).to_vec::<i32>().unwrap(), [30, 10]);
    }
    // Another axis is another limit.
    let longer = Array::arange(10);
    assert_eq!(longer.take(&at, 0).to_vec::<i64>().unwrap(), [2, 0, 9]);
}

#[test]
fn clipped_indices_are_those_of_the_nearest_end() {
    let x = Array::from([[1, 2], [3, 4], [5, 6]]);
    let taken = |indices: &Array, axis| x.take_clipped(indices, axis).to_vec::<i32>();
    assert_eq!(taken(&Array::from([-5i64, 1, 9]), 0).unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(taken(&Array::from([u64::MAX, 0]), 1).unwrap(), [2, 1, 4, 3, 6, 5]);
    assert_eq!(taken(&Array::from([i8::MIN]), -1).unwrap(), [1, 3, 5]);
    assert!(
        taken(&Array::from([1.0f32]), 0).unwrap_err().to_string().contains("take_clipped: indices of f32")
    );
    assert!(taken(&Array::from([0i64]), 2).is_err());
    let nothing = Array::zeros::<f32>([0, 4]);
    assert!(nothing.take_clipped(&Array::from([0i64]), 0).check().is_err(), "there is no end to take");
    assert_eq!(nothing.take_clipped(&Array::zeros::<i64>([0]), 0).shape().dims(), [0, 4]);
}
