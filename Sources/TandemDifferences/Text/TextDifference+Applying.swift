extension TextDifference {
  /// Returns the new text, given the old one. Returns `nil` if this difference does not fit it: a
  /// deleted text is not at its offset, byte by byte, or an edit is beyond the end or inside a
  /// Unicode scalar.
  ///
  /// - Complexity: O(*n* + *m*) for texts of *n* and *m* bytes.
  public func applying(to text: String) -> String? {
    var text = text
    return text.withUTF8 { bytes in
      guard let byteCount = byteCount(afterApplyingTo: bytes) else { return nil }
      return String(unsafeUninitializedCapacity: byteCount) { write(bytes, into: $0) }
    }
  }

  private func byteCount(afterApplyingTo bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    var byteCount = bytes.count
    for edit in edits {
      guard edit.fits(bytes) else { return nil }
      byteCount += edit.inserted.utf8.count - edit.deleted.utf8.count
    }
    return byteCount
  }

  private func write(
    _ bytes: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    var read = 0
    var written = 0
    func append(_ slice: UnsafeBufferPointer<UInt8>) {
      written = output[written...].update(fromContentsOf: slice)
    }
    for edit in edits {
      append(UnsafeBufferPointer(rebasing: bytes[read..<edit.offset]))
      var inserted = edit.inserted
      inserted.withUTF8(append)
      read = edit.offset + edit.deleted.utf8.count
    }
    append(UnsafeBufferPointer(rebasing: bytes[read...]))
    return written
  }
}

extension TextDifference.Edit {
  /// Returns true if `deleted` is at `offset`, and `offset` is between two scalars.
  fileprivate func fits(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard offset <= bytes.count, deleted.utf8.count <= bytes.count - offset else { return false }
    guard offset == bytes.count || !UTF8.isContinuation(bytes[offset]) else { return false }
    return bytes[offset...].starts(with: deleted.utf8)
  }
}
