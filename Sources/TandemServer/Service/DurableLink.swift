internal import SystemLibrary

/// A symbolic link in a directory whose text is a note. After a crash, it has its former text or the new one.
struct DurableLink {
  /// The path of the link.
  let path: String
  private let directory: String

  /// The link of a name, which may be missing.
  init(_ name: String, in directory: String) {
    path = "\(directory)/\(name)"
    self.directory = directory
  }

  /// The text; `nil` if there is no link.
  var text: String? {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &text, text.count)
    guard count > 0 else { return nil }
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Makes the link, or replaces it. Returns once that is on disk.
  func write(_ text: String) throws(ServerError) {
    try replace(text)
    try Self.synchronize(directory)
  }

  /// Removes the link. Returns once that is on disk.
  func remove() throws(ServerError) {
    guard unlink(path) == 0 else {
      throw ServerError(.directory, "cannot remove \(path): \(systemReason())")
    }
    try Self.synchronize(directory)
  }

  /// Makes the link, or replaces it, by one call of `rename(2)`. The caller synchronizes the directory.
  func replace(_ text: String) throws(ServerError) {
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    let temporary = "\(directory)/.tandem-link-\(number)"
    guard symlink(text, temporary) == 0 else {
      throw ServerError(.directory, "cannot write \(temporary): \(systemReason())")
    }
    guard rename(temporary, path) == 0 else {
      let reason = systemReason()
      unlink(temporary)
      throw ServerError(.directory, "cannot write \(path): \(reason)")
    }
  }

  /// Returns once the names in a directory are on disk.
  static func synchronize(_ directory: String) throws(ServerError) {
    guard synchronizeDirectory(directory) else {
      throw ServerError(.directory, "cannot synchronize \(directory): \(systemReason())")
    }
  }
}
