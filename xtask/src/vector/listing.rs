//! The output of `objdump --disassemble --demangle --no-show-raw-insn`, cut into functions.

use super::instruction::Instruction;

/// A disassembled program.
pub struct Listing<'a> {
    /// In order of address.
    pub functions: Vec<Function<'a>>,
}

/// One disassembled function.
pub struct Function<'a> {
    /// The demangled symbol.
    pub name: &'a str,
    /// Where it begins.
    pub address: u64,
    /// Its body, in order, padding included.
    pub body: Vec<Instruction<'a>>,
}

impl<'a> Listing<'a> {
    /// Reads the text; lines that are neither a symbol nor an instruction are skipped.
    pub fn parse(text: &'a str) -> Self {
        let mut functions: Vec<Function<'a>> = Vec::new();
        for line in text.lines() {
            if let Some((address, name)) = symbol(line) {
                functions.push(Function { name, address, body: Vec::new() });
            } else if let (Some(function), Some(instruction)) = (functions.last_mut(), instruction(line)) {
                function.body.push(instruction);
            }
        }
        Self { functions }
    }

    /// The function that begins at an address.
    pub fn at(&self, address: u64) -> Option<&Function<'a>> {
        self.functions.iter().find(|function| function.address == address)
    }
}

/// `0000000000015430 <path::name::<A, B>>:`
fn symbol(line: &str) -> Option<(u64, &str)> {
    let (address, rest) = line.split_once(" <")?;
    let name = rest.strip_suffix(">:")?;
    Some((u64::from_str_radix(address, 16).ok()?, name))
}

/// `   15480:\tvpslld $0x1,(%rdx,%r9,1),%zmm0`
fn instruction(line: &str) -> Option<Instruction<'_>> {
    let (address, text) = line.split_once(":\t")?;
    let address = u64::from_str_radix(address.trim_start(), 16).ok()?;
    let text = text.trim();
    let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Some(Instruction { address, mnemonic, operands: operands.trim_start() })
}
