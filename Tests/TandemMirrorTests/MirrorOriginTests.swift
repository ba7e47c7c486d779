import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import Testing

@Suite("Mirrors: what a list's origin is known by")
struct MirrorOriginTests {
  private func origin(
    _ url: String = "https://a.example/list", fields: HTTPFields = [:],
    contents: [MirroredContent] = [], csv: CSVOptions = CSVOptions()
  ) -> MirrorOrigin {
    var options = RecordListOptions()
    options.csv = csv
    options.fields = fields
    return MirrorOrigin(
      url: url, options: options, contents: contents,
      validators: RecordListValidators(HTTPValidators(entityTag: "1")))
  }

  @Test("of what may be secret nothing is kept, not even a digest")
  func secrets() {
    for name in ["Authorization", "Cookie", "X-Token"] {
      #expect(origin(fields: [name: "hunter2"]) == origin(fields: [name: "hunter3"]))
      #expect(origin(fields: [name: "hunter2"]) == origin(fields: [name.uppercased(): ""]))
    }
    let withPassword = origin("https://me:hunter2@a.example/list")
    #expect(withPassword == origin("https://me:hunter3@a.example/list"))
    #expect(withPassword == origin("https://you@a.example/list"))
  }

  @Test("every option of the dialect of CSV makes another origin")
  func dialects() {
    var texts: [CSVOptions] = [CSVOptions(), CSVOptions(), CSVOptions()]
    (texts[0].textFields, texts[1].textFields, texts[2].textFields) = (["a"], ["a", "b"], ["ab"])
    let origins =
      ([
        CSVOptions(), CSVOptions(delimiter: 35), CSVOptions(comment: 35),
        CSVOptions(encoding: .latin1), CSVOptions(allowsRaggedRows: true),
      ] + texts).map { origin(csv: $0) }
    #expect(Set(origins).count == origins.count)
  }

  @Test("whether there are secrets, and what any server may see, makes another origin")
  func differences() {
    let origins = [
      origin(), origin("https://me:secret@a.example/list"), origin(fields: ["X-Token": "1"]),
      origin(fields: ["X-Key": "1"]), origin(fields: ["X-Key": "1", "X-Token": "1"]),
      origin(fields: ["Accept-Language": "de"]), origin(fields: ["Accept-Language": "en"]),
      origin(fields: ["Accept": "de"]), origin(contents: [MirroredContent(field: "")]),
      // These would be the content above, if nothing told where fields end.
      origin(fields: ["content": "", "": ""]),
    ]
    #expect(Set(origins).count == origins.count)
  }
}
