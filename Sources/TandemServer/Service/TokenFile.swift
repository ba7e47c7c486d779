internal import Synchronization
internal import SystemLibrary
package import TandemDigests
internal import TandemRecords

/// The file of the access tokens, which is read again whenever it changes.
package final class TokenFile: ListedTokens {
  private struct State {
    var version: FileVersion?
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
    let version = FileVersion(at: path)
    let tokens = try Self.read(path)
    state = Mutex(State(version: version, tokens: .success(tokens)))
    report(tokens)
  }

  /// - Throws: ``ServerError`` with code `tokens`, also if the file could be read before.
  package func list() throws(ServerError) -> TokenList {
    let version = FileVersion(at: path)
    let (tokens, isNew) = state.withLock { state in
      guard version == nil || version != state.version else { return (state.tokens, false) }
      state.version = version
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
    state.withLock { $0.version = nil }
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
    let place = Self.usesPath(path)
    let temporary = "\(place).new"
    // Left over by a process that ended.
    unlink(temporary)
    guard replaceFile(place, by: Array(text.utf8), at: temporary, mode: 0o600) else {
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
    guard let bytes = readToEnd(descriptor, maxByteCount: maxByteCount) else {
      let reason =
        errno == EFBIG ? "it is longer than \(maxByteCount) bytes" : systemReason()
      throw ServerError(code, "cannot read \(path): \(reason)")
    }
    return bytes
  }
}
