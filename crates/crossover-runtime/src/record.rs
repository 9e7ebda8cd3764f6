//! What a device tells about the kernels it has compiled.

/// What a device knows about one of its compiled kernels.
///
/// ```
/// use crossover_runtime::KernelRecord;
/// fn slowest_to_compile(records: &[KernelRecord]) -> Option<&KernelRecord> {
///     records.iter().max_by(|a, b| a.compile_ms.unwrap_or(0.0).total_cmp(&b.compile_ms.unwrap_or(0.0)))
/// }
/// assert_eq!(slowest_to_compile(&[]), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KernelRecord {
    /// Entry points, in the order of the text.
    pub entries: Vec<KernelEntry>,
    /// The text that was compiled.
    pub source: String,
    /// What it was compiled for, such as `sm_90a`.
    pub architecture: String,
    /// How long the compiler took, in milliseconds; `None` if the code was found on disk.
    pub compile_ms: Option<f64>,
    /// How often a plan asked for it and found it compiled already.
    pub reused: u64,
    /// How often it was launched.
    pub launches: u64,
}

/// One entry point of a compiled kernel.
///
/// ```
/// use crossover_runtime::KernelEntry;
/// let entry = KernelEntry { name: "xo_map".to_string(), registers: 40, shared: 0, local: 16 };
/// assert!(entry.local > 0, "registers were spilled to memory");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelEntry {
    /// Its name.
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of shared memory per block that the text declares.
    pub shared: u32,
    /// Bytes per thread that did not fit into registers.
    pub local: u32,
}

impl KernelRecord {
    /// What the text of a user's kernel starts with; its name follows.
    pub const CUSTOM: &str = "// custom kernel ";

    /// What the kernel computes: its kind and the operations of its text, in order, or the name that a user gave it.
    ///
    /// ```
    /// use crossover_runtime::KernelRecord;
    /// let source = "float xo_exp_f32(float v0) {}\n{ s1 = xo_exp_f32(s0); s2 = xo_add_f32(s1, s0); }".to_string();
    /// let record = KernelRecord {
    ///     entries: Vec::new(), source, architecture: "sm_90a".to_string(), compile_ms: None, reused: 0, launches: 0,
    /// };
    /// assert_eq!(record.name(), "exp+add");
    /// ```
    pub fn name(&self) -> String {
        if let Some(rest) = self.source.strip_prefix(KernelRecord::CUSTOM) {
            return rest.lines().next().unwrap_or_default().to_string();
        }
        let mut out: Vec<&str> = Vec::new();
        // Calls stand behind an equals sign; definitions do not.
        for call in self.source.split(" = xo_").skip(1) {
            let Some((name, _)) = call.split_once('(') else { continue };
            let op = name.rsplit_once('_').map_or(name, |(op, _)| op);
            if !op.is_empty()
                && !matches!(op, "widen" | "read" | "warp" | "chunks")
                && !op.contains('<')
                && out.last() != Some(&op)
            {
                out.push(op);
            }
        }
        const SHOWN: usize = 6;
        let more = out.len().saturating_sub(SHOWN);
        out.truncate(SHOWN);
        let mut name = if out.is_empty() { "copy".to_string() } else { out.join("+") };
        if more > 0 {
            name.push_str(&format!("+{more}"));
        }
        name
    }
}
