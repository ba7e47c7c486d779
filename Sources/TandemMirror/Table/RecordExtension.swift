internal import TandemRecords

/// Adds the fields of files to records, keeping one layout for those of one layout.
final class RecordExtension {
  private let fileFields: [String]
  private var layouts: [ObjectIdentifier: (old: RecordLayout, new: RecordLayout)] = [:]

  init(_ contents: [MirroredContent]) {
    fileFields = contents.map(\.fileField)
  }

  /// The record with these paths in its fields, in place of what they had if it is a row's.
  func record(_ record: Record, files: [String?]) throws -> Record {
    let layout = try layout(for: record.layout)
    var values = record.values
    values += Array(repeating: .null, count: layout.names.count - values.count)
    for (position, field) in fileFields.enumerated() {
      let path = position < files.count ? files[position] : nil
      if let offset = layout.offset(of: field) { values[offset] = path.map { .text($0) } ?? .null }
    }
    guard let extended = Record(layout: layout, values: values) else {
      preconditionFailure("there is a value for each name")
    }
    return extended
  }

  private func layout(for old: RecordLayout) throws -> RecordLayout {
    if let known = layouts[ObjectIdentifier(old)] { return known.new }
    let added = fileFields.filter { old.offset(of: $0) == nil }
    guard let new = RecordLayout(old.names + added) else {
      throw MirrorError(.unfitDestination, "the records have too many fields")
    }
    layouts[ObjectIdentifier(old)] = (old, new)
    return new
  }
}
