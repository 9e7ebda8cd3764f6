//! Texts to tokens and back, and what is saved of it.
#![cfg(feature = "tokenizers")]
#![allow(clippy::unwrap_used)]

use crossover_array::Array;
use crossover_embed::{EmbedConfig, Embedder, Error, Padding, TextEmbedder, Tokenizer};
use tempfile::tempdir;

const TEXTS: [&str; 4] = [
    "The lattice has a size along each axis, and the last coordinate is the fastest.",
    "A lattice without stored edges: neighbours are arithmetic, and so are distances.",
    "The sine of a far angle depends on where in its turn the angle ends.",
    "Each table is a file of rows, each row a vector, each block with a checksum.",
];

fn trained() -> Tokenizer {
    Tokenizer::train(&TEXTS, 320, &["<pad>", "<start>", "<end>"]).unwrap()
}

#[test]
fn every_text_comes_back_as_it_was() {
    let tokenizer = trained();
    assert!(tokenizer.vocabulary() > 259 && tokenizer.vocabulary() <= 320, "{}", tokenizer.vocabulary());
    for text in TEXTS.into_iter().chain([
        "",
        " ",
        "  two  spaces ",
        "line\nbreak\ttab\r\n",
        "Größe, naïve, Ελληνικά, 日本語, עברית",
        "\u{1F469}\u{200D}\u{1F52C} and \u{0}",
        "e\u{301} is not \u{e9}",
    ]) {
        let tokens = tokenizer.encode(text).unwrap();
        assert_eq!(tokenizer.decode(&tokens).unwrap(), text);
        assert!(tokens.iter().all(|&token| (token as usize) < tokenizer.vocabulary()));
    }
    // What was often in the texts takes fewer tokens than it has bytes.
    assert!(tokenizer.encode(TEXTS[0]).unwrap().len() < TEXTS[0].len() * 3 / 4);
    // Training again gives the same tokenizer.
    assert_eq!(trained().to_json().unwrap(), tokenizer.to_json().unwrap());
}

#[test]
fn special_tokens_are_whole_and_left_out_of_texts() {
    let tokenizer = trained();
    let names: Vec<String> = tokenizer.special().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["<pad>", "<start>", "<end>"]);
    let end = tokenizer.id("<end>").unwrap();
    let tokens = tokenizer.encode("<start>a sine<end>").unwrap();
    assert_eq!((tokens[0], *tokens.last().unwrap()), (tokenizer.id("<start>").unwrap(), end));
    assert_eq!(tokenizer.decode(&tokens).unwrap(), "a sine");
    assert_eq!(tokenizer.decode_all(&tokens).unwrap(), "<start>a sine<end>");
    assert_eq!(tokenizer.token(end).as_deref(), Some("<end>"));
    assert_eq!(
        (tokenizer.id("<no such>"), tokenizer.token(100_000), tokenizer.token(-1)),
        (None, None, None)
    );
}

#[test]
fn batches_are_padded_and_cut() {
    let tokenizer = trained().padding(Padding::Longest, "<pad>").unwrap();
    let batch = tokenizer.encode_batch(&["a", TEXTS[1], ""]).unwrap();
    let length = tokenizer.encode(TEXTS[1]).unwrap().len();
    assert_eq!(batch.tokens.shape().dims(), [3, length]);
    let shown = batch.mask.to_vec::<bool>().unwrap();
    assert_eq!(shown.iter().filter(|shown| **shown).count(), 1 + length);
    let (tokens, pad) = (batch.tokens.to_vec::<i64>().unwrap(), tokenizer.id("<pad>").unwrap());
    assert!(tokens.iter().zip(&shown).all(|(&token, &shown)| shown == (token != pad)));
    assert_eq!(tokenizer.decode_batch(&batch.tokens).unwrap(), ["a", TEXTS[1], ""]);

    let fixed = tokenizer.clone().padding(Padding::To(16), "<pad>").unwrap().truncation(16).unwrap();
    let batch = fixed.encode_batch(&["a", TEXTS[1]]).unwrap();
    assert_eq!(batch.tokens.shape().dims(), [2, 16]);
    assert!(TEXTS[1].starts_with(&fixed.decode_batch(&batch.tokens).unwrap()[1]));
    // Settings are saved with the rest.
    let again = Tokenizer::from_json(&fixed.to_json().unwrap()).unwrap();
    assert_eq!(again.encode_batch(&TEXTS).unwrap().tokens.shape().dims(), [4, 16]);
    assert_eq!(again.whole().encode(TEXTS[1]).unwrap().len(), length);
    assert_eq!(fixed.encode_batch(&[] as &[&str]).unwrap().tokens.shape().dims(), [0, 0]);
}

#[test]
fn mistakes_are_named() {
    let tokenizer = trained();
    let error = tokenizer.encode_batch(&["a", "a lattice"]).unwrap_err();
    assert!(matches!(error, Error::Operand { .. }) && error.to_string().contains("set a padding"), "{error}");
    assert!(matches!(tokenizer.decode(&[5, -1]), Err(Error::Token { token: -1, at: 1, .. })));
    assert!(matches!(tokenizer.decode(&[100_000]), Err(Error::Token { token: 100_000, .. })));
    assert!(matches!(tokenizer.decode_batch(&Array::from([1i64])), Err(Error::Operand { .. })));
    assert!(matches!(tokenizer.clone().padding(Padding::Longest, "<none>"), Err(Error::Config { .. })));
    assert!(matches!(Tokenizer::train(&TEXTS, 100, &[]), Err(Error::Config { setting: "vocabulary", .. })));
    assert!(matches!(Tokenizer::from_json("{}"), Err(Error::Tokenizer { .. })));
    let folder = tempdir().unwrap();
    assert!(matches!(Tokenizer::load(folder.path().join("none")), Err(Error::Io { .. })));
    std::fs::write(folder.path().join("tokenizer.json"), "[1, 2").unwrap();
    assert!(matches!(Tokenizer::load(folder.path()), Err(Error::Corrupt { .. })));
}

#[test]
fn a_folder_holds_tokenizer_embedder_and_configuration() {
    let folder = tempdir().unwrap();
    let tokenizer = trained().padding(Padding::Longest, "<pad>").unwrap();
    let config = EmbedConfig::new(tokenizer.vocabulary(), 12).temperature(0.5).relative(2);
    let model = TextEmbedder::new(tokenizer.clone(), Embedder::new(config.clone()).unwrap()).unwrap();
    let path = folder.path().join("a").join("model");
    model.save(&path).unwrap();
    let again = TextEmbedder::load(&path).unwrap();
    assert_eq!(again.embedder().config(), &config);
    let bits = |model: &TextEmbedder| model.embed(&TEXTS).unwrap().0.to_vec::<f32>().unwrap();
    assert_eq!(bits(&again), bits(&model));
    // Each half can be loaded by itself.
    assert_eq!(Tokenizer::load(&path).unwrap().to_json().unwrap(), tokenizer.to_json().unwrap());
    assert_eq!(Embedder::load(path.join("embedder.safetensors")).unwrap().config(), &config);

    let other = Tokenizer::train(&TEXTS, 280, &["<pad>"]).unwrap();
    other.save(path.join("tokenizer.json")).unwrap();
    let error = TextEmbedder::load(&path).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }) && error.to_string().contains("checksum"), "{error}");
    std::fs::remove_file(path.join("tokenizer.json")).unwrap();
    assert!(matches!(TextEmbedder::load(&path), Err(Error::Io { .. })));
    let small = Embedder::new(EmbedConfig::new(100, 4)).unwrap();
    assert!(matches!(TextEmbedder::new(tokenizer, small), Err(Error::Operand { .. })));
}
