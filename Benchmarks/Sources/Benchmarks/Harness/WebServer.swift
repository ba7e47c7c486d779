import Foundation

/// nginx on loopback with a configuration of its own, serving a folder for as long as this is kept.
final class WebServer {
  let url: String
  private let process = Process()
  /// Its end is the server's: so it goes with this process, however that ends.
  private let leash = Pipe()
  private let folder: TemporaryFolder

  /// Serves what is in `site`, a folder in `folder`.
  init(_ site: String, in folder: TemporaryFolder) throws {
    let path = "/usr/sbin/nginx"
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw Program.Failure(description: "\(path) is missing; run scripts/bootstrap bench")
    }
    self.folder = folder
    let port = try Self.freePort()
    url = "http://127.0.0.1:\(port)"
    let configuration = Self.configuration(port: port, root: folder.path(site))
    try configuration.write(
      toFile: folder.path("nginx.conf"), atomically: true, encoding: .utf8)
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = [
      "-c", #""$@" </dev/null & read -r _; kill "$!"; wait "$!""#, "sh", path, "-p",
      folder.url.path, "-c", folder.path("nginx.conf"), "-e", folder.path("nginx.log"),
    ]
    process.standardInput = leash
    // In programs that start later, the leash would stay open, and this one would never end.
    _ = fcntl(leash.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    // An inherited pipe would stay open for as long as the server runs.
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    try waitUntilListening(port)
  }

  deinit {
    try? leash.fileHandleForWriting.close()
    process.waitUntilExit()
  }

  private static func configuration(port: UInt16, root: String) -> String {
    """
    daemon off;
    pid nginx.pid;
    worker_processes 1;
    \(getuid() == 0 ? "user root;" : "")
    events { worker_connections 1024; }
    http {
      access_log off;
      sendfile on;
      keepalive_requests 1000000;
      open_file_cache max=20000;
      client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
      uwsgi_temp_path uwsgi; scgi_temp_path scgi;
      server { listen 127.0.0.1:\(port) backlog=512; root "\(root)"; }
    }

    """
  }

  private static func withSocket<Result>(
    port: UInt16, _ body: (Int32, UnsafePointer<sockaddr>) -> Result
  ) -> Result {
    #if canImport(Darwin)
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body(descriptor, $0) }
    }
  }

  private static let addressByteCount = socklen_t(MemoryLayout<sockaddr_in>.size)

  private static func freePort() throws -> UInt16 {
    let port: UInt16? = withSocket(port: 0) { descriptor, address in
      var bound = sockaddr_in()
      var byteCount = addressByteCount
      let isBound = withUnsafeMutablePointer(to: &bound) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, address, addressByteCount) == 0
            && getsockname(descriptor, $0, &byteCount) == 0
        }
      }
      return isBound ? UInt16(bigEndian: bound.sin_port) : nil
    }
    guard let port else { throw Program.Failure(description: "no free port") }
    return port
  }

  private func waitUntilListening(_ port: UInt16) throws {
    for _ in 0..<500 {
      let isListening = Self.withSocket(port: port) { connect($0, $1, Self.addressByteCount) == 0 }
      if isListening { return }
      guard process.isRunning else { break }
      usleep(10_000)
    }
    throw Program.Failure(
      description: "nginx does not start; see \(folder.path("nginx.log"))")
  }
}
