import TandemRecords
import TandemServer
import TandemSync
import Testing

@Suite struct OpenAPITests {
  @Test("The description has the routes, parameters and statuses of the service, and no others")
  func description() async throws {
    let document = try await document()
    var described: Set<String> = []
    for (path, item) in document["paths"]?.fields ?? [:] {
      for (method, operation) in item.fields {
        let parameters = (operation["parameters"]?.elements ?? []).compactMap { $0["name"]?.text }
        let statuses = (operation["responses"]?.fields ?? [:]).keys.sorted()
        described.insert("\(method.uppercased()) \(path) \(parameters) \(statuses)")
      }
    }
    let actual = SyncRoute.allCases.map { route in
      let parameters = (route.hasSpace ? ["space"] : []) + route.parameters.map(\.rawValue)
      let statuses = (route.statuses + SyncRoute.commonStatuses).map { "\($0)" }.sorted()
      return "\(route.method) \(route.template) \(parameters) \(statuses)"
    }
    #expect(described == Set(actual))
  }

  @Test("Every reference in the description leads to a schema")
  func references() async throws {
    let document = try await document()
    let names = Set((document["components"]?["schemas"]?.fields ?? [:]).keys)
    var found: Set<String> = []
    func visit(_ value: JSONValue) {
      for (name, value) in value.fields {
        if name == "$ref", let text = value.text { found.insert(text) } else { visit(value) }
      }
      for element in value.elements { visit(element) }
    }
    visit(document)
    #expect(found.count > 10)
    for reference in found {
      #expect(names.contains(String(reference.dropFirst("#/components/schemas/".count))))
    }
  }

  @Test("Every answer of the service has a status that the description names")
  func statuses() async throws {
    let test = try TestService(tokens: [
      .of("r", "ann", .read, ["notes"]), .of("w", "bob", .write, ["*"]),
    ])
    let head = try await test.makeSpace("notes")
    var seen: Set<String> = []
    let bodies = [
      "", "[]", "{}", "[{\"name\":\"t\",\"key\":[\"x\"],\"columns\":[],\"granularity\":\"field\"}]",
    ]
    var replica = TestReplica(seed: 1)
    let commits = [
      replica.commit(head, [insertion(1)]), replica.commit(head, [insertion(1, "y")]),
      replica.commit(head, [SyncChange(key: SyncKey(table: "z", id: [1]), verb: .delete)]),
      replica.commit(SpaceRevision(epoch: replica.id, version: 0, mark: 0), []),
    ].map { String(decoding: SyncMessageWriter.bytes($0), as: UTF8.self) }
    let queries = ["", "?since=x", "?since=\(head)", "?since=\(replica.id).0.0000000000000000"]
    for route in SyncRoute.allCases {
      for space in ["notes", "missing", "+"] {
        for secret in ["r", "w", "x"] {
          for (query, body) in queries.flatMap({ query in (bodies + commits).map { (query, $0) } })
          {
            let path = route.template.replacing("{space}", with: space)
            for type in ["application/json", "text/plain"] {
              let answer = await test.answer(
                route.method, path + query, secret: secret, body: Array(body.utf8),
                fields: [("Content-Type", type)])
              answer.stream?.end()
              let statuses = route.statuses + SyncRoute.commonStatuses
              #expect(statuses.contains(answer.status), "\(route) \(path)\(query) \(answer.status)")
              seen.insert("\(route) \(answer.status)")
            }
          }
        }
      }
    }
    // The description promises nothing that never happens, besides limits and troubles.
    for route in SyncRoute.allCases {
      for status in route.statuses where status != 403 {
        #expect(seen.contains("\(route) \(status)"), "\(route) never answers \(status)")
      }
    }
  }

  private func document() async throws -> JSONValue {
    let answer = await (try TestService()).answer("GET", "/v1/openapi.json")
    return try JSONValue(parsing: answer.bytes)
  }
}

extension JSONValue {
  fileprivate subscript(name: String) -> JSONValue? { fields[name] }

  fileprivate var fields: [String: JSONValue] {
    if case .object(let fields) = self { fields } else { [:] }
  }

  fileprivate var elements: [JSONValue] {
    if case .array(let elements) = self { elements } else { [] }
  }

  fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
