import TandemRecords
import TandemServer
import TandemSpace
import TandemSync
import Testing

@Suite struct OpenAPITests {
  @Test("The description has the routes, their names and parameters, and who needs a token")
  func description() async throws {
    let described = try await operations().map { operation in
      let parameters = (operation.value["parameters"] ?? .array([])).elements
      let isOpen = operation.value["security"] == nil
      let name = operation.value["operationId"]?.text ?? ""
      return "\(name) \(operation.route) \(parameters.map { $0["name"]?.text ?? "" }) \(isOpen)"
    }
    let actual = SyncRoute.allCases.map { route in
      let parameters =
        (route.hasSpace ? ["space"] : []) + (route.hasAccount ? ["account"] : [])
        + route.parameters.map(\.rawValue)
      return "\(route.rawValue) \(route.method) \(route.template) \(parameters) \(route.isOpen)"
    }
    #expect(described.sorted() == actual.sorted())
    let space = try await document()["components"]?["parameters"]?["space"]?["schema"]
    #expect(space?["pattern"]?.text == "^\(SpaceName.pattern)$")
  }

  @Test("Every reference in the description leads to a part of it, and every part is referred to")
  func references() async throws {
    let document = try await document()
    var names: Set<String> = []
    for kind in ["parameters", "responses", "schemas"] {
      for name in try #require(document["components"]?[kind]).fields.keys {
        names.insert("#/components/\(kind)/\(name)")
      }
    }
    var found: Set<String> = []
    func visit(_ value: JSONValue) {
      for (name, value) in value.fields {
        if name == "$ref", let text = value.text { found.insert(text) } else { visit(value) }
      }
      for element in value.elements { visit(element) }
    }
    visit(document)
    #expect(found == names)
  }

  @Test("Every answer of the service has a status that the description names")
  func statuses() async throws {
    let test = try TestService(tokens: [
      .of("r", "ann", .read, ["notes"]), .of("w", "bob", .write, ["*"]),
      .of("f", "cat", .follow, ["*"]),
    ])
    let head = try await test.makeSpace("notes")
    try test.add("bob", .owner, to: "notes")
    var described: [String: Set<Int>] = [:]
    for (route, operation) in try await operations() {
      let statuses = try #require(operation["responses"]).fields.keys
      described[route] = Set(statuses.compactMap { Int($0) })
    }
    var seen: Set<String> = []
    let bodies = [
      "", "[]", "{}", "{\"role\":\"reader\"}",
      "[{\"name\":\"t\",\"key\":[\"x\"],\"columns\":[],\"granularity\":\"field\"}]",
    ]
    var replica = TestReplica(seed: 1)
    let commits = [
      replica.commit(head, [insertion(1)]), replica.commit(head, [insertion(1, "y")]),
      replica.commit(head, [SyncChange(key: SyncKey(table: "z", id: [1]), verb: .delete)]),
      replica.commit(SpaceRevision(epoch: replica.id, version: 0, mark: 0), []),
    ].map { String(decoding: SyncMessageWriter.bytes($0), as: UTF8.self) }
    let lost = "\(replica.id).0.0000000000000000"
    let copied = "\(lost)~\(replica.id)~0~\(RecordDigest.empty)"
    let queries = [
      "", "?since=x", "?since=\(head)", "?since=\(lost)", "?since=\(copied)",
    ]
    for route in SyncRoute.allCases {
      for space in ["notes", "missing", "+"] {
        for secret in ["r", "w", "x", "f"] {
          for (query, body) in queries.flatMap({ query in (bodies + commits).map { (query, $0) } })
          {
            // Bob is the only owner.
            for (type, account) in [
              ("application/json", "bob"), ("application/json", "dan"), ("text/plain", "dan"),
            ] {
              let path = route.template.replacing("{space}", with: space)
                .replacing("{account}", with: account)
              let answer = await test.answer(
                route.method, path + query, secret: secret, body: Array(body.utf8),
                fields: [("Content-Type", type)])
              answer.stream?.end()
              let statuses = try #require(described["\(route.method) \(route.template)"])
              #expect(statuses.contains(answer.status), "\(route) \(path)\(query) \(answer.status)")
              seen.insert("\(route) \(answer.status)")
            }
          }
        }
      }
    }
    // The description promises nothing that never happens, besides limits and troubles, which every request may meet.
    let common: Set = [400, 405, 413, 429, 503]
    for route in SyncRoute.allCases {
      let statuses = try #require(described["\(route.method) \(route.template)"])
      #expect(statuses.isSuperset(of: common), "\(route)")
      for status in statuses.subtracting(common) where status != 403 {
        #expect(seen.contains("\(route) \(status)"), "\(route) never answers \(status)")
      }
    }
  }

  /// The operations, by method and path; a reference to a parameter is replaced by it.
  private func operations() async throws -> [(route: String, value: JSONValue)] {
    let document = try await document()
    let parameters = try #require(document["components"]?["parameters"]).fields
    return try #require(document["paths"]).fields.flatMap { path, item in
      item.fields.map { method, operation in
        var fields = operation.fields
        fields["parameters"] = .array(
          (operation["parameters"]?.elements ?? []).map { parameter in
            let name = parameter["$ref"]?.text?.split(separator: "/").last
            return name.flatMap { parameters[String($0)] } ?? parameter
          })
        return ("\(method.uppercased()) \(path)", .object(fields))
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
