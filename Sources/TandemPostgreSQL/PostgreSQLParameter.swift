internal import TandemRecords

/// A parameter of a statement.
enum PostgreSQLParameter {
  case value(FieldValue)
  /// Arrays, as of the keys that a statement looks up. Their elements are not null.
  case integers([Int64])
  case texts([String])
  case blobs([[UInt8]])
}

extension PostgreSQLParameter {
  /// The bytes of parameters in the binary format, one behind the other.
  struct Encoding {
    private(set) var bytes: [UInt8] = []
    /// Where each parameter is; `nil` for null.
    private(set) var ranges: [Range<Int>?] = []

    init(_ parameters: [PostgreSQLParameter]) {
      for parameter in parameters {
        if case .value(.null) = parameter {
          ranges.append(nil)
          continue
        }
        let start = bytes.count
        append(parameter)
        ranges.append(start..<bytes.count)
      }
      // An empty buffer has no address.
      bytes.append(0)
    }

    private mutating func append(_ parameter: PostgreSQLParameter) {
      switch parameter {
      case .value(.integer(let number)): bytes.append(bigEndian: number)
      case .value(.text(let text)): bytes.append(contentsOf: text.utf8)
      case .value(.blob(let blob)): bytes.append(contentsOf: blob)
      case .value(.real), .value(.null):
        preconditionFailure("no statement has a real as parameter, and nulls have no bytes")
      case .integers(let numbers):
        appendArray(of: PostgreSQLType.integer, numbers) { $0.append(bigEndian: $1) }
      case .texts(let texts):
        appendArray(of: PostgreSQLType.text, texts) { $0.append(contentsOf: $1.utf8) }
      case .blobs(let blobs):
        appendArray(of: PostgreSQLType.blob, blobs) { $0.append(contentsOf: $1) }
      }
    }

    private mutating func appendArray<Element>(
      of type: UInt32, _ elements: [Element], _ append: (inout [UInt8], Element) -> Void
    ) {
      // The number of dimensions, no nulls, the type, and the bounds.
      bytes.append(bigEndian: Int32(elements.isEmpty ? 0 : 1))
      bytes.append(bigEndian: Int32(0))
      bytes.append(bigEndian: Int32(type))
      guard !elements.isEmpty else { return }
      bytes.append(bigEndian: Int32(elements.count))
      bytes.append(bigEndian: Int32(1))
      for element in elements {
        let place = bytes.count
        bytes.append(bigEndian: Int32(0))
        append(&bytes, element)
        let length = Int32(bytes.count - place - 4)
        withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
      }
    }
  }
}

/// The numbers of types.
enum PostgreSQLType {
  static let integer: UInt32 = 20
  static let text: UInt32 = 25
  static let blob: UInt32 = 17
}

extension FieldValue {
  /// The value of a column in the binary format; `nil` for a type that no statement has.
  init?(_ bytes: UnsafeRawBufferPointer, ofType type: UInt32) {
    switch type {
    case PostgreSQLType.integer:
      guard bytes.count == 8 else { return nil }
      self = .integer(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
    case PostgreSQLType.text: self = .text(String(decoding: bytes, as: UTF8.self))
    case PostgreSQLType.blob: self = .blob(Array(bytes))
    default: return nil
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }
}
