internal import Synchronization
internal import SystemLibrary
package import TandemDigests
internal import TandemRecords

/// The file of the access tokens, which is read again whenever it changes.
package final class TokenFile: ListedTokens {
  /// The facts that change when the file does.
  private struct Stamp: Equatable {
    let device: UInt64
    let inode: UInt64
    let size: Int
    let seconds: Int
    let nanoseconds: Int
  }

  private struct State {
    var stamp: Stamp?
    /// The tokens, or the reason why the file cannot be read: then no token is accepted.
    var tokens: Result<TokenList, ServerError>
  }

  /// The path of the file.
  package let path: String
  package let uses: TokenUses
  private let log: @Sendable (String) -> Void
  private let state: Mutex<State>

  /// The file at a path, which is read at once.
  ///
  /// - Parameters:
  ///   - now: The seconds since 1970.
  ///   - log: Called with messages for the operator, on any thread.
  /// - Throws: ``ServerError`` with code `tokens`.
  package init(
    path: String, now: @escaping @Sendable () -> Double = WallClock.seconds,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(ServerError) {
    self.path = path
    self.log = log
    uses = TokenUses(now: now, log: log)
    let stamp = Self.stamp(path)
    let tokens = try Self.read(path)
    state = Mutex(State(stamp: stamp, tokens: .success(tokens)))
    report(tokens)
  }

  /// - Throws: ``ServerError`` with code `tokens`, also if the file could be read before.
  package func list() throws(ServerError) -> TokenList {
    let stamp = Self.stamp(path)
    let (tokens, isNew) = state.withLock { state in
      guard stamp == nil || stamp != state.stamp else { return (state.tokens, false) }
      state.stamp = stamp
      do throws(ServerError) {
        state.tokens = .success(try Self.read(path))
      } catch {
        state.tokens = .failure(error)
      }
      return (state.tokens, true)
    }
    if isNew, case .success(let tokens) = tokens { report(tokens) }
    return try tokens.get()
  }

  /// Names the lines that cannot be used. The other tokens count.
  private func report(_ tokens: TokenList) {
    for fault in tokens.faults.prefix(Self.maxFaultCount) { log("\(path): \(fault)") }
    let rest = tokens.faults.count - Self.maxFaultCount
    if rest > 0 { log("\(path): \(rest) more lines cannot be used") }
  }

  /// The number of lines that a report names.
  private static let maxFaultCount = 20

  /// Reads the file again, also if nothing shows that it has changed.
  ///
  /// - Throws: ``ServerError`` with code `tokens`.
  package func reload() throws(ServerError) {
    state.withLock { $0.stamp = nil }
    _ = try list()
  }

  /// The tokens of a file that exists.
  package static func read(_ path: String) throws(ServerError) -> TokenList {
    let bytes: [UInt8]
    do throws(ServerError) {
      bytes = try FileBytes.read(path, maxByteCount: TokenList.maxByteCount, .tokens)
    } catch {
      throw ServerError(.tokens, "\(error.message). tandem token create makes the file")
    }
    do throws(ServerError) {
      return try TokenList(text: String(decoding: bytes, as: UTF8.self))
    } catch {
      throw ServerError(.tokens, "\(path): \(error.message)")
    }
  }

  private static func stamp(_ path: String) -> Stamp? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return Stamp(
      device: UInt64(truncatingIfNeeded: status.st_dev),
      inode: UInt64(truncatingIfNeeded: status.st_ino), size: Int(status.st_size),
      seconds: Int(time.tv_sec), nanoseconds: Int(time.tv_nsec))
  }
}

// MARK: - Last uses

extension TokenFile {
  /// The file of the last uses: lines of a token's hash and a time.
  private static func usesPath(_ path: String) -> String { "\(path).used" }

  /// The times of the last uses of tokens that a file beside the file at a path keeps, in seconds since 1970.
  package static func uses(besideFileAt path: String) -> [SHA256Digest: Int] {
    let bytes = try? FileBytes.read(
      usesPath(path), maxByteCount: TokenList.maxByteCount, .tokens)
    var times: [SHA256Digest: Int] = [:]
    // A file that was damaged says nothing about the lines that are lost.
    for line in String(decoding: bytes ?? [], as: UTF8.self).split(whereSeparator: \.isNewline) {
      let words = line.split(separator: " ").map { String($0) }
      guard words.count == 2, let hash = SHA256Digest(hexadecimal: words[0]),
        let time = TimeText.seconds(words[1])
      else { continue }
      times[hash] = time
    }
    return times
  }

  package func write(_ times: [SHA256Digest: Int]) throws(ServerError) {
    let known = Set(try list().tokens.map(\.hash))
    let all = Self.uses(besideFileAt: path).merging(times) { max($0, $1) }
      .filter { known.contains($0.key) }
    let text = all.map { "\($0.key) \(TimeText.text(seconds: $0.value))\n" }.sorted().joined()
    let (place, temporary) = (Self.usesPath(path), "\(Self.usesPath(path)).new")
    let file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else {
      throw ServerError(.tokens, "cannot write \(temporary): \(systemReason())")
    }
    defer { close(file) }
    let bytes = Array(text.utf8)
    guard systemWrite(file, bytes) == bytes.count, rename(temporary, place) == 0 else {
      throw ServerError(.tokens, "cannot write \(place): \(systemReason())")
    }
  }
}

/// Reads small files as a whole.
package enum FileBytes {
  /// The bytes of a file.
  ///
  /// - Throws: ``ServerError`` with the given code.
  package static func read(
    _ path: String, maxByteCount: Int, _ code: ServerError.Code
  ) throws(ServerError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw ServerError(code, "cannot read \(path): \(systemReason())") }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = systemRead(descriptor, &chunk)
      if count == 0 { return bytes }
      guard count > 0 else {
        if errno == EINTR { continue }
        throw ServerError(code, "cannot read \(path): \(systemReason())")
      }
      guard bytes.count + count <= maxByteCount else {
        throw ServerError(code, "cannot read \(path): it is longer than \(maxByteCount) bytes")
      }
      bytes += chunk[..<count]
    }
  }
}

/// `write(2)`, which writes a short file at once, or the disk is full.
private func systemWrite(_ descriptor: Int32, _ bytes: [UInt8]) -> Int {
  write(descriptor, bytes, bytes.count)
}

/// `read(2)`; the function above hides its own name.
private func systemRead(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
  read(descriptor, &buffer, buffer.count)
}
