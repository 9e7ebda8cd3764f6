//! The macro that compiles every tile function for one set of instructions, and the tables that find them.

use crossover_core::{
    DType,
    ops::{Cost, NanRule, OpInfo},
};

/// A tile function where an op allows a dtype.
macro_rules! pick {
    ($allows:ident, $info:expr, $dtype:ident, $f:expr) => {
        const { if $allows($info, DType::$dtype) { Some($f as TileFn) } else { None } }
    };
}

/// One `match` over the dtypes tiles hold.
macro_rules! by_dtype {
    ($dtype:expr, $allows:ident $info:expr, $f:ident::<$op:ty> [$($d:ident $t:ty),*]) => {
        match $dtype {
            $(DType::$d => pick!($allows, $info, $d, $f::<$op, $t>),)*
            _ => None,
        }
    };
    ($dtype:expr, $allows:ident $info:expr, $f:ident::<$op:ty, $v:tt> [$($d:ident $t:ty),*]) => {
        match $dtype {
            $(DType::$d => pick!($allows, $info, $d, $f::<$op, $t, $v>),)*
            _ => None,
        }
    };
}

/// The function of one op, by class.
macro_rules! entry {
    (unary $op:ty, $dtype:expr, $form:expr) => {
        by_dtype!($dtype, vectors <$op as Unary>::INFO, unary::<$op> [
            Bool Truth, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
            F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>
        ])
    };
    (binary $op:ty, $dtype:expr, $form:expr) => {
        match $form {
            Form::Vectors => by_dtype!($dtype, vectors <$op as Binary>::INFO, binary::<$op, {body::VV}> [
                Bool Truth, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
                F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>
            ]),
            Form::ScalarRight => by_dtype!($dtype, scalar_right <$op as Binary>::INFO, binary::<$op, {body::VS}> [
                I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
                F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>
            ]),
            Form::ScalarLeft => by_dtype!($dtype, scalar_left <$op as Binary>::INFO, binary::<$op, {body::SV}> [
                I32 i32, I64 i64, F32 f32, F64 f64
            ]),
        }
    };
    (compare $op:ty, $dtype:expr, $form:expr) => {
        match $form {
            Form::Vectors => by_dtype!($dtype, vectors <$op as Compare>::INFO, compare::<$op, {body::VV}> [
                Bool Truth, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
                F32 f32, F64 f64, C64 Complex<f32>, C128 Complex<f64>
            ]),
            Form::ScalarRight => by_dtype!($dtype, vectors <$op as Compare>::INFO, compare::<$op, {body::VS}> [
                I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64
            ]),
            Form::ScalarLeft => None,
        }
    };
    (ternary $op:ty, $dtype:expr, $form:expr) => {
        by_dtype!($dtype, vectors <$op as Ternary>::INFO, ternary::<$op> [
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64
        ])
    };
    (part $op:ty, $dtype:expr, $form:expr) => {
        by_dtype!($dtype, vectors <$op as Part>::INFO, part::<$op> [C64 Complex<f32>, C128 Complex<f64>])
    };
}

/// `map`, generated from the table of ops.
macro_rules! map_table {
    ($($class:ident $op:ident $module:ident;)*) => {
        fn map(op: MapOp, dtype: DType, form: Form) -> Option<TileFn> {
            match op {
                $(MapOp::$op => entry!($class ops::$module::$op, dtype, form),)*
            }
        }
    };
}

/// The function of one op whose NaNs are made canonical on the way.
macro_rules! visible_entry {
    (unary $op:ty, $dtype:expr, $form:expr) => {
        by_dtype!($dtype, visibly_alone <$op as Unary>::INFO, visible_unary::<$op> [F32 f32, F64 f64])
    };
    (binary $op:ty, $dtype:expr, $form:expr) => {
        match $form {
            Form::Vectors => by_dtype!($dtype, visibly <$op as Binary>::INFO, visible_binary::<$op, {body::VV}> [
                F32 f32, F64 f64
            ]),
            Form::ScalarRight => by_dtype!($dtype, visibly <$op as Binary>::INFO, visible_binary::<$op, {body::VS}> [
                F32 f32, F64 f64
            ]),
            Form::ScalarLeft => by_dtype!($dtype, visibly_left <$op as Binary>::INFO, visible_binary::<$op, {body::SV}> [
                F32 f32, F64 f64
            ]),
        }
    };
    ($class:ident $op:ty, $dtype:expr, $form:expr) => {
        None
    };
}

/// `visible`, generated from the table of ops.
macro_rules! visible_table {
    ($($class:ident $op:ident $module:ident;)*) => {
        fn visible(op: MapOp, dtype: DType, form: Form) -> Option<TileFn> {
            match op {
                $(MapOp::$op => visible_entry!($class ops::$module::$op, dtype, form),)*
            }
        }
    };
}

/// `cast`, generated from the table of conversions.
macro_rules! cast_table {
    ($(to_all $d:ident $t:ident;)* $(one $fd:ident $ft:ident $td:ident $tt:ident;)*) => {
        fn plain(from: DType, to: DType) -> Option<TileFn> {
            match (from, to) {
                $(
                    (DType::$d, DType::Bool) => Some(convert::<$t, Truth>),
                    (DType::$d, DType::I8) => Some(convert::<$t, i8>),
                    (DType::$d, DType::I16) => Some(convert::<$t, i16>),
                    (DType::$d, DType::I32) => Some(convert::<$t, i32>),
                    (DType::$d, DType::I64) => Some(convert::<$t, i64>),
                    (DType::$d, DType::U8) => Some(convert::<$t, u8>),
                    (DType::$d, DType::U16) => Some(convert::<$t, u16>),
                    (DType::$d, DType::U32) => Some(convert::<$t, u32>),
                    (DType::$d, DType::U64) => Some(convert::<$t, u64>),
                    (DType::$d, DType::F32) => Some(convert::<$t, f32>),
                    (DType::$d, DType::F64) => Some(convert::<$t, f64>),
                )*
                $((DType::$fd, DType::$td) => Some(convert::<$ft, $tt>),)*
                // A conversion to itself; paths do not contain it, but it is defined.
                (DType::C64, DType::C64) => Some(copy::<u64>),
                (DType::C128, DType::C128) => Some(copy::<Wide>),
                _ => None,
            }
        }
    };
}

/// One function per element size.
macro_rules! by_size {
    ($size:expr, $f:ident $(, $v:tt)*) => {
        match $size {
            1 => $f::<u8 $(, $v)*>,
            2 => $f::<u16 $(, $v)*>,
            4 => $f::<u32 $(, $v)*>,
            8 => $f::<u64 $(, $v)*>,
            _ => $f::<Wide $(, $v)*>,
        }
    };
}

/// A reduction by op and dtype; booleans order as bytes.
macro_rules! by_reduction {
    ($op:expr, $dtype:expr, $f:ident) => {
        match ($op, $dtype) {
            (ReduceOp::Sum, _) => by_reduction!(@number $dtype, $f, ops::add::Add),
            (ReduceOp::Prod, _) => by_reduction!(@number $dtype, $f, ops::multiply::Multiply),
            (ReduceOp::Min | ReduceOp::ArgMin, _) => by_reduction!(@real $dtype, $f, ops::minimum::Minimum),
            (ReduceOp::Max | ReduceOp::ArgMax, _) => by_reduction!(@real $dtype, $f, ops::maximum::Maximum),
        }
    };
    (@number $dtype:expr, $f:ident, $op:ty) => {
        match $dtype {
            DType::C64 => Some($f::<$op, Complex<f32>> as _),
            DType::C128 => Some($f::<$op, Complex<f64>> as _),
            DType::Bool => None,
            _ => by_reduction!(@real $dtype, $f, $op),
        }
    };
    (@real $dtype:expr, $f:ident, $op:ty) => {
        match $dtype {
            DType::Bool | DType::U8 => Some($f::<$op, u8> as _),
            DType::I8 => Some($f::<$op, i8> as _),
            DType::I16 => Some($f::<$op, i16> as _),
            DType::I32 => Some($f::<$op, i32> as _),
            DType::I64 => Some($f::<$op, i64> as _),
            DType::U16 => Some($f::<$op, u16> as _),
            DType::U32 => Some($f::<$op, u32> as _),
            DType::U64 => Some($f::<$op, u64> as _),
            DType::F32 => Some($f::<$op, f32> as _),
            DType::F64 => Some($f::<$op, f64> as _),
            _ => None,
        }
    };
}

/// `arg_columns` by dtype.
macro_rules! by_order {
    ($dtype:expr, $max:tt, $same:tt) => {
        match $dtype {
            DType::Bool | DType::U8 => Some(arg_columns::<u8, $max, $same> as ArgColumnsFn),
            DType::I8 => Some(arg_columns::<i8, $max, $same>),
            DType::I16 => Some(arg_columns::<i16, $max, $same>),
            DType::I32 => Some(arg_columns::<i32, $max, $same>),
            DType::I64 => Some(arg_columns::<i64, $max, $same>),
            DType::U16 => Some(arg_columns::<u16, $max, $same>),
            DType::U32 => Some(arg_columns::<u32, $max, $same>),
            DType::U64 => Some(arg_columns::<u64, $max, $same>),
            DType::F32 => Some(arg_columns::<f32, $max, $same>),
            DType::F64 => Some(arg_columns::<f64, $max, $same>),
            _ => None,
        }
    };
}

/// An elementwise function with the operands it uses.
macro_rules! tile_fn {
    ([$(#[$feature:meta])*] $name:ident [$($generic:tt)*] (a) $($body:tt)*) => {
        $(#[$feature])*
        unsafe fn $name<$($generic)*>(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) {
            // SAFETY: see `level`.
            unsafe { $($body)*(a, out, n) }
        }
    };
    ([$(#[$feature:meta])*] $name:ident [$($generic:tt)*] (a, b) $($body:tt)*) => {
        $(#[$feature])*
        unsafe fn $name<$($generic)*>(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) {
            // SAFETY: see `level`.
            unsafe { $($body)*(a, b, out, n) }
        }
    };
    ([$(#[$feature:meta])*] $name:ident [$($generic:tt)*] (a, b, c) $($body:tt)*) => {
        $(#[$feature])*
        unsafe fn $name<$($generic)*>(a: *const u8, b: *const u8, c: *const u8, out: *mut u8, n: usize) {
            // SAFETY: see `level`.
            unsafe { $($body)*(a, b, c, out, n) }
        }
    };
}

/// A function over rows.
macro_rules! rows_fn {
    ([$(#[$feature:meta])*] $name:ident [$($generic:tt)*] $($body:tt)*) => {
        $(#[$feature])*
        unsafe fn $name<$($generic)*>(from: *const u8, out: *mut u8, rows: usize, n: usize) {
            // SAFETY: see `level`.
            unsafe { $($body)*(from, out, rows, n) }
        }
    };
}

/// A reduction of rows.
macro_rules! reduce_fn {
    ([$(#[$feature:meta])*] $name:ident $($body:tt)*) => {
        $(#[$feature])*
        unsafe fn $name<O: Apply2<T>, T: Copy>(from: *const u8, out: *mut u8, rows: usize, n: usize) {
            // SAFETY: see `level`.
            unsafe { $($body)*(from, out, rows, n) }
        }
    };
}

/// Every tile function and table of one level: the bytes of its vectors, and an attribute that names its instructions.
macro_rules! level {
    ($vector:literal $(#[$feature:meta])*) => {
        use crossover_core::{
            DType,
            lane::FloatLane,
            ops::{
                self, Apply1, Apply2, Apply3, ApplyCompare, ApplyPart, Binary, Compare, MapOp, Part, Ternary,
                Truth, Unary, cast, cast::CastTo, reduce::ReduceOp,
            },
        };
        use num_complex::Complex;

        use super::level::{Wide, scalar_left, scalar_right, vectors, visibly, visibly_alone, visibly_left};
        use super::{
            ArgColumnsFn, ArgRowsFn, ColumnsFn, Form, GatherFn, InterleaveFn, ReduceFn, RowsFn, ScatterFn, TileFn, Tiles, body, extreme, movement, reduction,
            reduction::Ordered, sequence,
        };

        #[allow(non_camel_case_types)]
        type c64 = Complex<f32>;
        #[allow(non_camel_case_types)]
        type c128 = Complex<f64>;

        // SAFETY of every function below: the contract of the body it calls, and a processor that has the
        // instructions, which whoever chose the level has checked.
        tile_fn!([$(#[$feature])*] unary [O: Apply1<T>, T: Copy] (a) body::unary::<O, T>);
        tile_fn!([$(#[$feature])*] part [O: ApplyPart<T>, T: Copy] (a) body::part::<O, T>);
        tile_fn!([$(#[$feature])*] convert [A: CastTo<R> + Copy, R: Copy] (a) body::convert::<A, R>);
        tile_fn!([$(#[$feature])*] odd [] (a) body::odd);
        tile_fn!([$(#[$feature])*] half [const F16: bool, const STEP: u8] (a) body::half::<F16, STEP>);
        tile_fn!([$(#[$feature])*] fill [E: Copy] (a) movement::fill::<E>);
        tile_fn!([$(#[$feature])*] copy [E: Copy] (a) movement::copy::<E>);
        tile_fn!([$(#[$feature])*] binary [O: Apply2<T>, T: Copy, const V: u8] (a, b) body::binary::<O, T, V>);
        tile_fn!([$(#[$feature])*] compare [O: ApplyCompare<T>, T: Copy, const V: u8] (a, b) body::compare::<O, T, V>);
        tile_fn!([$(#[$feature])*] visible_unary [O: Apply1<T>, T: FloatLane] (a) body::visible_unary::<O, T>);
        tile_fn!([$(#[$feature])*] visible_binary [O: Apply2<T>, T: FloatLane, const V: u8] (a, b) body::visible_binary::<O, T, V>);
        tile_fn!([$(#[$feature])*] divide_by [F: body::Reciprocal, const VISIBLE: bool] (a, b) body::divide_by::<F, VISIBLE>);
        tile_fn!([$(#[$feature])*] ternary [O: Apply3<T>, T: Copy] (a, b, c) body::ternary::<O, T>);
        tile_fn!([$(#[$feature])*] select [E: Copy, const YES: bool, const NO: bool] (a, b, c) body::select::<E, YES, NO>);

        $(#[$feature])*
        unsafe fn canonical<F: FloatLane, const PARTS: usize>(
            a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize,
        ) {
            // SAFETY: see above.
            unsafe { body::canonical::<F>(a, out, n * PARTS) }
        }

        $(#[$feature])*
        unsafe fn gather<E: Copy>(from: *const u8, stride: isize, out: *mut u8, n: usize) {
            // SAFETY: see above.
            unsafe { movement::gather::<E>(from, stride, out, n) }
        }

        $(#[$feature])*
        unsafe fn scatter<E: Copy>(from: *const u8, out: *mut u8, stride: isize, n: usize) {
            // SAFETY: see above.
            unsafe { movement::scatter::<E>(from, out, stride, n) }
        }

        $(#[$feature])*
        unsafe fn interleave<E: Copy>(a: *const u8, b: *const u8, out: *mut u8, n: usize) {
            // SAFETY: see above.
            unsafe { movement::interleave::<E>(a, b, out, n) }
        }

        rows_fn!([$(#[$feature])*] repeat_each [E: Copy] movement::repeat_each::<E>);
        rows_fn!([$(#[$feature])*] repeat_all [E: Copy] movement::repeat_all::<E>);
        reduce_fn!([$(#[$feature])*] long_rows reduction::rows::<O, T, $vector>);
        reduce_fn!([$(#[$feature])*] short_rows reduction::short_rows::<O, T>);

        $(#[$feature])*
        unsafe fn extremes<O: Apply2<T>, T: extreme::Extreme, const MAX: bool>(
            from: *const u8, out: *mut u8, rows: usize, n: usize,
        ) {
            // SAFETY: see above.
            unsafe { extreme::rows::<O, T, MAX, $vector>(from, out, rows, n) }
        }

        $(#[$feature])*
        unsafe fn truths<const ANY: bool>(from: *const u8, out: *mut u8, rows: usize, n: usize) {
            // SAFETY: see above.
            unsafe { extreme::truths::<ANY>(from, out, rows, n) }
        }

        $(#[$feature])*
        unsafe fn columns<O: Apply2<T>, T: Copy>(
            from: *const u8, pitch: isize, sums: *mut u8, rows: usize, n: usize,
        ) {
            // SAFETY: see above.
            unsafe { reduction::columns::<O, T>(from, pitch, sums, rows, n) }
        }

        $(#[$feature])*
        unsafe fn arg_rows<O: Apply2<T>, T: Ordered>(
            from: *const u8, best: *mut u8, at: *mut i64, rows: usize, n: usize,
        ) {
            // SAFETY: see above.
            unsafe { reduction::arg_rows::<O, T>(from, best, at, rows, n) }
        }

        $(#[$feature])*
        unsafe fn arg_columns<T: Ordered, const MAX: bool, const SAME: bool>(
            from: *const u8, index: *const i64, best: *mut u8, at: *mut i64, n: usize,
        ) {
            // SAFETY: see above.
            unsafe { reduction::arg_columns::<T, MAX, SAME>(from, index, best, at, n) }
        }

        $(#[$feature])*
        unsafe fn indices(start: i64, step: i64, divisor: i64, modulus: i64, out: *mut u8, n: usize) {
            // SAFETY: see above.
            unsafe { sequence::indices(start, step, divisor, modulus, out, n) }
        }

        $(#[$feature])*
        unsafe fn random(start: u64, step: i64, stream: u32, key: *const u32, out: *mut u8, n: usize) {
            // SAFETY: see above.
            unsafe { sequence::random(start, step, stream, key, out, n) }
        }

        crossover_core::for_each_op!(map_table);
        crossover_core::for_each_op!(visible_table);
        crossover_core::for_each_cast!(cast_table);

        fn cast_step(step: cast::Step) -> Option<TileFn> {
            match step {
                cast::Step::Plain(from, to) => plain(from, to),
                cast::Step::Odd => Some(odd),
                cast::Step::Round(DType::F16) => Some(half::<true, { body::ROUND }>),
                cast::Step::Round(DType::BF16) => Some(half::<false, { body::ROUND }>),
                cast::Step::Round(_) => None,
            }
        }

        fn half_memory(dtype: DType, read: bool) -> Option<TileFn> {
            match (dtype, read) {
                (DType::F16, true) => Some(half::<true, { body::WIDEN }>),
                (DType::F16, false) => Some(half::<true, { body::NARROW }>),
                (DType::BF16, true) => Some(half::<false, { body::WIDEN }>),
                (DType::BF16, false) => Some(half::<false, { body::NARROW }>),
                _ => None,
            }
        }

        fn canonical_of(dtype: DType) -> Option<TileFn> {
            match dtype {
                DType::F32 => Some(canonical::<f32, 1>),
                DType::F64 => Some(canonical::<f64, 1>),
                DType::C64 => Some(canonical::<f32, 2>),
                DType::C128 => Some(canonical::<f64, 2>),
                _ => None,
            }
        }

        fn select_of(size: usize, yes: bool, no: bool) -> TileFn {
            match (yes, no) {
                (false, false) => by_size!(size, select, false, false),
                (false, true) => by_size!(size, select, false, true),
                (true, false) => by_size!(size, select, true, false),
                (true, true) => by_size!(size, select, true, true),
            }
        }

        fn arg_columns_of(op: ReduceOp, dtype: DType, same: bool) -> Option<ArgColumnsFn> {
            match (op, same) {
                (ReduceOp::ArgMax, true) => by_order!(dtype, true, true),
                (ReduceOp::ArgMax, false) => by_order!(dtype, true, false),
                (_, true) => by_order!(dtype, false, true),
                (_, false) => by_order!(dtype, false, false),
            }
        }

        fn divide_by_of(dtype: DType, visible: bool) -> Option<TileFn> {
            match (dtype, visible) {
                (DType::F32, false) => Some(divide_by::<f32, false>),
                (DType::F64, false) => Some(divide_by::<f64, false>),
                (DType::F32, true) => Some(divide_by::<f32, true>),
                (DType::F64, true) => Some(divide_by::<f64, true>),
                _ => None,
            }
        }

        fn rows_of(op: ReduceOp, dtype: DType, n: usize) -> Option<ReduceFn> {
            match (n, op, dtype) {
                (0..=reduction::SHORT, ..) => by_reduction!(op, dtype, short_rows),
                (_, ReduceOp::Min, DType::Bool) => Some(truths::<false>),
                (_, ReduceOp::Max, DType::Bool) => Some(truths::<true>),
                (_, ReduceOp::Min, DType::F32) => Some(extremes::<ops::minimum::Minimum, f32, false>),
                (_, ReduceOp::Min, DType::F64) => Some(extremes::<ops::minimum::Minimum, f64, false>),
                (_, ReduceOp::Max, DType::F32) => Some(extremes::<ops::maximum::Maximum, f32, true>),
                (_, ReduceOp::Max, DType::F64) => Some(extremes::<ops::maximum::Maximum, f64, true>),
                _ => by_reduction!(op, dtype, long_rows),
            }
        }

        fn columns_of(op: ReduceOp, dtype: DType) -> Option<ColumnsFn> {
            by_reduction!(op, dtype, columns)
        }

        fn arg_rows_of(op: ReduceOp, dtype: DType) -> Option<ArgRowsFn> {
            match op {
                ReduceOp::ArgMin => by_reduction!(@real dtype, arg_rows, ops::minimum::Minimum),
                ReduceOp::ArgMax => by_reduction!(@real dtype, arg_rows, ops::maximum::Maximum),
                _ => None,
            }
        }

        fn fill_of(size: usize) -> TileFn {
            by_size!(size, fill)
        }

        fn copy_of(size: usize) -> TileFn {
            by_size!(size, copy)
        }

        fn gather_of(size: usize) -> GatherFn {
            by_size!(size, gather)
        }

        fn scatter_of(size: usize) -> ScatterFn {
            by_size!(size, scatter)
        }

        fn interleave_of(size: usize) -> InterleaveFn {
            by_size!(size, interleave)
        }

        fn repeat_each_of(size: usize) -> RowsFn {
            by_size!(size, repeat_each)
        }

        fn repeat_all_of(size: usize) -> RowsFn {
            by_size!(size, repeat_all)
        }

        /// The functions of this level.
        pub static TILES: Tiles = Tiles {
            map,
            visible,
            divide_by: divide_by_of,
            cast: cast_step,
            half: half_memory,
            canonical: canonical_of,
            select: select_of,
            fill: fill_of,
            copy: copy_of,
            gather: gather_of,
            scatter: scatter_of,
            interleave: interleave_of,
            repeat_each: repeat_each_of,
            repeat_all: repeat_all_of,
            rows: rows_of,
            columns: columns_of,
            arg_rows: arg_rows_of,
            arg_columns: arg_columns_of,
            index: indices,
            random,
        };
    };
}

/// Whether an op has a loop over vectors of a dtype.
pub(super) const fn vectors(info: OpInfo, dtype: DType) -> bool {
    info.dtypes.contains(dtype)
}

/// Whether a variant with a scalar second operand is compiled: for cheap ops, where filling a tile would show.
pub(super) const fn scalar_right(info: OpInfo, dtype: DType) -> bool {
    let cheap = match info.cost {
        Cost::Simple => true,
        Cost::Divide => dtype.is_float(),
        _ => false,
    };
    cheap && info.dtypes.contains(dtype)
}

/// As [`scalar_right`] for the first operand; commutative ops swap their operands instead.
pub(super) const fn scalar_left(info: OpInfo, dtype: DType) -> bool {
    !info.facts.commutative && scalar_right(info, dtype)
}

/// Whether an op also has a loop that makes NaNs canonical on the way: where its NaNs are arithmetic ones, and it is so cheap that going over the
/// results once more would show.
pub(super) const fn visibly(info: OpInfo, dtype: DType) -> bool {
    let cheap = matches!(info.cost, Cost::Simple | Cost::Divide);
    cheap && matches!(info.nan, NanRule::Arithmetic) && info.dtypes.contains(dtype)
}

/// As [`visibly`] for one operand. A square root is left out: the compiler takes a NaN chosen for what has none for the one that the instruction makes,
/// whose sign is another.
pub(super) const fn visibly_alone(info: OpInfo, dtype: DType) -> bool {
    visibly(info, dtype) && matches!(info.cost, Cost::Simple)
}

/// As [`visibly`] with a scalar for the first operand.
pub(super) const fn visibly_left(info: OpInfo, dtype: DType) -> bool {
    visibly(info, dtype) && scalar_left(info, dtype)
}

/// An element of 16 bytes, aligned as a complex number is.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Wide(u64, u64);
