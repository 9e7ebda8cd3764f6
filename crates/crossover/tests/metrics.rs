//! The server of metrics: what it answers, to whom, and what clients cannot do to it.
#![allow(clippy::unwrap_used)]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use crossover::{
    Array, Runtime,
    profile::metrics::{ServeError, Server, Source},
    runtime::{
        Device, Executor, Machine, Placement,
        sim::{SimDevice, SimOptions},
    },
};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;

fn serve() -> (Server, SimDevice, Runtime) {
    let cpu = || Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let sim = SimDevice::new(cpu(), SimOptions::default());
    let machine = Machine::new(cpu(), vec![Arc::new(sim.clone())]).unwrap();
    let executor = Executor::new(machine, Options::default(), Placement::On(Device(1)));
    let runtime = Runtime::from_executor(executor);
    runtime.scope(|| Array::arange(10).exp().eval().map(drop)).unwrap();
    let source = Source::Runtime(runtime.clone());
    (Server::builder().address("127.0.0.1:0").source(source).start().unwrap(), sim, runtime)
}

/// The status and the body of an answer.
fn ask(address: SocketAddr, request: &[u8]) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_string(), body.to_string())
}

fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    ask(address, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n").as_bytes())
}

#[test]
fn metrics_and_health_are_served() {
    let (server, sim, _runtime) = serve();
    let (status, head, body) = get(server.address(), "/metrics");
    assert_eq!(status, 200);
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    let value = |name: &str| {
        let line = body
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name} is not in {body}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!((value("crossover_kernels_total{"), value("crossover_fallbacks_total{")), (1.0, 0.0));
    assert!(value("crossover_memory_bytes{") >= 0.0);
    let budgets = body.lines().filter(|line| line.contains("kind=\"budget\"") && !line.ends_with(" 0"));
    assert_eq!(budgets.count(), 2, "of the host and of the device: {body}");
    let (status, head, body) = get(server.address(), "/health");
    assert_eq!((status, body.trim()), (200, r#"{"alerts":[],"processes":1,"status":"ok"}"#), "{head}");
    sim.lose();
    let (status, _, body) = get(server.address(), "/health");
    assert_eq!(status, 503);
    assert!(
        body.contains(r#""status":"device lost""#) && body.contains(r#""alert":"device_lost""#),
        "{body}"
    );
    assert!(
        get(server.address(), "/metrics")
            .2
            .lines()
            .any(|line| line.starts_with("crossover_device_lost{") && line.ends_with(" 1"))
    );
}

#[test]
fn other_requests_are_refused() {
    let (server, ..) = serve();
    let status = |request: &[u8]| ask(server.address(), request).0;
    assert_eq!(status(b"GET /etc/passwd HTTP/1.1\r\n\r\n"), 404);
    assert_eq!(status(b"GET /metrics/../x HTTP/1.1\r\n\r\n"), 404);
    assert_eq!(status(b"POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), 405);
    assert_eq!(status(b"hello\n\n"), 400);
    assert_eq!(status(b"\x16\x03\x01\x02\x00\n\n"), 400);
    let (status, head, body) = ask(server.address(), b"HEAD /metrics HTTP/1.1\r\n\r\n");
    assert_eq!((status, body.len()), (200, 0), "{head}");
}

#[test]
fn a_request_without_end_is_cut_off() {
    let (server, ..) = serve();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The server stops to listen at some point, so that not all of it arrives.
    let junk = [b'x'; 4096];
    while stream.write_all(&junk).is_ok() {}
    assert_eq!(get(server.address(), "/").0, 200, "others are served");
}

#[test]
fn slow_clients_do_not_keep_others_waiting() {
    let (server, ..) = serve();
    let slow: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            stream.write_all(b"GET /metr").unwrap();
            stream
        })
        .collect();
    // All three have been taken up by now, or are before this one.
    let start = Instant::now();
    assert_eq!(get(server.address(), "/").0, 200);
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    // A client that sends a byte now and then gets no more time than one that sends none.
    let mut dripping = TcpStream::connect(server.address()).unwrap();
    dripping.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (start, mut answer) = (Instant::now(), Vec::new());
    while start.elapsed() < Duration::from_secs(20) {
        let _ = dripping.write_all(b"x");
        let mut byte = [0; 512];
        match dripping.read(&mut byte) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&byte[..count]),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
    drop(slow);
}

#[test]
fn a_flood_of_silent_clients_is_survived() {
    let (server, ..) = serve();
    let threads = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let before = threads();
    let flood: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(server.address()).ok()).collect();
    // Tests of this file run beside this one, each with a few threads of its own.
    assert!(threads() < before + 100, "a thread per client");
    drop(flood);
    let start = Instant::now();
    // Connections that wait are turned away while hands are full, which is no answer at all.
    let served = || {
        let mut stream = TcpStream::connect(server.address()).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.starts_with("HTTP/1.1 200").then_some(())
    };
    while served().is_none() {
        assert!(start.elapsed() < Duration::from_secs(20), "nobody is served after a flood");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn it_listens_to_this_machine_alone() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = Server::builder().address(address).start().unwrap_err();
        assert!(matches!(error, ServeError::Remote { .. }), "{error}");
        assert!(error.to_string().contains("can be reached from other machines"), "{error}");
    }
    let error = Server::builder().address("nowhere").start().unwrap_err().to_string();
    assert!(error.contains("\"nowhere\" is no address") && error.contains("127.0.0.1:9464"), "{error}");
    let open = Server::builder().address("0.0.0.0:0").allow_remote(true).start().unwrap();
    assert_eq!(get(SocketAddr::from(([127, 0, 0, 1], open.address().port())), "/health").0, 200);
}

#[test]
fn the_port_is_free_again_afterwards_and_taken_before() {
    let (server, ..) = serve();
    let address = server.address();
    let taken = Server::builder().address(address.to_string()).start().unwrap_err();
    assert!(matches!(taken, ServeError::Listen { .. }), "{taken}");
    drop(server);
    assert!(TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err(), "somebody still listens");
}
