import Tandem

/// `tandem conflicts`: shows and resolves the conflicts of a file.
enum ConflictsCommand: KeptEditsCommand {
  static let selection = KeptEdit.Selection.conflicts

  static let specification = CommandSpecification(
    name: "conflicts",
    summary: "Show the conflicts of a database, or resolve them.",
    discussion: """
      Shows the open conflicts with their three versions: of the base that both sides started from,
      of this file (local) and of the space (remote). When a conflict is found, the row gets the
      version of the space; it may have changed since.

      "resolve ID" with --take resolves one by an ordinary edit of its row; run tandem sync
      afterwards. If both sides changed only some fields, only these are written. --take remote
      leaves the row as it is. Another version replaces the row as it is now: if the row has changed
      since the conflict, the version that is replaced is kept as a resolved conflict. Older
      conflicts of the row in the same fields are resolved too. "resolve all" resolves every open
      conflict so, in one transaction. "retry" is the same with --take local, "discard" with
      --take remote. Conflicts and rejected changes (tandem rejected) are numbered as one list.
      """,
    exitStatus: """
      0 no conflict is open, 1 conflicts are open, 2 errors. After resolve, retry and
      discard: 0 none is left, 1 some are left, 2 nothing has changed.
      """,
    operands: operands,
    options: keptEditOptions,
    examples: [
      "tandem conflicts notes.db",
      "tandem conflicts notes.db resolve 1 --take local",
      "tandem conflicts notes.db resolve 1 --take '{\"title\":\"both\"}'",
      "tandem conflicts notes.db resolve all --take local",
    ],
    repeatsLastOperand: true, usesDatabases: true)
}

/// `tandem rejected`: shows the changes that could not be synchronized.
enum RejectedCommand: KeptEditsCommand {
  static let selection = KeptEdit.Selection.rejected

  static let specification = CommandSpecification(
    name: "rejected",
    summary: "Show the changes that could not be synchronized, or make them again.",
    discussion: """
      Shows the changes that the space refused, that a constraint of this file forbids, or that no
      message can hold, with the reason:
        edit    was taken out of its row, and is kept here: correct the cause, and "retry" it, or
                "discard" it. "retry" writes only the fields that it changed; "resolve" with --take
                writes other values; "resolve" with --same joins a row that both copies made,
                such as a category of one name, and what refers to it
        row     is still in its row, and cannot be sent: correct the row, and run tandem sync
        record  is a record of the space that a table of this file does not accept: correct the
                table, and "retry" it. Until then, the other copies have it

      "retry all" and "discard all" are one transaction. Changes that the tables still do not accept,
      and those of the kind row, stay when all are retried; those of the kind record when all are
      discarded. Conflicts (tandem conflicts) and rejected changes are numbered as one list.
      """,
    exitStatus: """
      0 if there are none, 1 if there are, 2 errors. After resolve, retry and discard:
      0 none is left, 1 some are left, 2 nothing has changed.
      """,
    operands: operands,
    options: keptEditOptions,
    examples: [
      "tandem rejected notes.db", "tandem rejected notes.db retry 1",
      "tandem rejected notes.db retry all", "tandem rejected notes.db resolve 3 --same",
    ],
    repeatsLastOperand: true, usesDatabases: true)
}
