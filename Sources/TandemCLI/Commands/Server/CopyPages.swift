import Tandem

/// Pages in a file without a name, which is gone with the process.
struct CopyPages: Sendable {
  private final class File: Sendable {
    let descriptor: Int32
    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { close(descriptor) }
  }

  private let file: File
  private let path: String
  private var lengths: [Int] = []

  init(in directory: String) throws {
    path = "\(directory)/.tandem-pages-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError(path: path, action: "written", code: errno) }
    file = File(descriptor)
    unlink(path)
  }

  mutating func append(_ page: [UInt8]) throws {
    do throws(OutputError) {
      try OutputStream.write(page, to: file.descriptor)
    } catch {
      throw FileError(path: path, action: "written", code: error.code)
    }
    lengths.append(page.count)
  }

  func forEach(_ body: ([UInt8]) throws -> Void) throws {
    var offset = 0
    for length in lengths {
      var page = [UInt8](repeating: 0, count: length)
      var count = 0
      while count < length {
        let read = page.withUnsafeMutableBytes { buffer in
          pread(
            file.descriptor, buffer.baseAddress?.advanced(by: count), length - count,
            off_t(offset + count))
        }
        guard read > 0 else { throw FileError(path: path, action: "read", code: errno) }
        count += read
      }
      offset += length
      try body(page)
    }
  }
}
