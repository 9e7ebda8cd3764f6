//! A program that lets itself be watched: metrics and health over HTTP, and a callback for what somebody should know about.
//!
//! cargo run --release --example metrics

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crossover::{
    prelude::*,
    profile::metrics::{Server, Source},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::current();
    let _watch = runtime.on_alert(|alert| eprintln!("{alert}"));
    // A service has a fixed port, 9464 unless it says otherwise; here any that is free will do.
    let server = Server::builder().address("127.0.0.1:0").source(Source::Runtime(runtime)).start()?;
    let x = random::normal::<f32>(&Key::new(1), [1024, 1024]);
    let mean = x.gelu().mean(()).item::<f32>()?;
    println!("the mean is {mean:.4}; http://{}/metrics says:", server.address());

    let mut stream = TcpStream::connect(server.address())?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, metrics) = answer.split_once("\r\n\r\n").ok_or("the answer has no body")?;
    for line in metrics.lines().filter(|line| line.starts_with("crossover_kernels_total")) {
        println!("{line}");
    }
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, metrics)?;
    }
    Ok(())
}
