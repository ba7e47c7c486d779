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
