//! Spans reach OpenTelemetry through `tracing`: their names, what encloses what, when they were, and the lines they are from.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime};

use crossover::{Array, Runtime, profile::scope};
use opentelemetry::{Value, trace::TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing_subscriber::{Layer, filter::LevelFilter, layer::SubscriberExt, util::SubscriberInitExt};

fn find<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    let names: Vec<_> = spans.iter().map(|span| span.name.to_string()).collect();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name} is not among {names:?}"))
}

#[test]
fn scopes_and_evaluations_are_exported() {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("crossover"));
    let _installed = tracing_subscriber::registry().with(layer.with_filter(LevelFilter::INFO)).set_default();
    let runtime = Runtime::builder().threads(1).device(crossover::Device::Cpu).build().unwrap();
    let start = SystemTime::now();
    // Without a session: whoever listens to `tracing` needs none.
    runtime.scope(|| {
        let _step = scope("training step");
        std::thread::sleep(Duration::from_millis(5));
        {
            let _loss = scope("loss");
            Array::linspace(0.0, 1.0, 100_000).exp().sum(()).item::<f64>().unwrap();
        }
        let _named = scope(format!("epoch {}", 7));
    });
    let end = SystemTime::now();
    provider.force_flush().unwrap();
    let spans = exporter.get_finished_spans().unwrap();
    let (step, loss, epoch) = (find(&spans, "training step"), find(&spans, "loss"), find(&spans, "epoch 7"));
    let evaluation = find(&spans, "evaluate");
    let parent = |span: &SpanData| span.parent_span_id;
    let id = |span: &SpanData| span.span_context.span_id();
    assert_eq!((parent(loss), parent(epoch), parent(evaluation)), (id(step), id(step), id(loss)));
    assert_eq!(parent(step), opentelemetry::trace::SpanId::INVALID, "nothing encloses the outermost");
    assert!(
        spans.iter().all(|span| span.span_context.trace_id() == step.span_context.trace_id()),
        "one trace"
    );
    let inside = |inner: &SpanData, outer: &SpanData| {
        outer.start_time <= inner.start_time
            && inner.start_time <= inner.end_time
            && inner.end_time <= outer.end_time
    };
    assert!(inside(loss, step) && inside(epoch, step) && inside(evaluation, loss));
    assert!(start <= step.start_time && step.end_time <= end, "on the clock of the system");
    assert!(step.end_time.duration_since(step.start_time).unwrap() >= Duration::from_millis(5));
    let attribute = |span: &SpanData, name: &str| {
        span.attributes.iter().find(|pair| pair.key.as_str() == name).map(|pair| pair.value.clone())
    };
    assert_eq!(attribute(step, "crossover.file"), Some(Value::from(file!())));
    // Exporters write numbers without a sign as text.
    let line = attribute(step, "crossover.line").and_then(|line| line.as_str().parse::<u32>().ok());
    assert!(line.is_some_and(|line| line > 0 && line < line!()), "{line:?}");
}
