//! A server of metrics: a thread that accepts, and a few that answer.
//!
//! What always holds: a request that nobody can take up at once is turned away, so that no client, however slow or however many, takes more
//! than [`HANDS`] threads and [`WAITING`] connections. It listens to this machine alone unless it was told that others may ask.

use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use crossover_array::{ProcessStats, Runtime, processes};
use serde_json::json;

use super::{
    MachineLoad,
    http::{self, Answer},
    text,
};

/// Threads that answer.
const HANDS: usize = 4;
/// Connections that wait for one.
const WAITING: usize = 16;
/// Where metrics are expected, in the range that exporters share.
const ADDRESS: &str = "127.0.0.1:9464";

/// Whose metrics are served, with those of the machine.
///
/// ```
/// use crossover_array::Runtime;
/// use crossover_profile::metrics::{Server, Source};
/// // A runtime of its own, whoever else computes in this process.
/// let runtime = Runtime::builder().threads(1).build()?;
/// let server = Server::builder().address("127.0.0.1:0").source(Source::Runtime(runtime)).start()?;
/// assert_ne!(server.address().port(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Source {
    /// Every process of this user's that has the setting `profiling`: what `crossover top` shows.
    #[default]
    Published,
    /// One runtime of this process.
    Runtime(Runtime),
}

impl Source {
    fn look(&self) -> Vec<ProcessStats> {
        match self {
            Source::Published => processes(),
            Source::Runtime(runtime) => vec![runtime.process_stats()],
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Source::Published => "Published",
            Source::Runtime(_) => "Runtime",
        })
    }
}

/// Why metrics are not served.
///
/// ```
/// use crossover_profile::metrics::{ServeError, Server};
/// let error = Server::builder().address("9464").start().unwrap_err();
/// assert!(matches!(&error, ServeError::Address { address, .. } if address == "9464"));
/// assert!(error.to_string().ends_with("give an IP address and a port, as 127.0.0.1:9464"));
/// // Whoever is first has the port.
/// let first = Server::builder().address("127.0.0.1:0").start()?;
/// let second = Server::builder().address(first.address().to_string()).start();
/// assert!(matches!(second, Err(ServeError::Listen { .. })));
/// # Ok::<(), ServeError>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is none.
    #[error(
        "{address:?} is no address to listen on: {why}; give an IP address and a port, as 127.0.0.1:9464"
    )]
    Address {
        /// What was given.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The address can be reached from other machines.
    #[error(
        "{address} can be reached from other machines, and metrics name programs and kernels: listen on 127.0.0.1, or allow remote access"
    )]
    Remote {
        /// The address.
        address: SocketAddr,
    },
    /// The system refused.
    #[error("could not listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// No thread was to be had.
    #[error("could not start a thread for the server: {0}")]
    Thread(io::Error),
}

/// How a [`Server`] is started.
///
/// ```
/// use crossover_array::Runtime;
/// use crossover_profile::metrics::{Server, Source};
/// let server = Server::builder()
///     .address("0.0.0.0:0") // any free port of all interfaces
///     .allow_remote(true)
///     .source(Source::Runtime(Runtime::current()))
///     .start()?;
/// assert!(server.address().ip().is_unspecified());
/// # Ok::<(), crossover_profile::metrics::ServeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ServerBuilder {
    address: String,
    is_remote_allowed: bool,
    source: Source,
}

impl ServerBuilder {
    /// Where to listen: an IP address and a port, 127.0.0.1:9464 unless this says otherwise. Port 0 is any that is free.
    pub fn address(mut self, address: impl Into<String>) -> ServerBuilder {
        self.address = address.into();
        self
    }

    /// Lets an address be one that other machines reach. Nobody is asked who he is.
    pub fn allow_remote(mut self, allow: bool) -> ServerBuilder {
        self.is_remote_allowed = allow;
        self
    }

    /// Whose metrics are served.
    pub fn source(mut self, source: Source) -> ServerBuilder {
        self.source = source;
        self
    }

    /// Listens from now on.
    ///
    /// ```
    /// use crossover_profile::metrics::{ServeError, Server};
    /// let refused = Server::builder().address("0.0.0.0:0").start();
    /// assert!(matches!(refused, Err(ServeError::Remote { .. })));
    /// ```
    pub fn start(self) -> Result<Server, ServeError> {
        let wrong = |why: String| ServeError::Address { address: self.address.clone(), why };
        let mut found = self.address.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
        let address = found.next().ok_or_else(|| wrong("it names nothing".to_string()))?;
        if !address.ip().is_loopback() && !self.is_remote_allowed {
            return Err(ServeError::Remote { address });
        }
        let listen = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let closed = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = sync_channel(WAITING);
        let mut threads = Vec::new();
        let receiver = Arc::new(parking_lot::Mutex::new(receiver));
        for number in 0..HANDS {
            let (receiver, source) = (receiver.clone(), self.source.clone());
            threads.push(spawn(&format!("answer-{number}"), move || answer_all(&receiver, &source))?);
        }
        let flag = closed.clone();
        threads.push(spawn("accept", move || accept(&listener, &sender, &flag))?);
        Ok(Server { address, closed, threads })
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, ServeError> {
    std::thread::Builder::new().name(format!("crossover-{name}")).spawn(body).map_err(ServeError::Thread)
}

/// Serves `/metrics` and `/health` until it is dropped.
///
/// ```
/// use std::io::{Read, Write};
/// use crossover_array::Runtime;
/// use crossover_profile::metrics::{Server, Source};
///
/// let server = Server::builder().address("127.0.0.1:0").source(Source::Runtime(Runtime::current())).start()?;
/// let mut stream = std::net::TcpStream::connect(server.address())?;
/// stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n")?;
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer)?;
/// assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("\ncrossover_up{"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it serves until it is dropped"]
pub struct Server {
    address: SocketAddr,
    closed: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// How to start one.
    pub fn builder() -> ServerBuilder {
        ServerBuilder { address: ADDRESS.to_string(), is_remote_allowed: false, source: Source::default() }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process ends.
    ///
    /// ```
    /// use crossover_profile::metrics::Server;
    /// let server = Server::builder().address("127.0.0.1:0").start()?;
    /// println!("http://{}/metrics", server.address());
    /// // The last line of a program that does nothing else, here on a thread so that the example ends.
    /// std::thread::spawn(move || server.wait());
    /// # Ok::<(), crossover_profile::metrics::ServeError>(())
    /// ```
    pub fn wait(mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.threads.is_empty() {
            return;
        }
        self.closed.store(true, Ordering::Release);
        // Wakes the thread that accepts; an address of all interfaces is reached by that of the loop.
        let mut own = self.address;
        if own.ip().is_unspecified() {
            own.set_ip(if own.is_ipv4() { [127, 0, 0, 1].into() } else { [0, 0, 0, 0, 0, 0, 0, 1].into() });
        }
        let woken = TcpStream::connect_timeout(&own, Duration::from_secs(1)).is_ok();
        for thread in self.threads.drain(..).rev() {
            // A thread that could not be woken is left to the end of the process.
            if woken {
                let _ = thread.join();
            }
        }
    }
}

/// Hands connections to those who answer; ends when the server is closed, and with it the channel.
fn accept(listener: &TcpListener, sender: &SyncSender<TcpStream>, closed: &AtomicBool) {
    for stream in listener.incoming() {
        if closed.load(Ordering::Acquire) {
            return;
        }
        match stream {
            // Nobody is free and nobody will soon be: closing tells the client at once.
            Ok(stream) => drop(sender.try_send(stream)),
            // Out of file descriptors, perhaps: without a pause this would spin.
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn answer_all(receiver: &parking_lot::Mutex<Receiver<TcpStream>>, source: &Source) {
    loop {
        let next = receiver.lock().recv();
        let Ok(mut stream) = next else { return };
        // A client that has gone needs no answer.
        let _ = answer(&mut stream, source);
    }
}

fn answer(stream: &mut TcpStream, source: &Source) -> io::Result<()> {
    let (answer, head_only) = match http::read(stream)? {
        Ok(request) => (routed(&request.path, source), request.head_only),
        Err(refusal) => (refusal, false),
    };
    http::write(stream, &answer, head_only)
}

fn routed(path: &str, source: &Source) -> Answer {
    match path {
        "/metrics" => Answer {
            status: 200,
            kind: "text/plain; version=0.0.4; charset=utf-8",
            body: text(&source.look(), &MachineLoad::look()),
        },
        "/health" => health(&source.look()),
        "/" => Answer::plain(200, "crossover: /metrics for Prometheus, /health for supervisors"),
        _ => Answer::plain(404, "there are /metrics and /health"),
    }
}

/// Whether all is well; 503 where a device was lost, for a supervisor that restarts what does not answer 200.
fn health(processes: &[ProcessStats]) -> Answer {
    let alerts: Vec<_> = processes
        .iter()
        .flat_map(|process| process.alerts.iter().map(move |alert| (process, alert)))
        .map(|(process, alert)| {
            json!({
                "pid": process.pid, "runtime": process.runtime,
                "alert": alert.kind, "device": alert.device, "text": alert.text,
            })
        })
        .collect();
    let is_lost = processes.iter().any(|process| !process.lost.is_empty());
    let status = match (is_lost, alerts.is_empty()) {
        (true, _) => "device lost",
        (false, false) => "alert",
        (false, true) => "ok",
    };
    let body = json!({"status": status, "processes": processes.len(), "alerts": alerts});
    Answer { status: if is_lost { 503 } else { 200 }, kind: "application/json", body: format!("{body}\n") }
}
