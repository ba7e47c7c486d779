/// A mistake that a person can correct: in the choice of tables, or after a change of the schema.
public struct ReplicaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of mistake.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The name of the code.
    public let rawValue: String

    /// A code of this name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The file is not attached to a space.
    public static let notAttached = Code(rawValue: "notAttached")
    /// The file is attached to a space already.
    public static let alreadyAttached = Code(rawValue: "alreadyAttached")
    /// A table cannot be synchronized.
    public static let unsuitable = Code(rawValue: "unsuitable")
    /// The schema of the file no longer fits the synchronized tables.
    public static let schema = Code(rawValue: "schema")
    /// The file waits for the end of a change of its schema.
    public static let paused = Code(rawValue: "paused")
    /// There is no such conflict, or it has been resolved.
    public static let unknownConflict = Code(rawValue: "unknownConflict")
    /// There is no such rejected change, or it has no content to write.
    public static let unknownRejection = Code(rawValue: "unknownRejection")
    /// The file has rejected changes that exist nowhere else.
    public static let rejectedChanges = Code(rawValue: "rejectedChanges")
    /// A table does not accept a version of a row.
    public static let constraint = Code(rawValue: "constraint")
    /// The history of the space was lost, and nobody has decided how to continue.
    public static let undecided = Code(rawValue: "undecided")
    /// The space refuses the requests, rows cannot be sent, or rows still differ after a repair.
    public static let blocked = Code(rawValue: "blocked")
    /// The space has another history than the revision to wait for.
    public static let otherHistory = Code(rawValue: "otherHistory")
    /// A table of Tandem's own has content that Tandem did not write.
    public static let damaged = Code(rawValue: "damaged")
  }

  /// The kind of mistake.
  public var code: Code
  /// A sentence that says what to do.
  public var message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }

  /// The error of a file whose schema is being changed.
  static func paused(_ path: String) -> ReplicaError {
    ReplicaError(
      .paused,
      "\(path) is paused for a change of its schema; end the change first: tandem alter \(path) --end"
    )
  }
}
