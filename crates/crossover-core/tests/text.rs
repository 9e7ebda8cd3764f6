//! The text form: what it looks like, that it round-trips, and what it says about damaged text.

use crossover_core::{DType, Error, Graph, Scalar, graph::Op};

/// One line of every syntax.
const EVERYTHING: &str = "graph {
  %0 = input f32[4, 6]
  %1 = scalar f32 2.5
  %2 = expand %1 to [4, 6]
  %3 = multiply %0, %2
  %4 = sum %3 axes [1] keepdims
  %5 = cast %4 to f16
  %6 = index [3, 4] axis 1
  %7 = input u32[2]
  %8 = random %7 to [5] stream 3
  %9 = less %0, %2
  %10 = where %9, %0, %2
  %11 = cumulative_sum %0 axis 1
  %12 = cumulative_prod %0 axis 0
  %13 = reshape %0 to [2, 12]
  %14 = permute %0 axes [1, 0]
  %15 = flip %0 axes [0, 1]
  %16 = slice %0 [0:4:2, 5::-1]
  %17 = slice %0 [1:3, 2x5]
  %18 = strided %0 to [2, 3] strides [3, -1] offset 5
  %19 = concat %0, %3, %0 axis 0
  %20 = input i64[2]
  %21 = take %0, %20 axis 1
  %22 = matmul %0, %14
  %23 = argmax %0 axes [0]
  %24 = fma %0, %2, %3
  %25 = scalar c64 (1.5, nan:0xffc00001)
  %26 = scalar bool true
  %27 = scalar f64 -inf
  %28 = input i64[4, 2]
  %29 = take_along_axis %0, %28 axis 1
  %30 = scatter_set %0, %28, %29 axis 1
  %31 = scatter_add %0, %28, %29 axis 1
  %32 = scatter_min %0, %28, %29 axis 1
  %33 = scatter_max %0, %28, %29 axis 1
  %34 = sort %0 axis 0
  %35 = argsort %0 axis 1 descending
  %36 = input f32[9]
  %37 = searchsorted %36, %0
  %38 = searchsorted %36, %0 right
  %39 = input bool[4]
  %40 = compress %39, %0 count 3
  %41 = input f64[3]
  %42 = sample %7, %41 gamma
  %43 = sample %7, %41 poisson
  return %5, %8, %8
}
";

fn refusal(text: &str) -> (usize, String) {
    match Graph::parse(text) {
        Err(Error::Text { line, what }) => (line, what),
        other => panic!("expected a text error, got {other:?}"),
    }
}

/// The message for a graph of one input `%x` of `f32[2, 3]` and one more line.
fn refused(line: &str) -> String {
    let (at, what) = refusal(&format!("graph {{\n  %x = input f32[2, 3]\n  {line}\n  return %x\n}}"));
    assert_eq!(at, 3, "{what}");
    what
}

#[test]
fn every_syntax_reads_back_as_written() {
    let graph = Graph::parse(EVERYTHING).unwrap();
    assert_eq!(graph.to_string(), EVERYTHING);
    let typed = format!("{graph:#}");
    assert!(typed.contains("  %4: f32[4, 1] = sum %3 axes [1] keepdims\n"), "{typed}");
    let again = Graph::parse(&typed).unwrap();
    assert_eq!(again, graph);
    assert_eq!(again.scalars(), graph.scalars());
}

#[test]
fn names_comments_blank_lines_and_breaks_inside_brackets_are_allowed() {
    let text = "# a comment\n\ngraph {  # another\r\n  %rows = input f32[2,\n 3] # ends here\n\n\n  %s.1: f32[] = sum %rows axes [0,1,]\n  return %s.1,\n %rows }\n# end";
    let graph = Graph::parse(text).unwrap();
    assert_eq!(graph.outputs().len(), 2);
    assert_eq!(
        graph.to_string(),
        "graph {\n  %0 = input f32[2, 3]\n  %1 = sum %0 axes [0, 1]\n  return %1, %0\n}\n"
    );
}

#[test]
fn slices_have_the_defaults_of_python() {
    let text = "graph {\n %0 = input i8[7, 5, 0]\n %1 = slice %0 [:, ::-2, ::-1]\n %2 = slice %0 [2:, 4:1:-1, :]\n return %1, %2\n}";
    let graph = Graph::parse(text).unwrap();
    assert_eq!(graph.nodes()[1].ty.to_string(), "i8[7, 3, 0]");
    assert_eq!(graph.nodes()[2].ty.to_string(), "i8[5, 3, 0]");
    assert!(graph.to_string().contains("slice %0 [0:7, 4::-2, 0:0:-1]"), "{graph}");
    assert_eq!(Graph::parse(&graph.to_string()).unwrap(), graph);
}

#[test]
fn steps_beyond_sixty_four_bits_of_stop_read_back() {
    let text = format!(
        "graph {{\n  %0 = input i8[7]\n  %1 = slice %0 [3:{}:{}]\n  return %1\n}}\n",
        3 + isize::MAX as i128,
        isize::MAX
    );
    assert_eq!(Graph::parse(&text).unwrap().to_string(), text);
}

#[test]
fn scalars_that_share_or_skip_slots_read_back() {
    let text = "graph {\n  %0 = scalar f32 1.0\n  %1 = scalar f32 1.0 slot 0\n  %2 = scalar i8 3 slot 5\n  %3 = scalar i8 4\n  %4 = scalar u8 9 slot 2\n  return %3\n}\n";
    let graph = Graph::parse(text).unwrap();
    assert_eq!(graph.to_string(), text);
    assert_eq!(graph.scalars().len(), 7);
    assert!(matches!(graph.nodes()[3].op, Op::Scalar { slot: 6, dtype: DType::I8 }));
    let clash = text.replace("scalar f32 1.0 slot 0", "scalar f32 2.0 slot 0");
    assert_eq!(refusal(&clash), (3, "slot 0 holds 1.0 already".to_string()));
}

#[test]
fn scalars_keep_every_bit() {
    for dtype in DType::ALL {
        for bits in [0u64, 1, 0x7e01, 0x7fc1, 0xffc0_0001, 0x7f80_0000, 0x7ff8_0000_0000_0001, u64::MAX] {
            let value = match dtype {
                DType::Bool => Scalar::from_bits(dtype, [bits & 1, 0]),
                _ => Scalar::from_bits(dtype, [bits, !bits]),
            };
            let mut graph = Graph::new();
            let id = graph.scalar(value);
            graph.output(id);
            let back = Graph::parse(&graph.to_string()).unwrap();
            assert_eq!(back.scalars(), [value], "{graph}");
        }
    }
}

#[test]
fn errors_name_the_token_found_and_what_was_expected() {
    assert_eq!(refused("%y = mutliply %x, %x"), "there is no operation `mutliply`; did you mean `multiply`?");
    assert_eq!(refused("%y = frobnicate %x"), "there is no operation `frobnicate`");
    assert_eq!(
        refused("%y = softmax %x"),
        "`softmax` is not one operation but several: docs/graphs/softmax.graph writes it out"
    );
    assert!(refused("%y = layer_norm %x").ends_with("docs/graphs/layer_norm.graph writes it out"));
    assert_eq!(refused("%y = \x1b[31m"), "expected an operation, found `\\u{1b}`");
    assert_eq!(refused("%y = \u{202e}abs"), "expected an operation, found `\\u{202e}`");
    assert_eq!(refused("%y = add %x %x"), "expected `,` between operands, found `%x`");
    assert_eq!(refused("%y = abs %x twice"), "expected the end of the line, found `twice`");
    assert_eq!(refused("%y = add %x, %z"), "`%z` is not defined above");
    assert_eq!(refused("%x = abs %x"), "`%x` is defined twice");
    assert_eq!(refused("%y abs %x"), "expected `=`, found `abs`");
    assert_eq!(refused("%y = sum %x"), "expected `axes`, found the end of the line");
    assert_eq!(refused("%y = sum %x axes [0 1]"), "expected `,` or `]`, found `1`");
    assert_eq!(refused("%y = sum %x axes [-1]"), "expected an axis, counted from 0, found `-1`");
    assert_eq!(refused("%y: f32[3, 2] = abs %x"), "`%y` is declared f32[3, 2] but is f32[2, 3]");
    assert_eq!(refused("%y = scalar i8 200"), "`200` is not a value of i8");
    assert_eq!(refused("%y = slice %x [0:2]"), "slice: 1 spans for 2 axes");
    assert_eq!(refused("%y = slice %x [0:2, 0:3, 0:1]"), "more spans than the operand has axes");
    assert_eq!(refused("%y = slice %x [0:2, 0:3:0]"), "a step of 0 is written `startxlength`");
    assert!(refused("%y = cast %x to f23").starts_with("expected a dtype (one of bool, i8, "));
    assert!(refused("%y = cast %x to f23").ends_with(", found `f23`"));
    assert!(refused("%y = expand %x to [99999999999999999999]").contains("expected a length"));
    assert!(
        refused("%y = expand %x to [999999999999999999, 2, 3]")
            .contains("more elements than can be addressed")
    );
    assert!(refused("%y = sum %x axes [2]").contains("axis 2 is out of range for [2, 3]"));
    assert!(refused("%y = flip %x axes [0, 0]").contains("twice"));
    assert!(refused("%y = strided %x to [0] strides [1] offset 7").contains("outside the 6 elements"));
    assert!(refused("%y = strided %x to [2] strides [6] offset 0").contains("elements 0 to 6 of 6"));
    assert!(refused("%y = scalar f32 1 slot 4000000000").contains("above"));
}

#[test]
fn text_that_ends_early_or_late_is_an_error() {
    assert_eq!(refusal("").1, "expected `graph`, found the end of the text");
    assert_eq!(refusal("graph").1, "expected `{`, found the end of the text");
    assert_eq!(
        refusal("graph {\n %0 = input f32[]\n}"),
        (3, "expected a definition such as `%x = …`, or `return`, found `}`".to_string())
    );
    assert_eq!(
        refusal("graph {\n %0 = input f32[]\n return %0\n} more").1,
        "expected nothing after the graph, found `more`"
    );
    assert_eq!(
        refusal("graph {\n %0 = input f32[]\n return\n}").1,
        "expected an operand such as `%0`, found the end of the line"
    );
    for end in 0..EVERYTHING.len() - 2 {
        assert!(Graph::parse(&EVERYTHING[..end]).is_err(), "{end}");
    }
}

#[test]
fn hostile_text_is_refused_in_proportion_to_its_length() {
    let ones = format!("graph {{\n %0 = input f32[{}]\n return %0\n}}", "1, ".repeat(1_000_000));
    assert_eq!(refusal(&ones).1, "the list has more than 64 entries");
    let long = "a".repeat(1_000_000);
    assert!(refused(&format!("%y = {long} %x")).len() < 200);
    assert!(refused(&format!("%{long} = {long} %x")).len() < 200);
    let brackets = "[".repeat(1_000_000);
    assert!(refused(&format!("%y = expand %x to {brackets}")).len() < 200);
    let digits = "9".repeat(1_000_000);
    assert!(refused(&format!("%y = scalar i64 {digits}")).len() < 200);
    assert!(Graph::parse(&format!("graph {{\n %y = scalar f64 {digits}\n return %y\n}}")).is_ok());
    assert!(refused("%y = scalar f32 \u{202e}\u{1f980}").contains("expected a value of f32"));
}

#[test]
fn ops_with_attributes_of_their_own_are_written_and_read() {
    let text = "graph {
  %0 = input f64[3, 4, 4]
  %1 = rfft %0 axes [1] scale root
  %2 = ifft %1 axes [0, 2] scale count
  %3 = irfft %2 axes [1] length 5 scale one
  %4 = cholesky %0 upper
  %5 = qr %4 complete
  %6 = svd %0
  %7 = solve %0, %4
  %8 = scalar f64 0.5
  %9 = convolve %0, %7, %8 mode same boundary symm
  return %3, %5, %6, %9
}
";
    let graph = Graph::parse(text).unwrap();
    assert_eq!(graph.to_string(), text);
    for (wrong, what) in [
        ("%1 = qr %0 full", "the end of the line"),
        ("%1 = fft %0 axes [1] scale one", "f64 is not supported"),
        ("%1 = rfft %0 axes [0, 1] scale one", "must be one"),
        ("%1 = rfft %0 axes [1] scale two", "`one` or `root` or `count`"),
        (
            "%1 = convolve %0, %0, %0 mode full boundary none",
            "`fill` or `wrap` or `symm` or `nearest` or `mirror`",
        ),
        ("%1 = convolve %0, %0, %0 mode full boundary fill", "the fill value has axes"),
        ("%1 = eigvalz %0", "did you mean `eigvals`?"),
    ] {
        let text = format!("graph {{\n %0 = input f64[3, 4, 4]\n {wrong}\n return %1\n}}");
        let error = Graph::parse(&text).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains(what), "{wrong}: {error}");
    }
}
