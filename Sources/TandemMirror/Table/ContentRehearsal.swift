internal import Synchronization
public import TandemRecords

/// What a run with contents would do: found out by a dry run, which writes nothing.
public struct ContentRehearsal: Sendable {
  /// A content that would be asked for. One that is there, and has not changed since, would not be sent.
  public struct Transfer: Hashable, Sendable {
    /// The item.
    public var id: RecordKey
    /// Which of its contents.
    public var stage: MirrorStage
    /// Where the content is, without credentials.
    public var url: String
    /// The file it would be in, as the row would have it.
    public var path: String
  }

  /// What would become of the table.
  public var outcome: DatabaseMirror.Outcome
  /// What would be asked for, stage by stage, in the order of the items.
  public var transfers: [Transfer] = []
  /// The files that would be removed, as rows have them.
  public var removedPaths: [String] = []
}

extension ContentMirror {
  /// Finds out what the end of a run would do, if all transfers before it succeeded.
  func rehearse(_ run: ContentRun) async throws {
    var run = run
    let items = run.items.filter { run.plannedIDs.contains($0.id) }
    var transfers: [ContentRehearsal.Transfer] = []
    for (position, content) in contents.enumerated() {
      for item in items {
        let request = try request(for: item, content)
        run.note(request.map { content.path($0.name) }, at: position, of: item.id)
        guard let request else { continue }
        let url = RecordSource.url(request.url).description
        transfers.append(
          ContentRehearsal.Transfer(
            id: item.id, stage: content.stage, url: url, path: content.path(request.name)))
      }
    }
    run.removedIDs = Set(run.deletedRows.map(\.key))
    let records = try finalRecords(run)
    var rehearsal = ContentRehearsal(
      outcome: try await database.commit(records, origin: nil), transfers: transfers)
    for (position, content) in contents.enumerated() {
      let kept = pointedNames(records, content)
      rehearsal.removedPaths += try files[position].names().filter { !kept.contains($0) }
        .map(content.path)
    }
    result.withLock { $0.rehearsal = rehearsal }
  }
}
