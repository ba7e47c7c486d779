#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The folder with the files of the demo.
struct Folder: Sendable {
  let path: String
  private let isTemporary: Bool

  /// A folder, which is created if it is missing; without a path, a new one for this run.
  init(_ path: String?) throws {
    isTemporary = path == nil
    if let path {
      guard mkdir(path, 0o700) == 0 || errno == EEXIST, let whole = realpath(path, nil) else {
        throw DemoError("\(path): \(String(cString: strerror(errno)))")
      }
      defer { free(whole) }
      self.path = String(cString: whole)
    } else {
      let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
      var template = Array("\(parent)/tandem-demo-XXXXXX".utf8CString)
      guard mkdtemp(&template) != nil else {
        throw DemoError("\(parent): \(String(cString: strerror(errno))); name a folder with --data")
      }
      self.path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
  }

  /// Removes the folder, if it was made for this run.
  func end() {
    guard isTemporary else { return }
    Folder.remove(path)
  }

  /// Removes a file, or a folder with everything in it.
  private static func remove(_ path: String) {
    if let folder = opendir(path) {
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
          name.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
        }
        if name != ".", name != ".." { remove("\(path)/\(name)") }
      }
      closedir(folder)
      rmdir(path)
    } else {
      unlink(path)
    }
  }
}
