internal import TandemRecords
internal import TandemSpace
internal import TandemSync

/// The data of the inspector's page.
struct InspectorReport {
  /// A space in the list; without a version if its file is unusable.
  struct Entry {
    let name: String
    let version: Int?
  }

  /// The maximum number of records in conflict that are listed for a replica.
  private static let maxObjectionCount = 5

  /// The time of the report, in milliseconds since 1970.
  let time: Int
  /// The number of spaces that the client may inspect, and of those that were searched for.
  let spaceCount: Int
  let foundCount: Int
  var spaces: [Entry] = []
  /// The space that is inspected, and its name.
  var inspection: (name: String, SpaceInspection)?
  /// The members of the space, for those who may administer it.
  var members: [SpaceMember]?
  /// True if the client may make and revoke access tokens.
  var mayChangeTokens = false

  /// The report as JSON.
  var text: String {
    var json = JSONWriter()
    json.object { json in
      json.field("time", time)
      json.field("spaceCount", spaceCount)
      json.field("foundCount", foundCount)
      json.field("mayChangeTokens", mayChangeTokens)
      json.objects("spaces", of: spaces) { entry, json in
        json.field("name", entry.name)
        json.field("version", entry.version)
      }
      if let (name, inspection) = inspection {
        json.field("space") { write(inspection, of: name, to: &$0) }
      }
    }
    return String(decoding: json.bytes, as: UTF8.self)
  }

  private func write(
    _ space: SpaceInspection, of name: String, to json: inout JSONWriter
  ) {
    json.object { json in
      json.field("name", name)
      if let members {
        json.objects("members", of: members) { member, json in
          json.field("account", member.account)
          json.field("role", member.role.rawValue)
        }
      }
      json.field("state", space.state)
      json.field("byteCount", space.byteCount)
      json.field("replicaCount", space.replicaCount)
      json.field("replicas") { $0.array(of: space.replicas) { Self.write($0, to: &$1) } }
      json.objects("commits", of: space.commits) { commit, json in
        json.field("version", commit.version)
        json.field("time", commit.time)
        json.field("replica", commit.replica)
        json.field("account", commit.account)
      }
      json.field("overruledCount", space.overruledCount)
      json.objects("overruled", of: space.overruled) { overruled, json in
        json.field("record", Self.text(of: overruled.key))
        json.field("version", overruled.version)
        json.field("recordVersion", overruled.recordVersion)
      }
    }
  }

  private static func write(_ replica: SpaceInspection.Replica, to json: inout JSONWriter) {
    json.object { json in
      json.field("id", replica.id)
      json.field("account", replica.account)
      json.field("sequence", replica.sequence)
      json.field("time", replica.time)
      json.field("outcome", replica.outcome.name)
      let objections = replica.outcome.objections
      json.field("recordCount", objections.count)
      json.field("records", objections.prefix(maxObjectionCount).map { text(of: $0.key) })
    }
  }

  /// A record for people, by its table and key.
  private static func text(of key: SyncKey) -> String {
    "\(key.table) \(key.id.map(\.description).joined(separator: ", "))"
  }
}

extension SyncOutcome {
  /// The changes that the space did not make, with the reasons.
  fileprivate var objections: [SyncObjection] {
    switch self {
    case .conflict(let objections), .refused(let objections): objections
    case .accepted, .sequence, .gone, .parts: []
    }
  }
}
