/// The answer of a space to a commit.
///
/// The first three are stored with the commit and consume its sequence: the same commit gets the
/// same answer again. After the others, the replica has not used the sequence.
package enum SyncOutcome: Hashable, Sendable {
  /// All changes were made and are durable. The revision and digest are those after the commit.
  case accepted(SpaceRevision, RecordDigest)
  /// Other commits since the base changed the same things. Nothing was changed; the sequence is
  /// consumed. The replica pulls, merges and sends a new commit.
  case conflict([SyncObjection])
  /// The space can never accept these changes. Nothing was changed; the sequence is consumed. The
  /// replica sets them aside and sends the rest as a new commit.
  case refused([SyncObjection])
  /// The commit does not continue those of its replica: the replica's file was restored or copied.
  ///
  /// `last` is the replica's last sequence that the space knows. `fate` is the revision that this
  /// very commit made, if the history still contains it.
  case sequence(last: Int, fate: SpaceRevision?)
  /// The space cannot relate the base to its history.
  case gone(SyncGone)
  /// The space keeps the part that was sent, and judges the commit when it has these parts too: at least one, in
  /// ascending order.
  case parts(missing: [Int])
}

/// The reasons why a space cannot continue from a revision.
package enum SyncGone: String, Hashable, Sendable, CaseIterable {
  /// The revision belongs to a history that was created separately.
  case epoch
  /// The space went back to a state before the revision, and may have continued differently.
  case history
  /// The revision is below the horizon: the space has forgotten the deletions since.
  case horizon
}

/// An objection of a space to one change.
package struct SyncObjection: Hashable, Sendable {
  /// The kinds of objection. Codes that this version does not know are kept.
  package struct Reason: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Conflict: an insert of a record that lives with other fields.
    package static let exists = Reason(rawValue: "exists")
    /// Conflict: a change of a record that does not live.
    package static let missing = Reason(rawValue: "missing")
    /// Conflict: a change of a record that was deleted and created again after the base.
    package static let recreated = Reason(rawValue: "recreated")
    /// Conflict: a change of something that was changed after the base.
    package static let changed = Reason(rawValue: "changed")
    /// A unique value of the record is that of another one. It is a conflict if one of the two changed after the
    /// base, and refused otherwise; so are the following two.
    package static let taken = Reason(rawValue: "taken")
    /// Another record refers to a value that the change removes.
    package static let needed = Reason(rawValue: "needed")
    /// No record has the value that the record refers to.
    package static let missingParent = Reason(rawValue: "missingParent")
    /// Refused: the change does not state the value of the record in a unique index that it may change.
    package static let unclaimed = Reason(rawValue: "unclaimed")
    /// Refused: the space has no such table.
    package static let unknownTable = Reason(rawValue: "unknownTable")
    /// Refused: the table has no such column.
    package static let unknownColumn = Reason(rawValue: "unknownColumn")
    /// Refused: the key has not one value, other than null, for each key column.
    package static let invalidKey = Reason(rawValue: "invalidKey")
    /// Refused: the commit changes the record, or a field of it, twice.
    package static let repeated = Reason(rawValue: "repeated")
    /// Refused: the field does not hold an integer, or the sum is outside the range of integers.
    package static let notAddable = Reason(rawValue: "notAddable")
    /// Refused: the record would exceed ``SyncLimits/maxRecordByteCount``.
    package static let tooLarge = Reason(rawValue: "tooLarge")

    /// Refused: a rule of the application objects, with a message for people. It is cut at
    /// ``SyncLimits/maxRuleMessageByteCount``.
    ///
    /// The message is a part of the reason, because programs of earlier versions show reasons that they do not know,
    /// and read no other field.
    package static func rule(_ message: String) -> Reason {
      var byteCount = 0
      let text = message.prefix { character in
        byteCount += character.utf8.count
        return byteCount <= SyncLimits.maxRuleMessageByteCount
      }
      return Reason(rawValue: rulePrefix + text)
    }

    /// The message of a rule; `nil` for another reason.
    package var ruleMessage: String? {
      rawValue.hasPrefix(Self.rulePrefix) ? String(rawValue.dropFirst(Self.rulePrefix.count)) : nil
    }

    private static let rulePrefix = "rule: "
  }

  /// The identity of the record.
  package let key: SyncKey
  /// The kind of objection.
  package let reason: Reason

  package init(key: SyncKey, reason: Reason) {
    self.key = key
    self.reason = reason
  }
}

/// The error of a request that a space refuses as a whole. Nothing of it was applied. A commit that its account may not
/// send, or that is beyond a quota, consumes its sequence; others consume none.
public struct SyncRequestError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of error. Codes that this version does not know are kept.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// A code of this name, which may be one of a later version.
    package init(name: String) { self.name = name }

    /// The request is not a message of this protocol.
    public static let malformed = Code(name: "malformed")
    /// The request exceeds a limit of `SyncLimits`.
    public static let overLimit = Code(name: "overLimit")
    /// The space would exceed its quota of records or bytes. Every commit that makes no more of them is accepted.
    public static let overQuota = Code(name: "overQuota")
    /// The request names nobody.
    public static let unauthenticated = Code(name: "unauthenticated")
    /// The request is not permitted to whom it names.
    public static let unauthorized = Code(name: "unauthorized")
    /// There is no such space.
    public static let unknownSpace = Code(name: "unknownSpace")
    /// The server has no such address.
    public static let unknownRoute = Code(name: "unknownRoute")
    /// The address exists, but not with this method.
    public static let methodNotAllowed = Code(name: "methodNotAllowed")
    /// The body is not JSON by its `Content-Type`, or it is compressed.
    public static let unsupportedMedia = Code(name: "unsupportedMedia")
    /// The tables of the replica are not those of the space.
    public static let differentTables = Code(name: "differentTables")
    /// The account is the only owner of the space, which has to keep one.
    public static let lastOwner = Code(name: "lastOwner")
    /// The client has too many requests under way. The same bytes may be sent again.
    public static let tooManyRequests = Code(name: "tooManyRequests")
    /// The space cannot answer now. The outcome is unknown; the same bytes may be sent again.
    public static let unavailable = Code(name: "unavailable")
  }

  /// The kind of error.
  public let code: Code
  /// A sentence for people that says what to do.
  public let message: String
  /// The time after which to send the request again, if the space said so.
  public let retryAfter: Duration?

  package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// True if the same request may succeed later.
  public var isTransient: Bool { code == .unavailable || code == .tooManyRequests }

  /// The message.
  public var description: String { message }
}
