//! One x86 instruction in AT&T syntax, and whether it is packed work.

/// One line of a disassembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// Where it lies.
    pub address: u64,
    /// Such as `vaddps`.
    pub mnemonic: &'a str,
    /// Such as `%zmm0,%zmm1,%zmm2`.
    pub operands: &'a str,
}

/// The widest vector register an instruction names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// 256 bits.
    Ymm,
    /// 512 bits.
    Zmm,
}

/// Stems of packed floating-point work; a type suffix (`ps`, `pd`, `ph`) follows.
const FLOAT: [&str; 27] = [
    "vadd",
    "vsub",
    "vmul",
    "vdiv",
    "vsqrt",
    "vmin",
    "vmax",
    "vand",
    "vandn",
    "vor",
    "vxor",
    "vcmp",
    "vround",
    "vrndscale",
    "vfmadd",
    "vfmsub",
    "vfnmadd",
    "vfnmsub",
    "vrange",
    "vreduce",
    "vgetexp",
    "vgetmant",
    "vscalef",
    "vfixupimm",
    "vblend",
    "vhadd",
    "vrsqrt",
];

/// Stems of packed integer work; an element suffix (`b`, `w`, `d`, `q`) follows or is part of the stem.
const INTEGER: [&str; 26] = [
    "vpadd",
    "vpsub",
    "vpmul",
    "vpand",
    "vpor",
    "vpxor",
    "vpsll",
    "vpsrl",
    "vpsra",
    "vprol",
    "vpror",
    "vpmin",
    "vpmax",
    "vpabs",
    "vpcmp",
    "vptest",
    "vpternlog",
    "vpblend",
    "vpavg",
    "vpsign",
    "vpsad",
    "vpmadd",
    "vplzcnt",
    "vpopcnt",
    "vpshld",
    "vpconflict",
];

impl<'a> Instruction<'a> {
    /// Packed work and its width: arithmetic, comparison, selection or conversion of whole vectors. Moves,
    /// shuffles and zeroing are not work.
    pub fn packed(&self) -> Option<Width> {
        let width = self.width()?;
        (self.is_work() && !self.is_zeroing()).then_some(width)
    }

    /// Scalar floating-point work, as in `vaddss`.
    pub fn scalar_float(&self) -> bool {
        let stem = self.mnemonic.strip_suffix("ss").or_else(|| self.mnemonic.strip_suffix("sd"));
        // `vpmaxsd` is a packed maximum of signed integers.
        let moves = ["vmov", "mov", "vp"];
        let arithmetic = stem.is_some_and(|stem| !moves.iter().any(|start| stem.starts_with(start)));
        // `vcvttss2si` and its kind: the cast that breaks a vector loop.
        arithmetic || self.mnemonic.starts_with("vcvttss2") || self.mnemonic.starts_with("vcvttsd2")
    }

    /// The target address of a jump.
    pub fn jump_target(&self) -> Option<u64> {
        let jumps = self.mnemonic.starts_with('j');
        let address = self.operands.split_whitespace().next()?;
        if jumps { u64::from_str_radix(address, 16).ok() } else { None }
    }

    fn width(&self) -> Option<Width> {
        if self.operands.contains("%zmm") {
            Some(Width::Zmm)
        } else if self.operands.contains("%ymm") {
            Some(Width::Ymm)
        } else {
            None
        }
    }

    fn is_work(&self) -> bool {
        let float =
            self.mnemonic.ends_with("ps") || self.mnemonic.ends_with("pd") || self.mnemonic.ends_with("ph");
        if float && FLOAT.iter().any(|stem| self.mnemonic.starts_with(stem)) {
            return true;
        }
        if INTEGER.iter().any(|stem| self.mnemonic.starts_with(stem)) || self.mnemonic.starts_with("vcvt") {
            return true;
        }
        // Sign extension and truncation are the integer casts.
        if [
            "vpmovsx", "vpmovzx", "vpmovqd", "vpmovdw", "vpmovdb", "vpmovwb", "vpmovqw", "vpmovqb",
            "vpmovus", "vpmovs",
        ]
        .iter()
        .any(|stem| self.mnemonic.starts_with(stem))
        {
            return true;
        }
        // A masked move selects lanes: the body of `where`.
        self.mnemonic.starts_with("vmov") && self.operands.contains("{%k")
    }

    /// `vxorps %zmm0,%zmm0,%zmm0` and the like only clear a register.
    fn is_zeroing(&self) -> bool {
        let clears = self.mnemonic.starts_with("vpxor") || self.mnemonic.starts_with("vxor");
        let mut registers = self.operands.split(',');
        match (registers.next(), registers.next()) {
            (Some(first), Some(second)) => clears && first == second,
            _ => false,
        }
    }
}
