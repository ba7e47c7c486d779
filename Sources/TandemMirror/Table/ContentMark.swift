internal import TandemRecords

/// Whose a directory of files is, and what its files were made by: what is written into it.
struct ContentMark: Equatable {
  /// What was asked of a folder's files.
  struct Folder: Equatable {
    var field: String
    var digestField: String?
    var byteCountField: String?
  }

  /// The mirror, as ``ContentDatabase/owner()`` names it.
  var owner: String
  /// The folders, by their names.
  var folders: [String: Folder] = [:]
}

extension ContentMark.Folder {
  init(_ content: MirroredContent) {
    self.init(
      field: content.field, digestField: content.digestField,
      byteCountField: content.byteCountField)
  }
}

// MARK: - As text

extension ContentMark {
  /// Reads a mark; `nil` if it is none of this kind.
  init?(_ text: String) {
    guard let records = try? RecordReader.records(in: Array(text.utf8), format: .json),
      let owner = records.first?["owner"].textValue
    else { return nil }
    self.owner = owner
    for record in records.dropFirst() {
      guard let name = record["folder"].textValue, let field = record["field"].textValue else {
        return nil
      }
      folders[name] = Folder(
        field: field, digestField: record["sha256"].textValue,
        byteCountField: record["length"].textValue)
    }
  }

  /// The mark in JSON: an object for the owner, and one for each folder.
  var text: String {
    var records: [Record] = [["owner": .text(owner)]]
    for (name, folder) in folders.sorted(by: { $0.key < $1.key }) {
      records.append([
        "folder": .text(name), "field": .text(folder.field),
        "sha256": FieldValue(folder.digestField), "length": FieldValue(folder.byteCountField),
      ])
    }
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(records, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
