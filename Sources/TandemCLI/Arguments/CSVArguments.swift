import Tandem

extension ParsedArguments {
  /// The dialect of CSV that the options name.
  func csvOptions() throws(UsageError) -> CSVOptions {
    var options = CSVOptions(
      delimiter: self[CSVOption.delimiter], encoding: self[CSVOption.encoding] ?? .utf8,
      comment: self[CSVOption.comment], allowsRaggedRows: self[CSVOption.ragged])
    options.ignoresCharset = has(CSVOption.encoding)
    if command.options.contains(where: { $0.name == CSVOption.quotes.name }) {
      options.quotes = self[CSVOption.quotes] ?? .strict
      options.hasHeader = !self[CSVOption.noHeader]
      options.skippedLineCount = self[CSVOption.skipLines] ?? 0
    }
    // The rows with an empty first field would be taken for comments, and lost.
    if options.comment == options.delimiter ?? UInt8(ascii: ",") {
      throw error(
        "--comment names the delimiter; choose another character, or another --delimiter")
    }
    return options
  }

  /// Rejects options for CSV if no list is CSV.
  func checkCSVOptions(for formats: [RecordFormat]) throws(UsageError) {
    guard !formats.contains(where: \.isCSV) else { return }
    for option in CSVOption.all
    where command.options.contains(where: { $0.name == option.name }) && has(option) {
      throw error("--\(option.name) is for CSV, and no list is CSV")
    }
  }
}
