package import TandemRecords

/// Reads the messages of synchronization.
///
/// Any bytes either decode or throw a ``TextFault`` with the reason and its offset. Limits are
/// checked while reading, so a message takes no more memory than the limits allow. A field that
/// this version does not know is a fault: its sender expects it to have an effect. Fields may come
/// in any order.
package struct SyncMessageReader: Sendable {
  /// The limits.
  package let limits: SyncLimits

  /// A reader with the given limits.
  package init(limits: SyncLimits = SyncLimits()) { self.limits = limits }

  /// Reads a commit.
  package func commit(_ bytes: [UInt8]) throws(TextFault) -> SyncCommit {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.commit()
    }
  }

  /// Reads what identifies a commit. It needs no memory for the changes.
  package func commitIdentity(_ bytes: [UInt8]) throws(TextFault) -> SyncCommitIdentity {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.commitIdentity()
    }
  }

  /// Reads the answer to a commit: its outcome, or the refusal of the request as a whole.
  package func answer(_ bytes: [UInt8]) throws(TextFault) -> Result<SyncOutcome, SyncRequestError> {
    try read(bytes, limits.maxAnswerByteCount) { (reading) throws(TextFault) in
      try reading.answer()
    }
  }

  /// Reads a page.
  package func page(_ bytes: [UInt8]) throws(TextFault) -> SyncPage {
    try read(bytes, limits.maxPageMessageByteCount) { (reading) throws(TextFault) in
      try reading.page()
    }
  }

  /// Reads a declaration of tables.
  package func tables(_ bytes: [UInt8]) throws(TextFault) -> [SpaceTable] {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.tables()
    }
  }

  /// Reads a constraint.
  package func constraint(_ bytes: [UInt8]) throws(TextFault) -> SpaceConstraint {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.constraint()
    }
  }

  /// Reads the definitions of a table's columns.
  package func definitions(_ bytes: [UInt8]) throws(TextFault) -> [SpaceColumn] {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.definitions()
    }
  }

  /// Reads the state of a space.
  package func state(_ bytes: [UInt8]) throws(TextFault) -> SpaceState {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.state()
    }
  }

  /// Reads a list of spaces.
  package func listings(_ bytes: [UInt8]) throws(TextFault) -> [SpaceListing] {
    try read(bytes, limits.maxCommitByteCount) { (reading) throws(TextFault) in
      try reading.listings()
    }
  }

  /// Reads the data of an event.
  package func event(_ bytes: [UInt8]) throws(TextFault) -> SyncEvent {
    try read(bytes, limits.maxPageMessageByteCount) { (reading) throws(TextFault) in
      try reading.event()
    }
  }

  /// Reads the values of a key.
  package func id(_ bytes: [UInt8]) throws(TextFault) -> [FieldValue] {
    try read(bytes, limits.maxRecordByteCount) { (reading) throws(TextFault) in try reading.id() }
  }

  /// Reads the fields of a record.
  ///
  /// - Parameter layout: The layout that the record gets if it has these fields in this order, as
  ///   most records of one table have.
  package func fields(
    _ bytes: [UInt8], expecting layout: RecordLayout? = nil
  ) throws(TextFault) -> Record {
    try read(bytes, limits.maxRecordByteCount) { (reading) throws(TextFault) in
      if let layout { reading.lastLayout = layout }
      return try reading.record()
    }
  }

  private func read<Value>(
    _ bytes: [UInt8], _ maxByteCount: Int,
    _ body: (inout SyncMessageReading) throws(TextFault) -> Value
  ) throws(TextFault) -> Value {
    guard bytes.count <= maxByteCount else {
      throw TextFault(
        .limitExceeded, "the message has \(bytes.count) bytes, more than \(maxByteCount)",
        at: maxByteCount)
    }
    var value: Value?
    try JSONCursor.read(bytes, maxNestingDepth: SyncMessageReading.maxNestingDepth) {
      (cursor) throws(TextFault) in
      var reading = SyncMessageReading(cursor, limits)
      defer { cursor = reading.cursor }
      value = try body(&reading)
    }
    guard let value else { preconditionFailure("a message without a fault has a value") }
    return value
  }
}

extension SyncRequestError {
  /// The refusal of a message that cannot be read.
  package init(_ fault: TextFault) {
    self.init(
      fault.code == .limitExceeded ? .overLimit : .malformed,
      "the message cannot be read: \(fault)")
  }
}
