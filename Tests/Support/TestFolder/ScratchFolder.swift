internal import Foundation

/// A folder that vanishes with its owner.
package final class ScratchFolder: Sendable {
  package let path = NSTemporaryDirectory() + "tandem-\(UUID().uuidString)"

  package init() {}

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package func make() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  package func create(_ name: String, _ bytes: [UInt8]) {
    _ = FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data(bytes))
  }

  package func contents(_ name: String) -> [UInt8] {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { Array($0) } ?? []
  }

  package func names(_ name: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(name)")) ?? []
  }

  package func replace(in name: String, _ text: String, _ replacement: String) {
    let old = String(decoding: contents(name), as: UTF8.self)
    create(name, Array(old.replacingOccurrences(of: text, with: replacement).utf8))
  }
}
