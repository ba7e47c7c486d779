import Foundation
import TandemRecords
import TandemSync
import Testing

/// The vectors of Tests/Vectors, which another implementation can check too.
@Suite struct SyncVectorTests {
  @Test("The encoding and the hash of each record are those of another implementation")
  func digests() throws {
    let vectors = try vectors("digests.json")
    var digest = RecordDigest.empty
    for vector in vectors["records"]?.elements ?? [] {
      let name = vector["name"]?.text ?? ""
      let key = SyncKey(
        table: vector["table"]?.text ?? "", id: try id(vector["id"] ?? .null, name))
      let fields = try fields(vector["fields"] ?? .null, name)
      var bytes: [UInt8] = []
      RecordEncoding.append(key, fields, to: &bytes)
      #expect(hexadecimal(bytes) == vector["cbor"]?.text, "\(name)")
      let hash = RecordDigest(bits: RecordHasher().hash(key, fields)).description
      #expect(hash == vector["hash"]?.text, "\(name)")
      digest.add(key, fields)
    }
    #expect(digest.description == vectors["digest"]?.text)
  }

  @Test("Valid messages are read, and written byte for byte")
  func validMessages() throws {
    let vectors = try vectors("messages.json")["valid"]?.elements ?? []
    #expect(vectors.count >= 18)
    for vector in vectors {
      let text = vector["text"]?.text ?? ""
      let written = try rewritten(Array(text.utf8), vector["kind"]?.text ?? "")
      #expect(String(decoding: written, as: UTF8.self) == text, "\(vector["name"]?.text ?? "")")
    }
  }

  @Test("Invalid messages are rejected with the fault that the vectors name")
  func invalidMessages() throws {
    let vectors = try vectors("messages.json")["invalid"]?.elements ?? []
    #expect(vectors.count >= 40)
    for vector in vectors {
      let name = vector["name"]?.text ?? ""
      do {
        _ = try rewritten(Array((vector["text"]?.text ?? "").utf8), vector["kind"]?.text ?? "")
        Issue.record("\(name) was accepted")
      } catch let fault as TextFault {
        #expect(fault.description == vector["fault"]?.text, "\(name)")
      }
    }
  }

  private func vectors(_ name: String) throws -> JSONValue {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try JSONValue(parsing: Data(contentsOf: folder.appending(path: "Vectors/\(name)")))
  }

  private func id(_ value: JSONValue, _ name: String) throws -> [FieldValue] {
    try SyncMessageReader().id(Array(value.description.utf8))
  }

  private func fields(_ value: JSONValue, _ name: String) throws -> Record {
    try SyncMessageReader().fields(Array(value.description.utf8))
  }
}

/// Reads a message and writes it again.
func rewritten(_ bytes: [UInt8], _ kind: String) throws -> [UInt8] {
  let reader = SyncMessageReader()
  switch kind {
  case "commit": return SyncMessageWriter.bytes(try reader.commit(bytes))
  case "page": return SyncMessageWriter.bytes(try reader.page(bytes))
  case "tables": return SyncMessageWriter.bytes(try reader.tables(bytes))
  case "state": return SyncMessageWriter.bytes(try reader.state(bytes))
  case "spaces": return SyncMessageWriter.bytes(try reader.listings(bytes))
  case "event": return SyncMessageWriter.bytes(try reader.event(bytes))
  default:
    switch try reader.answer(bytes) {
    case .success(let outcome): return SyncMessageWriter.bytes(outcome)
    case .failure(let refusal): return SyncMessageWriter.bytes(refusal)
    }
  }
}

private func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

extension JSONValue {
  fileprivate subscript(name: String) -> JSONValue? {
    if case .object(let fields) = self { fields[name] } else { nil }
  }

  fileprivate var elements: [JSONValue] {
    if case .array(let elements) = self { elements } else { [] }
  }

  fileprivate var text: String? {
    if case .string(let text) = self { text } else { nil }
  }
}
