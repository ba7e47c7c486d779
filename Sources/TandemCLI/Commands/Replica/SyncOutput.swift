import Synchronization
import Tandem

/// The output of `tandem sync`.
final class SyncOutput: Sendable {
  let path: String
  let printsJSON: Bool
  let isQuiet: Bool
  let watches: Bool
  let progress: SyncProgress
  /// The troubles that were reported since the file was in step, so that each is reported once. Attempts to reach a
  /// server do not end.
  private let troubles = Mutex<Set<String>>([])
  private static let maxTroubleCount = 100

  init(path: String, printsJSON: Bool, isQuiet: Bool, watches: Bool) {
    self.path = path
    self.printsJSON = printsJSON
    self.isQuiet = isQuiet
    self.watches = watches
    progress = SyncProgress(isShown: !isQuiet && !watches)
  }

  /// Shows a state of the synchronization, and the error that led to it. An end of the reader stops the
  /// command by itself.
  func note(_ status: SyncStatus, _ cause: (any Error)?) {
    progress.note(status)
    if printsJSON {
      printLine { write(status, cause, to: &$0) }
    } else if watches, !isQuiet {
      switch status {
      case .upToDate(let revision):
        troubles.withLock { $0 = [] }
        report("in step at revision \(revision.version)")
      case .blocked(let block): report(trouble: SyncCommand.remedy(block))
      case .offline:
        let reason = cause.map { ": \($0)" } ?? ""
        let isFull = (cause as? DatabaseError)?.code.primary == .full
        let state = isFull ? "the disk is full" : "the space cannot be reached"
        report(trouble: "\(state); trying again\(reason)")
      case .connecting, .pushing, .pulling, .verifying: break
      }
    }
  }

  private func report(trouble: String) {
    let isNew = troubles.withLock { troubles in
      if troubles.count == Self.maxTroubleCount { troubles = [] }
      return troubles.insert(trouble).inserted
    }
    if isNew { report(trouble) }
  }

  /// Reports an event of `--watch`, with its time.
  private func report(_ event: String) {
    var (now, parts) = (time(nil), tm())
    localtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 32)
    strftime(&text, text.count, "%Y-%m-%d %H:%M:%S", &parts)
    let digits = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    TandemCLI.report("\(String(decoding: digits, as: UTF8.self)) \(path): \(event)")
  }

  /// Shows the progress of a synchronization.
  func note(_ progress: ReplicaProgress) {
    let (share, remaining) = self.progress.note(progress)
    guard printsJSON, progress.rowCount > 0 else { return }
    printLine { json in
      json.field("event", "progress")
      json.field("stage", progress.stage.rawValue)
      json.field("rows", progress.rowCount)
      json.field("bytes", progress.byteCount)
      json.field("share", share.map { FieldValue.real($0) })
      json.field("remainingSeconds", remaining.map { FieldValue.real($0 / .seconds(1)) })
    }
  }

  /// The most rows with another key that one pull prints as text.
  private static let maxPrintedRowCount = 20

  /// Shows the rows that got another key.
  func note(renumbered: [RenumberedRow]) {
    if printsJSON {
      for row in renumbered {
        printLine { json in
          json.field("event", "renumbered")
          json.field("table", row.table)
          json.field("from", FieldValue.integer(row.former))
          json.field("to", FieldValue.integer(row.present))
        }
      }
    }
    guard !isQuiet else { return }
    for row in renumbered.prefix(Self.maxPrintedRowCount) {
      TandemCLI.report(
        "\(path): renumbered: \(row.table) \(row.former) is \(row.present) from now on")
    }
    let rest = renumbered.count - Self.maxPrintedRowCount
    if rest > 0 {
      TandemCLI.report(
        "\(path): renumbered: \(Quantity.count(rest, "more row")) (--json lists all)")
    }
  }

  private func printLine(_ body: (inout JSONWriter) -> Void) {
    do {
      try OutputStream.printObject(body)
    } catch {
      // Nobody would learn anything more. A synchronization may be stopped at any moment.
      TandemCLI.report("\(error)")
      exit(ExitStatus.failure)
    }
  }

  /// Writes the event of a file that cannot be synchronized.
  func noteBlock(_ reason: String) {
    guard printsJSON else { return }
    try? OutputStream.printObject { json in
      json.field("event", "status")
      json.field("status", "blocked")
      json.field("reason", LibraryNames.replaced(in: reason))
    }
  }

  /// Reports that a file cannot be synchronized, before any request was sent; returns the exit status.
  func end(blockedBy reason: String, _ status: ReplicaStatus) throws -> Int32 {
    noteBlock(reason)
    if printsJSON { try writeEnd(pushed: 0, pulled: 0, status) }
    report(blockedBy: reason)
    return ExitStatus.attention
  }

  /// Reports the reason for which a file cannot be synchronized. Some begin with the path.
  func report(blockedBy reason: String) {
    TandemCLI.report(reason.hasPrefix("\(path) ") ? reason : "\(path): \(reason)")
  }

  private func write(_ status: SyncStatus, _ cause: (any Error)?, to json: inout JSONWriter) {
    json.field("event", "status")
    switch status {
    case .connecting: json.field("status", "connecting")
    case .pushing(changeCount: let count):
      json.field("status", "pushing")
      json.field("changes", count)
    case .pulling: json.field("status", "pulling")
    case .verifying: json.field("status", "verifying")
    case .upToDate(let revision):
      json.field("status", "upToDate")
      json.field("revision", revision.shortText)
    case .offline:
      json.field("status", "offline")
      if let cause { json.field("reason", LibraryNames.replaced(in: "\(cause)")) }
    case .blocked(let block):
      json.field("status", "blocked")
      json.field("reason", "\(ReplicaError(block))")
    }
  }

  func writeEnd(pushed: Int, pulled: Int, _ status: ReplicaStatus) throws {
    try OutputStream.printObject { json in
      json.field("event", "end")
      json.field("revision", status.revision?.shortText)
      json.field("pushed", pushed)
      json.field("pulled", pulled)
      json.field("conflicts", status.conflictCount)
      json.field("rejected", status.rejectedCount)
      json.field("pending", status.pendingCount)
    }
  }

  /// Writes the end of a run.
  func writeEnd(of run: ReplicaRun, _ status: ReplicaStatus) throws {
    if printsJSON { try writeEnd(pushed: run.pushedCount, pulled: run.pulledCount, status) }
    guard !isQuiet else { return }
    if case .upToDate(let revision) = run.status, !watches {
      TandemCLI.report("\(path): in step at revision \(revision.version)")
    }
    TandemCLI.report(
      "\(path): \(Quantity.count(run.pushedCount, "change")) sent, "
        + "\(Quantity.count(run.pulledCount, "row")) written")
    if status.conflictCount > 0 {
      TandemCLI.report(
        "\(path): \(Quantity.count(status.conflictCount, "open conflict")): tandem conflicts \(path)"
      )
    }
    for line in status.voidPolicyLines(path) { TandemCLI.report("\(path): \(line)") }
    if status.rejectedCount > 0 {
      TandemCLI.report(
        "\(path): \(Quantity.count(status.rejectedCount, "rejected change")): "
          + "tandem rejected \(path)")
    }
  }
}
