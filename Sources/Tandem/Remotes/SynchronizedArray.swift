public import Observation
public import TandemDifferences
public import TandemSync

/// An array in memory that a ``/TandemSync/Synchronizer`` keeps in step with a remote: it owns the contents and the
/// shadow, saves both to a file, and can be edited at any time.
///
/// <!-- Snippets/SynchronizedArrays.swift screen -->
/// ```swift
/// @MainActor final class NotesScreen {
///   let notes: SynchronizedArray<Note, Int>
///
///   init(path: String?, remote: any ConditionalRemote<Note>) throws {
///     notes = try SynchronizedArray(
///       path: path,
///       synchronizer: Synchronizer(
///         remote: remote, identifiedBy: \.id, policy: .keepLocal, epochPolicy: .union))
///   }
///
///   func add(_ text: String) {
///     // During a call, too. A random ID is another one on each device.
///     notes.contents.append(Note(id: .random(in: 0 ..< .max), text: text))
///     Task { try await notes.synchronize() }
///   }
/// }
/// ```
///
/// **Isolation.** An array belongs to one actor, such as the main actor, and is used there. It is not `Sendable`, so
/// the compiler keeps it there. It is observable, for views.
///
/// **Edits during a call.** ``contents`` may be edited while ``synchronize(isolation:)`` runs. What arrives is merged
/// with these edits, by the policy of the synchronizer. A conflict that the policy does not resolve stays open, and the
/// contents keep the edit. The next call pushes the edits.
///
/// **Calls during a call** wait for it to end, and then share one further run, so that each call covers all edits that
/// were made before it.
///
/// **Lost replies.** After an error or a cancellation, contents and shadow fit each other, and the next call continues
/// from there: a push whose reply was lost is repeated, and edits made since are merged. The same is true after the
/// process ended, for all that was saved.
///
/// **Saving.** A call saves before each push and at its end, and ``save(isolation:)`` saves between calls. The file is
/// replaced atomically and durably. One array at a time uses a file.
@Observable
public final class SynchronizedArray<
  Element: Codable & Equatable & Sendable, ID: Hashable & SendableMetatype
> {
  /// The records. Edit them at any time.
  public var contents: [Element]
  /// The state of the last exchange with the remote, and the open conflicts.
  public private(set) var shadow: RemoteShadow<Element>
  /// True while a call of ``synchronize(isolation:)`` runs.
  public private(set) var isSynchronizing = false

  /// The end of a run.
  private struct Run {
    /// The number of calls that the run covers.
    var callCount: Int
    var result: Result<SynchronizationReport<Element, ID>, any Error>
    /// True if the task of the caller that ran it was cancelled.
    var isCancelled: Bool
  }

  @ObservationIgnored private let synchronizer: Synchronizer<Element, ID>
  @ObservationIgnored private let file: SavedArray<Element>?
  /// The number of savings so far.
  @ObservationIgnored private var saveCount = 0
  @ObservationIgnored private var callCount = 0
  @ObservationIgnored private var lastRun: Run?
  /// The calls that wait for the end of a run.
  @ObservationIgnored private var waiting: [AsyncStream<Void>.Continuation] = []
  /// The contents as the current run knows them. The edits during it are the difference from these to ``contents``.
  @ObservationIgnored private var base: [Element] = []
  /// The conflicts between arrivals and edits of the current run.
  @ObservationIgnored private var newConflicts: [ConflictReport<Element, ID>] = []
  /// The conflicts that were resolved by hand during the current run.
  @ObservationIgnored private var settledConflicts: [MergeConflict<Element>] = []

  /// Opens an array.
  ///
  /// - Parameters:
  ///   - path: The path of the file that the array is saved to, which need not exist; `nil`, the default, to keep the
  ///     array in memory. Its folder must exist.
  ///   - contents: The contents if there is no file yet.
  ///   - synchronizer: The remote, and the rules. Its `save` is called whenever the array is saved.
  /// - Throws: ``RemoteError`` if the file cannot be read.
  public init(
    path: String? = nil, initially contents: [Element] = [],
    synchronizer: Synchronizer<Element, ID>
  ) throws(RemoteError) {
    self.synchronizer = synchronizer
    var state: SavedArray<Element>.State?
    if let path {
      (file, state) = try SavedArray<Element>.open(path)
    } else {
      file = nil
    }
    self.contents = state?.contents ?? contents
    shadow = state?.shadow ?? RemoteShadow()
  }
}

// MARK: - Synchronizing

extension SynchronizedArray {
  /// Makes the contents and the remote equal, with all edits that were made before the call, and saves.
  ///
  /// - Parameter isolation: The caller's actor, to which the array belongs.
  /// - Returns: The report of the run that covers this call. Edits made during the run are not in it.
  /// - Throws: As ``/TandemSync/Synchronizer/synchronize(client:shadow:isolation:)``; ``RemoteError`` if the array
  ///   cannot be saved. Contents and shadow are then ready for the next call.
  @discardableResult
  public func synchronize(
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> SynchronizationReport<Element, ID> {
    try Task.checkCancellation()
    callCount += 1
    let call = callCount
    while true {
      if let run = lastRun, run.callCount >= call, !run.isCancelled { return try run.result.get() }
      guard isSynchronizing else { return try await run().get() }
      let (end, continuation) = AsyncStream<Void>.makeStream()
      waiting.append(continuation)
      for await _ in end {}
      try Task.checkCancellation()
    }
  }

  private func run(
    isolation: isolated (any Actor)? = #isolation
  ) async -> Result<SynchronizationReport<Element, ID>, any Error> {
    let callCount = callCount
    isSynchronizing = true
    (base, newConflicts, settledConflicts) = (contents, [], [])
    var (client, shadow) = (contents, shadow)
    let result: Result<SynchronizationReport<Element, ID>, any Error>
    do {
      let report = try await synchronizer.synchronize(client: &client, shadow: &shadow) {
        try self.keep($0, $1)
      }
      try await keep(client, shadow)()
      result = .success(report)
    } catch {
      // What cannot be kept now is kept after the next run: the error is reported either way.
      try? await keep(client, shadow)()
      result = .failure(error)
    }
    lastRun = Run(
      callCount: callCount, result: result,
      isCancelled: (try? result.get()) == nil && Task.isCancelled)
    isSynchronizing = false
    for call in waiting { call.finish() }
    waiting = []
    return result
  }

  /// Merges a state of the current run with the edits made since the last one, and returns the function that saves the
  /// result. Changes nothing if the contents have an identity twice.
  private func keep(
    _ client: [Element], _ shadow: RemoteShadow<Element>
  ) throws(MergeError) -> @Sendable () async throws -> Void {
    var merged = client
    if contents != base {
      let merge = try ThreeWayMerge(
        base: .known(base), local: contents, remote: client, identifiedBy: synchronizer.id,
        policy: synchronizer.policy)
      merged = merge.merged
      newConflicts += merge.conflicts
    }
    var shadow = shadow
    shadow.add(newConflicts, identifiedBy: synchronizer.id)
    for conflict in settledConflicts { shadow.settle(conflict) }
    if contents != merged { contents = merged }
    base = client
    self.shadow = shadow
    return saving()
  }
}

// MARK: - Saving

extension SynchronizedArray {
  /// Saves contents and shadow, as they are now, to the file and by the synchronizer's `save`.
  ///
  /// - Throws: ``RemoteError``; errors of the synchronizer's `save`.
  public func save(isolation: isolated (any Actor)? = #isolation) async throws {
    try await saving()()
  }

  private func saving() -> @Sendable () async throws -> Void {
    saveCount += 1
    let (contents, shadow, file, save, number) = (
      contents, shadow, file, synchronizer.save, saveCount
    )
    return {
      try await file?.write(.init(contents: contents, shadow: shadow), number: number)
      try await save(contents, shadow)
    }
  }
}

// MARK: - Conflicts

extension SynchronizedArray {
  /// Resolves an open conflict of ``shadow``. The result is pushed by the next call.
  ///
  /// - Parameters:
  ///   - conflict: The conflict. Does nothing if it is not open any more.
  ///   - version: The record to keep; `nil` to delete it.
  public func resolve(_ conflict: MergeConflict<Element>, by version: Element?) {
    guard shadow.openConflicts.contains(conflict) else { return }
    let id = synchronizer.id
    if let index = contents.firstIndex(where: { id($0) == id(conflict.anyVersion) }) {
      contents.replaceSubrange(index...index, with: version.map { [$0] } ?? [])
    } else if let version {
      contents.append(version)
    }
    shadow.settle(conflict)
    if isSynchronizing { settledConflicts.append(conflict) }
  }
}

extension RemoteShadow {
  /// Adds the conflicts of a merge. A record that is in conflict already stays in that one, with its base.
  fileprivate mutating func add<ID: Hashable>(
    _ conflicts: [ConflictReport<Element, ID>], identifiedBy id: (Element) -> ID
  ) {
    for report in conflicts {
      guard report.resolution.isUnresolved else {
        unreportedConflicts.append(
          ResolvedConflict(conflict: report.conflict, resolution: report.resolution))
        continue
      }
      func isNew(_ others: [MergeConflict<Element>]) -> Bool {
        !others.contains { id($0.anyVersion) == report.id }
      }
      if isNew(openConflicts) { openConflicts.append(report.conflict) }
      if let pending = pendingPush, isNew(pending.openConflicts) {
        pendingPush?.openConflicts.append(report.conflict)
      }
    }
  }

  /// Removes a conflict that was resolved by hand.
  fileprivate mutating func settle(_ conflict: MergeConflict<Element>) where Element: Equatable {
    openConflicts.removeAll { $0 == conflict }
    pendingPush?.openConflicts.removeAll { $0 == conflict }
  }
}
