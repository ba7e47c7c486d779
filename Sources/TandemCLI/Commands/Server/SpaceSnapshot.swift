import Tandem
import TandemServer

/// A file with the state of a space at one moment, which nobody changes.
enum SpaceSnapshot {
  /// Writes the state of a space at one moment into a new file, durably. A server may be using the space.
  static func make(of source: String, at target: String) throws {
    let connection = try DatabaseConnection(path: source, access: .readWrite)
    try connection.execute("VACUUM INTO ?", .text(target))
    guard chmod(target, 0o600) == 0 else {
      throw FileError(path: target, action: "written", code: errno)
    }
    try AtomicFile.synchronize(target)
  }

  /// Writes the state of a space at one moment into a new file, durably, with the members of the space.
  static func make(of name: String, in spaces: SpaceDirectory, at target: String) throws {
    try make(of: spaces.file(of: name), at: target)
    try MemberFile.embed(spaces.memberFile.members(of: name), in: target)
  }

  /// Checks that SQLite finds no damage in a copy, and that its records are those that its digest is of.
  static func check(_ path: String) async throws {
    let report = try DatabaseConnection(path: path, access: .readOnly).rows(
      "PRAGMA integrity_check(1)")
    guard report == [[FieldValue.text("ok")]] else {
      throw FileError(path: path, action: "used", reason: "SQLite finds it damaged")
    }
    try await SQLiteSpaceStore.read(path: path) { try $0.checkDigest() }
  }

  /// The SHA-256 of a file.
  static func digest(of path: String) throws -> SHA256Digest {
    let input = open(path, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else { throw FileError(path: path, action: "read", code: errno) }
    defer { close(input) }
    var hash = SHA256()
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(input, &chunk, chunk.count)
      guard count >= 0 else { throw FileError(path: path, action: "read", code: errno) }
      if count == 0 { return hash.finalized() }
      chunk[..<count].withUnsafeBytes { hash.update($0) }
    }
  }

  /// True if two files have the same bytes.
  static func isEqual(_ first: String, _ second: String) -> Bool {
    let descriptors = [first, second].map { (path: String) in open(path, O_RDONLY | O_CLOEXEC) }
    defer { for descriptor in descriptors where descriptor >= 0 { close(descriptor) } }
    guard descriptors.allSatisfy({ $0 >= 0 }) else { return false }
    var chunks = [[UInt8]](repeating: [UInt8](repeating: 0, count: 1 << 20), count: 2)
    while true {
      let counts = (0...1).map { read(descriptors[$0], &chunks[$0], chunks[$0].count) }
      guard counts[0] == counts[1], counts[0] >= 0,
        chunks[0].prefix(counts[0]) == chunks[1].prefix(counts[1])
      else { return false }
      if counts[0] == 0 { return true }
    }
  }

  /// Writes the bytes of a file into a new one, durably. After an error, there is no new file.
  static func copy(_ source: String, to target: String) throws {
    let input = open(source, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else { throw FileError(path: source, action: "read", code: errno) }
    defer { close(input) }
    let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw FileError(path: target, action: "written", code: errno) }
    defer { close(output) }
    do {
      var chunk = [UInt8](repeating: 0, count: 1 << 20)
      while true {
        let count = read(input, &chunk, chunk.count)
        guard count >= 0 else { throw FileError(path: source, action: "read", code: errno) }
        if count == 0 { break }
        do throws(OutputError) {
          try OutputStream.write(Array(chunk[..<count]), to: output)
        } catch {
          throw FileError(path: target, action: "written", code: error.code)
        }
      }
      guard synchronizeFile(output) else {
        throw FileError(path: target, action: "written", code: errno)
      }
    } catch {
      unlink(target)
      throw error
    }
  }
}
