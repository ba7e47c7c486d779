extension FieldValue: CustomStringConvertible {
  /// The value as ``RecordWriter`` writes it: `17`, `1.0`, `"Büsingen"`, `null`.
  public var description: String {
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(self, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}
