extension RecordWriter {
  /// A list of records as a text of the given format, each record on lines of its own, with a line
  /// feed at the end. ``RecordReader`` reads the same records from it.
  ///
  /// - Complexity: O(*n*) in the bytes of the text.
  public static func text(of records: [Record], format: RecordFormat) -> [UInt8] {
    var bytes: [UInt8] = []
    switch format {
    case .json:
      bytes.append("[")
      for offset in records.indices {
        bytes.append(offset > 0 ? ",\n" : "\n")
        appendJSON(records[offset], to: &bytes)
      }
      bytes.append(records.isEmpty ? "]\n" : "\n]\n")
    case .ndjson:
      for record in records {
        appendJSON(record, to: &bytes)
        bytes.append(ASCII.lineFeed)
      }
    case .csv: appendCSV(records, to: &bytes)
    }
    return bytes
  }
}
