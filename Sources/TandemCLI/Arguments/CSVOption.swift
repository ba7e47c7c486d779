import Tandem

/// The options that name the dialect of CSV, for every command that reads lists.
enum CSVOption {
  static let delimiter = ValueOption<UInt8>(
    "delimiter", "CHAR", takes: "one ASCII character, such as ';', or tab",
    help: "The character between the fields of CSV (default: a comma;\na tab for .tsv)."
  ) { text in
    if text == "tab" || text == "\\t" { return UInt8(ascii: "\t") }
    guard text.utf8.count == 1, let byte = text.utf8.first else { return nil }
    return CSVOptions.isDelimiter(byte) ? byte : nil
  }
  static let encoding = ValueOption<CSVEncoding>(
    "encoding", "NAME",
    help: "The encoding of CSV: utf-8, latin1, windows-1252 or\nutf-16 (default: utf-8).")
  static let comment = ValueOption<UInt8>(
    "comment", "CHAR", takes: "one ASCII character, such as #",
    help: "Skip the lines of CSV that begin with this character."
  ) { text in
    guard text.utf8.count == 1, let byte = text.utf8.first else { return nil }
    return CSVOptions.isDelimiter(byte) && byte > 0x20 ? byte : nil
  }
  static let ragged = Flag(
    "ragged",
    help:
      "Accept rows of CSV with fewer fields than the header, the\nothers being empty, and with more if they are empty."
  )

  static let quotes = ValueOption<CSVQuotes>(
    "quotes", "HOW",
    help:
      "The meaning of quotes in CSV: strict as in RFC 4180;\nlenient, which keeps stray quotes in fields; none, "
      + "where\neach quote is a character (default: strict).")
  static let noHeader = Flag(
    "no-header",
    help: "CSV has no line of field names; the fields are column_1,\ncolumn_2 and so on.")
  static let skipLines = ValueOption(
    "skip-lines", in: 0...1_000_000,
    help: "Skip this number of lines of CSV before the header.")

  /// The options for lists that are also written.
  static let ofMerge: [any CommandOption] = [delimiter, encoding, comment, ragged]
  /// The options for lists that are only read.
  static let all: [any CommandOption] = ofMerge + [quotes, noHeader, skipLines]
}
