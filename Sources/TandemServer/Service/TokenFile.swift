internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The access tokens of a ``SyncService``, which may change at any time.
package protocol TokenSource: Sendable {
  /// The tokens as they are now.
  ///
  /// - Throws: ``ServerError`` with code `tokens`: then no token is accepted.
  func tokens() throws(ServerError) -> TokenList
}

/// The file of the access tokens, which is read again whenever it changes.
package final class TokenFile: TokenSource {
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
  private let state: Mutex<State>

  /// The file at a path, which is read at once.
  ///
  /// - Throws: ``ServerError`` with code `tokens`.
  package init(path: String) throws(ServerError) {
    self.path = path
    let stamp = Self.stamp(path)
    state = Mutex(State(stamp: stamp, tokens: .success(try Self.read(path))))
  }

  /// - Throws: ``ServerError`` with code `tokens`, also if the file could be read before.
  package func tokens() throws(ServerError) -> TokenList {
    let stamp = Self.stamp(path)
    return try state.withLock { state in
      if stamp == nil || stamp != state.stamp {
        state.stamp = stamp
        do throws(ServerError) {
          state.tokens = .success(try Self.read(path))
        } catch {
          state.tokens = .failure(error)
        }
      }
      return state.tokens
    }.get()
  }

  /// Reads the file again, also if nothing shows that it has changed.
  ///
  /// - Throws: ``ServerError`` with code `tokens`.
  package func reload() throws(ServerError) {
    state.withLock { $0.stamp = nil }
    _ = try tokens()
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

/// `read(2)`; the function above hides its own name.
private func systemRead(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
  read(descriptor, &buffer, buffer.count)
}
