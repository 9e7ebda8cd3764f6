//! What depends on an order: `sort`, `argsort` and `searchsorted`, and the radix passes that scatters use too.

use crossover_core::DType;
use crossover_plan::kernel::Call;

use super::{
    program::{Cells, Program, Room, Step, blocks},
    views::{Views, index_type, is_wide, moved, without},
};

const VIEWS: &str = include_str!("../kernels/views.cuh");
const ORDER: &str = include_str!("../kernels/order.cuh");
pub(super) const RADIX: &str = include_str!("../kernels/radix.cu");
const SORT: &str = include_str!("../kernels/sort.cu");
const SEARCH: &str = include_str!("../kernels/search.cu");

/// Lines up to this length are sorted in shared memory.
const SHORT: usize = 1024;
/// Bits of a digit, and values it has.
const BITS: u32 = 8;
const DIGITS: usize = 1 << BITS;

/// Stable radix sorting of lines in scratch memory: two sides of keys and of what goes with them.
#[derive(Debug)]
pub(super) struct Radix {
    pub(super) lines: usize,
    pub(super) length: usize,
    wide: bool,
    tile: usize,
    keys: [usize; 2],
    pays: [usize; 2],
    counts: usize,
    totals: usize,
    /// The side that holds the elements now.
    side: usize,
}

impl Radix {
    /// Keys of `key` bytes and companions of `pay` bytes.
    pub(super) fn new(
        room: &mut Room,
        (lines, length): (usize, usize),
        (key, pay): (usize, usize),
        wide: bool,
    ) -> Radix {
        let (size, tile) = (lines * length, 256 * Radix::items(key));
        let counts = lines * DIGITS * length.div_ceil(tile);
        Radix {
            lines,
            length,
            wide,
            tile,
            keys: [room.take(size * key), room.take(size * key)],
            pays: [room.take(size * pay), room.take(size * pay)],
            counts: room.take(4 * counts),
            totals: room.take(4 * lines * DIGITS),
            side: 0,
        }
    }

    /// Elements of a thread: with both sides of a tile in shared memory, as many as fit there.
    fn items(key: usize) -> usize {
        if key > 4 { 8 } else { 16 }
    }

    /// The types that the text of the passes wants.
    pub(super) fn types(key: usize, pay: usize) -> String {
        let (items, key_type, pay_type) = (Radix::items(key), moved(key), moved(pay));
        format!("typedef {key_type} key_t;\ntypedef {pay_type} pay_t;\nconstexpr int ITEMS = {items};\n")
    }

    /// Where keys are, or are to be written.
    pub(super) fn keys(&self) -> usize {
        self.keys[self.side]
    }

    /// Where companions are, or are to be written.
    pub(super) fn pays(&self) -> usize {
        self.pays[self.side]
    }

    /// Passes over the lowest bits of the keys.
    pub(super) fn sort(&mut self, bits: u32, steps: &mut Vec<Step>) {
        let tiles = self.length.div_ceil(self.tile);
        let sizes = [self.length as isize, tiles as isize];
        for shift in (0..bits).step_by(BITS as usize) {
            let (from, to) = (self.side, 1 - self.side);
            let shift = shift as i32;
            let cells = Cells::new(self.wide).scratch(self.keys[from]).scratch(self.counts);
            steps.push(cells.indices(&sizes).int(shift).step("radix_count", self.lines * tiles, 256));
            let cells = Cells::new(self.wide).scratch(self.counts).scratch(self.totals);
            steps.push(cells.indices(&sizes[1..]).step("radix_scan", self.lines * DIGITS, 32));
            let cells = Cells::new(self.wide)
                .scratch(self.keys[from])
                .scratch(self.pays[from])
                .scratch(self.keys[to])
                .scratch(self.pays[to])
                .scratch(self.counts)
                .scratch(self.totals);
            steps.push(cells.indices(&sizes).int(shift).step("radix_place", self.lines * tiles, 256));
            self.side = to;
        }
    }
}

/// How elements of a dtype are ordered, as constants of the text.
fn ordering(dtype: DType) -> String {
    let real = dtype.real();
    let size = real.size();
    let infinite: u64 = match real {
        DType::F16 => 0x7c00,
        DType::BF16 => 0x7f80,
        DType::F32 => 0x7f80_0000,
        DType::F64 => 0x7ff0_0000_0000_0000,
        _ => 0,
    };
    let flip = if real.is_signed_int() { 1u64 << (8 * size - 1) } else { 0 };
    let parts = if dtype.is_complex() { 2 } else { 1 };
    format!(
        "typedef {} bits_t;\nconstexpr bits_t INFINITE = {infinite:#x}ull, FLIP = {flip:#x}ull;\n\
         constexpr int PARTS = {parts};\n\n{ORDER}\n",
        moved(size)
    )
}

/// `sort` and `argsort`; `None` for lines that are too long to be counted in 32 bits.
pub(super) fn sort(call: &Call, axis: usize, descending: bool, indices: bool) -> Option<Program> {
    let (source, wide) = (&call.operands[0], is_wide(call));
    let dims = source.layout.shape.dims();
    let length = dims[axis];
    if length > i32::MAX as usize {
        return None;
    }
    let others = without(dims, axis);
    let views =
        Views::new(&others, [&without(&source.layout.strides, axis), &without(&call.layout.strides, axis)]);
    let lines = views.size();
    let strides = [source.layout.strides[axis], call.layout.strides[axis]];
    let dtype = source.dtype;
    let start = source.layout.offset * dtype.size();
    let mut text = format!(
        "typedef {} index_t;\n\n{VIEWS}\n{}constexpr int RANK = {};\nconstexpr bool DESCENDING = {descending};\n",
        index_type(wide),
        ordering(dtype),
        views.rank()
    );
    if indices {
        text.push_str("#define INDICES\n");
    }
    if length <= SHORT {
        let span = length.next_power_of_two().max(2);
        text.push_str(&format!("#define SHORT\nconstexpr int SPAN = {span};\n\n{SORT}"));
        let cells = Cells::new(wide).input(0, start).output().views(&views);
        let cells = cells.indices(&[lines as isize, length as isize, strides[0], strides[1]]);
        let step = cells.step("sort_short", lines.div_ceil(SHORT / span).min(1 << 16), 512);
        return Some(Program { text, scratch: 0, steps: vec![step] });
    }
    let part = dtype.real().size();
    let carries = !indices && !dtype.is_complex();
    let (key, pay) = (part.max(4), if carries { part.max(4) } else { 4 });
    let mut room = Room::default();
    let mut radix = Radix::new(&mut room, (lines, length), (key, pay), wide);
    if carries {
        text.push_str("#define CARRIES_ELEMENT\n");
    }
    text.push_str(&format!("{}\n{RADIX}\n{SORT}", Radix::types(key, pay)));
    let sizes = [lines as isize, length as isize, strides[0]];
    let words = if dtype.is_complex() { 3 } else { 1 };
    let mut steps = Vec::new();
    for word in 0..words {
        let cells = Cells::new(wide).input(0, start).scratch(radix.keys()).scratch(radix.pays());
        let cells = cells.scratch(radix.pays()).views(&views).indices(&sizes).int(word);
        steps.push(cells.step("sort_keys", blocks(lines * length, 256, 4), 256));
        radix.sort(if word == 2 { 2 } else { 8 * part as u32 }, &mut steps);
    }
    let cells = Cells::new(wide).input(0, start).scratch(radix.pays()).output().views(&views);
    let cells = cells.indices(&sizes).indices(&strides[1..]);
    steps.push(cells.step("sort_finish", blocks(lines * length, 256, 4), 256));
    Some(Program { text, scratch: room.bytes(), steps })
}

/// `searchsorted`.
pub(super) fn search(call: &Call, right: bool) -> Program {
    let (line, values, wide) = (&call.operands[0], &call.operands[1], is_wide(call));
    let view = Views::new(values.layout.shape.dims(), [&values.layout.strides]);
    let (size, count) = (values.dtype.size(), call.layout.shape.size());
    let cells = Cells::new(wide)
        .input(0, line.layout.offset * size)
        .input(1, values.layout.offset * size)
        .output()
        .views(&view)
        .indices(&[line.layout.strides[0], line.layout.shape[0] as isize, count as isize]);
    let text = format!(
        "typedef {} index_t;\n\n{VIEWS}\n{}constexpr int RANK = {};\nconstexpr bool RIGHT = {right};\n\n{SEARCH}",
        index_type(wide),
        ordering(values.dtype),
        view.rank()
    );
    Program { text, scratch: 0, steps: vec![cells.step("search", blocks(count, 256, 2), 256)] }
}
