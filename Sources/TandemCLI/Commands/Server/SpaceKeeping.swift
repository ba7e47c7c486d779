import Tandem
import TandemServer

/// Keeps copies of spaces under other names, as spaces that can be imported.
struct SpaceKeeping {
  let spaces: SpaceDirectory
  /// The directory.
  let path: String

  /// Writes the state of a copy into a file of another name, as an export has it; returns its path.
  ///
  /// - Parameter maxCount: The number of such files of the space from which on this is an error.
  func keep(_ name: String, _ copy: SpaceCopy, maxCount: Int = .max) async throws -> String {
    let head = copy.position.head
    let target = "\(path)/\(name).kept-\(head.version)-\(String(head.mark, radix: 16))"
    guard access(target, F_OK) != 0 else { return target }
    let kept = try SpaceBackup.names(in: path).filter { $0.hasPrefix("\(name).kept-") }
    guard kept.count < maxCount else {
      throw FileError(
        path: target, action: "written",
        reason:
          "\(maxCount) former copies of the space are kept already; move away those that nobody "
          + "needs")
    }
    let hidden = SpaceBackup.hiddenPath(beside: target)
    defer { DatabaseFile.remove(hidden) }
    try SpaceSnapshot.make(of: spaces.file(of: name), at: hidden)
    try await SQLiteSpaceStore.write(path: hidden) { try $0.promoteCopy() }
    guard link(hidden, target) == 0 else {
      throw FileError(path: target, action: "written", code: errno)
    }
    try AtomicFile.synchronize(path)
    return target
  }
}
