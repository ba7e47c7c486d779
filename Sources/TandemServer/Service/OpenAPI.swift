internal import TandemRecords
internal import TandemSync

/// The description of the server's requests, by OpenAPI 3.1.
enum OpenAPI {
  /// The document, as JSON.
  static let text: String = {
    var json = JSONWriter()
    write(to: &json)
    return String(decoding: json.bytes, as: UTF8.self)
  }()

  private static func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("openapi", "3.1.0")
      json.field("info") { json in
        json.object { json in
          json.field("title", "Tandem: spaces")
          json.field("version", "1")
          json.field(
            "description",
            "Replicas of a space exchange their changes. See Documentation/Protocol.md.")
        }
      }
      json.field("paths") { json in
        json.object { json in
          for template in templates {
            json.field(template) { json in
              json.object { json in
                for route in SyncRoute.allCases where route.template == template {
                  json.field(route.method.asciiLowercased) { write(route, to: &$0) }
                }
              }
            }
          }
        }
      }
      json.field("components") { writeComponents(to: &$0) }
    }
  }

  private static var templates: [String] {
    var templates: [String] = []
    for route in SyncRoute.allCases where !templates.contains(route.template) {
      templates.append(route.template)
    }
    return templates
  }

  private static func write(_ route: SyncRoute, to json: inout JSONWriter) {
    json.object { json in
      json.field("operationId", route.rawValue)
      json.field("summary", route.summary)
      if !route.isOpen {
        // The empty object: a server without access tokens serves its own machine.
        json.field("security") { json in
          json.array { json in
            json.object { json in json.field("token", [String]()) }
            json.object { _ in }
          }
        }
      }
      if route.hasSpace || !route.parameters.isEmpty {
        json.field("parameters") { json in
          json.array { json in
            if route.hasSpace { write("space", in: "path", SpaceName.pattern, to: &json) }
            for parameter in route.parameters { write(parameter, to: &json) }
          }
        }
      }
      if let schema = route.requestSchema {
        json.field("requestBody") { json in
          json.object { json in
            json.field("required", true)
            json.field("content") { writeContent("application/json", schema, to: &$0) }
          }
        }
      }
      json.field("responses") { json in
        json.object { json in
          for status in (route.statuses + SyncRoute.commonStatuses).sorted() {
            json.field("\(status)") { write(status, of: route, to: &$0) }
          }
        }
      }
    }
  }

  private static func write(_ parameter: SyncRoute.Parameter, to json: inout JSONWriter) {
    switch parameter {
    case .since:
      write("since", in: "query", "^[0-9a-f]{32}\\.[0-9]{1,16}\\.[0-9a-f]{16}$", to: &json)
    case .cursor: write("cursor", in: "query", nil, to: &json)
    case .replica: write("replica", in: "query", "^[0-9a-f]{32}$", to: &json)
    case .numbers: write("numbers", in: "query", "^true$", to: &json)
    case .limit:
      json.object { json in
        json.field("name", "limit")
        json.field("in", "query")
        json.field("schema") { json in
          json.object { json in
            json.field("type", "integer")
            json.field("minimum", 1)
          }
        }
      }
    }
  }

  private static func write(
    _ name: String, in place: String, _ pattern: String?, to json: inout JSONWriter
  ) {
    json.object { json in
      json.field("name", name)
      json.field("in", place)
      if place == "path" { json.field("required", true) }
      json.field("schema") { json in
        json.object { json in
          json.field("type", "string")
          if let pattern {
            json.field("pattern", pattern.hasPrefix("^") ? pattern : "^\(pattern)$")
          }
        }
      }
    }
  }

  private static func write(_ status: Int, of route: SyncRoute, to json: inout JSONWriter) {
    json.object { json in
      json.field("description", description(of: status, route))
      let (type, schema) = content(of: status, route)
      json.field("content") { writeContent(type, schema, to: &$0) }
    }
  }

  private static func writeContent(
    _ type: String, _ schema: String?, to json: inout JSONWriter
  ) {
    json.object { json in
      json.field(type) { json in
        json.object { json in
          json.field("schema") { json in
            json.object { json in
              if let schema {
                json.field("$ref", "#/components/schemas/\(schema)")
              } else {
                json.field("type", "string")
              }
            }
          }
        }
      }
    }
  }

  private static func content(of status: Int, _ route: SyncRoute) -> (String, schema: String?) {
    guard status == 200 else {
      let isOutcome = [409, 410, 422].contains(status)
      return ("application/json", isOutcome ? "answer" : "rejection")
    }
    return switch route {
    case .metrics: ("text/plain", nil)
    case .events: ("text/event-stream", nil)
    case .health: ("application/json", "health")
    case .description: ("application/json", "object")
    case .spaces: ("application/json", "list")
    case .space: ("application/json", "state")
    case .tables: ("application/json", "tables")
    case .commits: ("application/json", "answer")
    case .changes: ("application/json", "page")
    }
  }

  private static func description(of status: Int, _ route: SyncRoute) -> String {
    switch status {
    case 200: route.summary
    case 400: "The address, a parameter or the body cannot be read."
    case 401: "The access token is missing or unknown."
    case 403: "The access token does not permit this, or the replica belongs to another account."
    case 404: "There is no such space that the token may read."
    case 405: "The address exists, but not with this method."
    case 409 where route == .tables: "The tables do not fit those of the space."
    case 409: "A conflict, or a sequence that does not continue that of the replica."
    case 410: "The space cannot continue from this revision."
    case 413: "The request exceeds a limit."
    case 415: "The body is not JSON, or it is compressed."
    case 422: "The space can never accept these changes."
    case 429: "Too many requests or streams of this client."
    default: "The server cannot answer now."
    }
  }
}

extension SyncRoute {
  fileprivate var summary: String {
    switch self {
    case .health: "The server answers requests."
    case .metrics: "Counts, in the text format of Prometheus."
    case .description: "This document."
    case .spaces: "The spaces that the access token may read."
    case .space: "The state of a space."
    case .tables: "Declares the tables of a replica; returns those of the space."
    case .commits: "Commits changes, or sends a part of a commit; returns the outcome."
    case .changes: "A page of the records that changed after a revision."
    case .events: "The commits from now on, as a stream of events."
    }
  }

  fileprivate var requestSchema: String? {
    switch self {
    case .tables: "tables"
    case .commits: "commit"
    case .health, .metrics, .description, .spaces, .space, .changes, .events: nil
    }
  }
}

// MARK: - Schemas

extension OpenAPI {
  private static func writeComponents(to json: inout JSONWriter) {
    json.object { json in
      json.field("securitySchemes") { json in
        json.object { json in
          json.field("token") { json in
            json.object { json in
              json.field("type", "http")
              json.field("scheme", "bearer")
            }
          }
        }
      }
      json.field("schemas") { json in
        json.object { json in for (name, schema) in schemas { json.field(name, schema) } }
      }
    }
  }

  /// The messages, as JSON Schema. The texts are constants of this file.
  private static let schemas: [(String, JSONValue)] = [
    ("object", #"{"type":"object"}"#),
    (
      "health",
      #"{"type":"object","required":["status"],"properties":{"status":{"const":"ok"}}}"#
    ),
    ("token", #"{"type":"string","pattern":"^[0-9a-f]{32}$"}"#),
    ("revision", #"{"type":"string","pattern":"^[0-9a-f]{32}\\.[0-9]{1,16}\\.[0-9a-f]{16}$"}"#),
    (
      "value",
      #"{"oneOf":[{"type":["null","number","string"]},{"type":"object","required":["blob"],"additionalProperties":false,"properties":{"blob":{"type":"string"}}},{"type":"object","required":["real"],"additionalProperties":false,"properties":{"real":{"enum":["nan","inf","-inf"]}}}]}"#
    ),
    (
      "fields", ##"{"type":"object","additionalProperties":{"$ref":"#/components/schemas/value"}}"##
    ),
    ("id", ##"{"type":"array","items":{"$ref":"#/components/schemas/value"}}"##),
    (
      "comparedColumns",
      #"{"type":"array","minItems":1,"items":{"type":"object","required":["column"],"additionalProperties":false,"properties":{"column":{"type":"string"},"collation":{"enum":["BINARY","NOCASE","RTRIM"]},"affinity":{"enum":["TEXT","NUMERIC","INTEGER","REAL","BLOB"]},"as":{"type":"string"}}}}"#
    ),
    (
      "constraint",
      ##"{"oneOf":[{"type":"object","required":["unique"],"additionalProperties":false,"properties":{"unique":{"$ref":"#/components/schemas/comparedColumns"}}},{"type":"object","required":["index","sql","columns"],"additionalProperties":false,"properties":{"index":{"type":"string"},"sql":{"type":"string"},"columns":{"$ref":"#/components/schemas/comparedColumns"}}},{"type":"object","required":["reference","table","columns"],"additionalProperties":false,"properties":{"reference":{"type":"array","minItems":1,"items":{"type":"string"}},"table":{"type":"string"},"columns":{"$ref":"#/components/schemas/comparedColumns"}}},{"type":"object","required":["together"],"additionalProperties":false,"properties":{"together":{"type":"array","minItems":1,"items":{"type":"string"}}}}]}"##
    ),
    (
      "pendingConstraint",
      ##"{"type":"object","required":["constraint","records"],"additionalProperties":false,"properties":{"constraint":{"$ref":"#/components/schemas/constraint"},"records":{"type":"array","maxItems":5,"items":{"$ref":"#/components/schemas/id"}}}}"##
    ),
    (
      "column",
      #"{"type":"object","required":["column","type"],"additionalProperties":false,"properties":{"column":{"type":"string"},"type":{"type":"string"},"strict":{"const":true},"notNull":{"const":true},"default":{"type":"string"},"checks":{"type":"array","maxItems":1000,"items":{"type":"string"}}}}"#
    ),
    (
      "table",
      ##"{"type":"object","required":["name","key","columns","granularity"],"additionalProperties":false,"properties":{"name":{"type":"string"},"key":{"type":"array","items":{"type":"string"}},"columns":{"type":"array","items":{"type":"string"}},"granularity":{"enum":["field","record"]},"numbered":{"const":true},"constraints":{"type":"array","maxItems":1000,"items":{"$ref":"#/components/schemas/constraint"}},"pending":{"type":"array","maxItems":1000,"items":{"$ref":"#/components/schemas/pendingConstraint"}},"definitions":{"type":"array","maxItems":1990,"items":{"$ref":"#/components/schemas/column"}}}}"##
    ),
    (
      "tables",
      ##"{"type":"array","maxItems":1000,"items":{"$ref":"#/components/schemas/table"}}"##
    ),
    (
      "change",
      ##"{"type":"object","required":["table","id"],"additionalProperties":false,"oneOf":[{"required":["insert"]},{"required":["update"]},{"required":["add"]},{"required":["delete"]}],"properties":{"table":{"type":"string"},"id":{"$ref":"#/components/schemas/id"},"insert":{"$ref":"#/components/schemas/fields"},"update":{"$ref":"#/components/schemas/fields"},"add":{"type":"object","additionalProperties":{"type":"integer"}},"delete":{"const":true},"revives":{"const":true},"claims":{"type":"object","maxProperties":1000,"additionalProperties":{"$ref":"#/components/schemas/id"}}}}"##
    ),
    (
      "record",
      ##"{"type":"object","required":["table","id","version"],"additionalProperties":false,"oneOf":[{"required":["fields"]},{"required":["deleted"]}],"properties":{"table":{"type":"string"},"id":{"$ref":"#/components/schemas/id"},"version":{"type":"integer","minimum":0},"fields":{"$ref":"#/components/schemas/fields"},"deleted":{"const":true}}}"##
    ),
    (
      "commit",
      ##"{"type":"object","required":["replica","sequence","commit","base","changes"],"additionalProperties":false,"properties":{"replica":{"$ref":"#/components/schemas/token"},"sequence":{"type":"integer","minimum":1},"commit":{"$ref":"#/components/schemas/token"},"base":{"$ref":"#/components/schemas/revision"},"part":{"type":"integer","minimum":1},"of":{"type":"integer","minimum":1,"maximum":1000},"changes":{"type":"array","maxItems":10000,"items":{"$ref":"#/components/schemas/change"}},"overruled":{"type":"array","maxItems":10000,"items":{"$ref":"#/components/schemas/record"}}}}"##
    ),
    (
      "objection",
      ##"{"type":"object","required":["table","id","reason"],"properties":{"table":{"type":"string"},"id":{"$ref":"#/components/schemas/id"},"reason":{"type":"string"}}}"##
    ),
    (
      "rejection",
      #"{"type":"object","required":["outcome","code","message"],"additionalProperties":false,"properties":{"outcome":{"const":"rejected"},"code":{"type":"string"},"message":{"type":"string"},"retryAfterMilliseconds":{"type":"integer","minimum":0}}}"#
    ),
    (
      "answer",
      ##"{"type":"object","required":["outcome"],"properties":{"outcome":{"enum":["accepted","conflict","refused","sequence","gone","parts","rejected"]},"revision":{"$ref":"#/components/schemas/revision"},"digest":{"$ref":"#/components/schemas/token"},"changes":{"type":"array","items":{"$ref":"#/components/schemas/objection"}},"last":{"type":"integer","minimum":0},"fate":{"$ref":"#/components/schemas/revision"},"missing":{"type":"array","minItems":1,"items":{"type":"integer","minimum":1}},"reason":{"enum":["epoch","history","horizon"]},"code":{"type":"string"},"message":{"type":"string"},"retryAfterMilliseconds":{"type":"integer","minimum":0}}}"##
    ),
    (
      "standing",
      ##"{"type":"object","required":["sequence","commit","outcome"],"additionalProperties":false,"properties":{"sequence":{"type":"integer","minimum":1},"commit":{"$ref":"#/components/schemas/token"},"outcome":{"$ref":"#/components/schemas/answer"}}}"##
    ),
    (
      "page",
      ##"{"type":"object","required":["revision","digest","changes"],"additionalProperties":false,"properties":{"revision":{"$ref":"#/components/schemas/revision"},"digest":{"$ref":"#/components/schemas/token"},"replica":{"$ref":"#/components/schemas/standing"},"changes":{"type":"array","items":{"$ref":"#/components/schemas/record"}},"next":{"type":"string"},"numbers":{"type":"object","additionalProperties":{"type":"integer"}}}}"##
    ),
    (
      "state",
      ##"{"type":"object","required":["revision","digest","horizon","tables"],"additionalProperties":false,"properties":{"revision":{"$ref":"#/components/schemas/revision"},"digest":{"$ref":"#/components/schemas/token"},"horizon":{"type":"integer","minimum":0},"tables":{"$ref":"#/components/schemas/tables"}}}"##
    ),
    (
      "list",
      #"{"type":"object","required":["spaces"],"additionalProperties":false,"properties":{"spaces":{"type":"array","items":{"type":"object","required":["name","access"],"additionalProperties":false,"properties":{"name":{"type":"string"},"access":{"enum":["read","write"]}}}}}}"#
    ),
  ].map { name, text in
    guard let value = try? JSONValue(parsing: text.utf8) else {
      preconditionFailure("the schema of \(name) is not JSON")
    }
    return (name, value)
  }
}
