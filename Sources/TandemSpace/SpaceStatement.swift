/// The statements of ``SpaceTables``. The stores have texts of their own for some of them; the parameters and the columns
/// of the rows are the same.
///
/// The names after the colon are parameters, in order; those after the arrow are columns.
package enum SpaceStatement: Int, CaseIterable, Sendable {
  // MARK: The space

  /// → epoch, head, horizon, tables, mark and digest of the head
  case state
  /// : epoch. Inserts the space at version 0, without tables.
  case insertSpace
  /// : version
  case setHead
  /// : version
  case setHorizon
  /// : tables
  case setTables
  /// : epoch. The horizon becomes the head.
  case setEpoch
  /// Marks the space as moved to another store, or takes the mark back: a negative horizon.
  case toggleMoved

  /// → version, number of records, number of bytes
  case usage
  /// : version, number of records, number of bytes
  case setUsage

  // MARK: The history

  /// : version, mark, digest, commit, replica, time
  case insertHistory
  /// : version → mark
  case mark
  /// : commit → version, mark
  case revisionOfCommit
  /// : mark, version
  case setMark
  /// : count → version, time, commit, replica, account, name
  case lastCommits
  /// As ``lastCommits``, of a space without ``SpaceTableGroup/replicaNames``.
  case lastCommitsWithoutNames
  /// : time → version
  case firstVersionSince
  /// : version. Forgets all of the commits below it but their identities, their times and their marks.
  case forgetDigests
  /// : version. Deletes the records that were deleted up to it.
  case forgetDeletions
  /// : version
  case forgetOverruled
  /// : version
  case forgetCounts

  // MARK: Replicas

  /// : id → account, sequence, commit, outcome
  case replica
  /// : id, account, sequence, commit, outcome. A replica keeps its first account.
  case storeReplica
  /// : text → id, in order
  case replicasBeginning
  /// : count → id, account, time
  case lastReplicas
  /// → count
  case replicaCount
  /// : id, name
  case setName
  /// : id
  case removeName

  // MARK: Records

  /// : table, key → fields, version, created, field versions
  case record
  /// : table, key, fields, version, created, field versions, id
  case insertRecord
  /// : table, key, fields, version, created, field versions
  case updateRecord
  /// : table, key → version, 1 if it lives, created
  case recordVersions
  /// : version, table → a row if one changed after it
  case recordChangedSince
  /// : version, table, key, version of deletions → version, table, key, id, fields, in order
  case changes
  /// : table → id, fields
  case liveRecords

  // MARK: Overruled versions

  /// : version, table, id, version of the record, fields
  case insertOverruled
  /// : version → table, id, version of the record, fields, in order of insertion
  case overruledByCommit
  /// : count → table, id, version, version of the record
  case lastOverruled
  /// → count
  case overruledCount

  // MARK: Parts of commits

  /// : time, time. Deletes the parts outside of these times.
  case dropOldParts
  /// : replica
  case dropParts
  /// : replica, sequence, commit, part, of, account, base, number of changes, number of overruled ones, time, message
  case storePart
  /// : replica → commit, of, base, account, part, number of changes, length, time, number of overruled ones
  case parts
  /// : replica, part → message
  case part

  // MARK: Constraints

  /// : table → number, table, definition, also of rules that refer to the table
  case rulesOfTable
  /// : table → number, table, definition
  case ownRules
  /// : number → number, table, definition, dropped ones as well
  case rulesAfter
  /// → number, table, definition, in order
  case rules
  /// → the highest number
  case lastRule
  /// : table, parent, definition
  case insertRule
  /// : table, definition → a row if there was ever such a rule
  case rule
  /// : number
  case dropRule
  /// : rule
  case dropClaims

  // MARK: Claims

  /// : rule, side, value, table → key, version
  case holders
  /// : rule, key → value
  case statedClaim
  /// : rule, side, value, key
  case insertClaim
  /// : rule, side, value, key
  case deleteClaim
  /// : rule, table, count → id. Records without a stated value, or with one that another has.
  case breakingIndex
  /// : rule, table, count → id. Records with a value that another has.
  case breakingUnique
  /// : rule, table, count → id. Records that need a value that none offers.
  case breakingReference
  /// : rule, table, count, parent → id. Records that need a record that does not live.
  case breakingKeyReference
  /// As ``breakingIndex``, in the order of versions and keys.
  case firstBreakingIndex
  /// As ``breakingUnique``, in the order of versions and keys.
  case firstBreakingUnique
  /// As ``breakingReference``, in the order of versions and keys.
  case firstBreakingReference
  /// As ``breakingKeyReference``, in the order of versions and keys.
  case firstBreakingKeyReference

  // MARK: Numbers, and what only people read

  /// → table, highest number
  case numbers
  /// : table, number
  case setNumber
  /// : version → table, count
  case counts
  /// : version, table, count
  case storeCount
  /// : table → definitions
  case definitions
  /// : table, definitions
  case storeDefinitions
  /// : table
  case forgetDefinitions
  /// → number of bytes
  case definitionByteCount
}
