import TandemRecords
import TandemSync

/// The contents of a remote as one JSON document, with everything that makes pushes conditional and repeatable.
///
/// ```json
/// {"tandemRemote":1,"epoch":"9f2c-41","commits":["b1-7","c8-2"],"records":[…]}
/// ```
///
/// A commit is the token of the push that made it, so a repeated push is recognised by its token. `commits` has
/// the latest ones, the newest last. A file and a web service hold the same document: each can be copied to the other.
struct RemoteDocument<Element: Codable & Sendable>: Sendable {
  var epoch: String
  /// The tokens of the latest pushes, never empty.
  var commits: [String]
  var records: [Element]

  /// The number of pushes after which a token is forgotten.
  static var maxCommitCount: Int { 256 }
  /// The version of the format.
  static var version: Int { 1 }

  var revision: RemoteRevision {
    RemoteRevision(epoch: epoch, commit: commits.last ?? "")
  }

  var contents: (elements: [Element], revision: RemoteRevision) { (records, revision) }

  /// The decision about a push.
  enum Decision {
    /// The push was accepted earlier and made this revision, or is rejected; nothing is written.
    case reply(RemoteRevision?)
    /// The push is accepted once this document is stored.
    case store(RemoteDocument)
  }

  /// Decides a push to the current document; `nil` if there is none.
  static func decide(
    _ contents: [Element], at revision: RemoteRevision?, token: String, current: RemoteDocument?
  ) -> Decision {
    if let current, current.commits.contains(token) {
      return .reply(RemoteRevision(epoch: current.epoch, commit: token))
    }
    guard revision == current?.revision else { return .reply(nil) }
    return .store(
      RemoteDocument(
        epoch: current?.epoch ?? PushToken.random().text,
        commits: (current?.commits.suffix(maxCommitCount - 1) ?? []) + [token], records: contents))
  }

  /// This document as the beginning of a new history.
  var restarted: RemoteDocument {
    RemoteDocument(
      epoch: PushToken.random().text, commits: [PushToken.random().text], records: records)
  }
}

// MARK: - JSON

extension RemoteDocument {
  /// Reads a document.
  ///
  /// - Parameter place: The address or path, for the error.
  /// - Throws: ``RemoteError/Code/malformed``.
  init(_ bytes: [UInt8], from place: String) throws(RemoteError) {
    let wire: Wire
    do {
      wire = try JSONValue(parsing: bytes).decoded(as: Wire.self)
    } catch {
      throw RemoteError(
        .malformed, place,
        "it is no document of a synchronized remote, or its records have another form (\(error)); "
          + "choose another place, or change the type of the records")
    }
    guard wire.tandemRemote == Self.version else {
      throw RemoteError(
        .malformed, place,
        "it has version \(wire.tandemRemote) of the format, and this program reads version "
          + "\(Self.version); use a newer program")
    }
    guard !wire.commits.isEmpty, !wire.epoch.isEmpty else {
      throw RemoteError(
        .malformed, place, "its epoch or its list of commits is empty; restore it from a backup")
    }
    self.init(epoch: wire.epoch, commits: wire.commits, records: wire.records)
  }

  /// Returns the document as UTF-8.
  ///
  /// - Throws: ``RemoteError/Code/notEncodable``, ``RemoteError/Code/tooLarge``.
  func bytes(for place: String, maxByteCount: Int) throws(RemoteError) -> [UInt8] {
    let json: JSONValue
    do {
      json = try JSONValue(
        encoding: Wire(
          tandemRemote: Self.version, epoch: epoch, commits: commits, records: records))
    } catch {
      throw RemoteError(.notEncodable, place, "a record cannot be written as JSON: \(error)")
    }
    var bytes: [UInt8] = []
    bytes.appendJSON { $0.write(json) }
    bytes.append(UInt8(ascii: "\n"))
    guard bytes.count <= maxByteCount else { throw .tooLarge(place, maxByteCount) }
    return bytes
  }

  private struct Wire: Codable {
    var tandemRemote: Int
    var epoch: String
    var commits: [String]
    var records: [Element]
  }
}
