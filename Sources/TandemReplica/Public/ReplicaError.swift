/// A mistake that a person can correct: in the choice of tables, or after a change of the schema.
public struct ReplicaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of mistake.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The file is not attached to a space.
    public static let notAttached = Code(name: "notAttached")
    /// The file is attached to a space already.
    public static let alreadyAttached = Code(name: "alreadyAttached")
    /// A table cannot be synchronized.
    public static let unsuitable = Code(name: "unsuitable")
    /// The schema of the file no longer fits the synchronized tables.
    public static let schema = Code(name: "schema")
    /// The file waits for the end of a change of its schema.
    public static let paused = Code(name: "paused")
    /// There is no such kept edit, it has been resolved, or it has no version to write.
    public static let unknownEdit = Code(name: "unknownEdit")
    /// The file has rejected changes that exist nowhere else.
    public static let rejectedChanges = Code(name: "rejectedChanges")
    /// The file has open conflicts, whose overruled versions exist nowhere else.
    public static let openConflicts = Code(name: "openConflicts")
    /// A commit waits for its outcome, which a synchronization finds out.
    public static let waitingCommit = Code(name: "waitingCommit")
    /// A table does not accept a version of a row.
    public static let constraint = Code(name: "constraint")
    /// The history of the space was lost, and nobody has decided how to continue.
    public static let undecided = Code(name: "undecided")
    /// The space refuses the requests, rows cannot be sent, or rows still differ after a repair.
    public static let blocked = Code(name: "blocked")
    /// The space has another history than the revision to wait for.
    public static let otherHistory = Code(name: "otherHistory")
    /// The file is attached to another space.
    public static let otherSpace = Code(name: "otherSpace")
    /// A table of Tandem's own has content that Tandem did not write.
    public static let damaged = Code(name: "damaged")
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
      "\(path) is paused for a change of its schema; end the change first: `endSchemaChange()`"
    )
  }
}
