internal import Synchronization
import TandemRecords
import TandemSync

/// The file of a ``SynchronizedArray``: its contents and its shadow as one JSON document.
final class SavedArray<Element: Codable & Equatable & Sendable>: Sendable {
  /// What a file contains.
  struct State: Sendable, Codable {
    var tandemArray = 1
    var contents: [Element]
    var shadow: RemoteShadow<Element>
  }

  private let file: LockedFile
  /// The bytes that were read or written last, and the number of that writing.
  private let last: Mutex<(bytes: [UInt8]?, number: Int)>

  /// The maximum length of a file, in bytes.
  private static var maxByteCount: Int { 256 << 20 }

  /// Opens a file, which need not exist, and returns its state.
  ///
  /// - Throws: ``RemoteError`` if the file cannot be read, or has another form.
  static func open(_ path: String) throws(RemoteError) -> (file: SavedArray, state: State?) {
    let file = LockedFile(path: path)
    let bytes = try file.bytes(maxByteCount: maxByteCount)
    let saved = SavedArray(file, bytes)
    guard let bytes else { return (saved, nil) }
    let state: State
    do {
      state = try JSONValue(parsing: bytes).decoded(as: State.self)
    } catch {
      throw RemoteError(
        .malformed, path,
        "it has no saved array, or its records have another form (\(error)); choose another path, or read "
          + "the records by their old type")
    }
    guard state.tandemArray == 1 else {
      throw RemoteError(
        .malformed, path,
        "it has version \(state.tandemArray) of the format, and this program reads version 1; use a newer "
          + "program")
    }
    return (saved, state)
  }

  private init(_ file: LockedFile, _ bytes: [UInt8]?) {
    self.file = file
    last = Mutex((bytes, 0))
  }

  /// Replaces the file, unless a later writing has replaced it.
  ///
  /// - Parameter number: The number of this writing. Writings may overtake each other.
  /// - Throws: ``RemoteError``, also if another program has changed the file; `CancellationError`.
  func write(_ state: State, number: Int) async throws {
    var bytes: [UInt8] = []
    do {
      let json = try JSONValue(encoding: state)
      bytes.appendJSON { $0.write(json) }
    } catch {
      throw RemoteError(.notEncodable, file.path, "a record cannot be written as JSON: \(error)")
    }
    guard bytes.count <= Self.maxByteCount else {
      throw RemoteError.tooLarge(file.path, Self.maxByteCount)
    }
    let new = bytes
    try await file.withLock {
      let (known, written) = last.withLock { $0 }
      guard number > written, new != known else { return }
      guard try file.bytes(maxByteCount: Self.maxByteCount) == known else {
        throw RemoteError(
          .file, file.path,
          "another program has changed it since it was opened; give each program a file of its own")
      }
      try file.replace(with: new)
      last.withLock { $0 = (new, number) }
    }
  }
}
