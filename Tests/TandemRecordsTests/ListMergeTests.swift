import TandemDifferences
import TandemRecords
import TestRandom
import Testing

struct ListMergeTests {
  private func text(_ text: String, _ format: RecordFormat) throws -> ListText {
    try ListText(Array(text.utf8), format: format)
  }

  private func merge(
    _ base: String?, _ local: String, _ remote: String, _ format: RecordFormat = .json,
    policy: MergePolicy<ListRecord> = .unresolved, columns: MergePolicy<String> = .unresolved
  ) throws -> MergedList {
    try ListMerge(key: ["id"], policy: policy, columnPolicy: columns).merge(
      base: base.map { try text($0, format) }, local: text(local, format),
      remote: text(remote, format))
  }

  private func merged(_ list: MergedList, marks: Bool = false) -> String {
    String(decoding: list.text(marksConflicts: marks), as: UTF8.self)
  }

  @Test("records are in the order of the side that changed it, and a dispute is known")
  func order() throws {
    func list(_ ids: [Int]) -> String {
      "[" + ids.map { "{\"id\":\($0)}" }.joined(separator: ",") + "]"
    }
    let base = list([1, 2, 3])
    let local = try merge(base, list([3, 2, 1]), list([1, 2, 4, 3]))
    #expect(merged(local) == list([3, 2, 4, 1]) && !local.hasDisputedOrder)
    let remote = try merge(base, list([1, 2, 3]), list([3, 2, 1]))
    #expect(merged(remote) == list([3, 2, 1]) && !remote.hasDisputedOrder)
    let both = try merge(base, list([2, 1, 3]), list([1, 3, 2]))
    #expect(merged(both) == list([1, 3, 2]) && both.hasDisputedOrder && both.isResolved)
  }

  @Test("comment lines are those of the side that changed them, below which their row is")
  func mergedComments() throws {
    let merge = mergeWithComments
    let base = "# May\nid,a\n# one\n1,x\n2,y\n# end\n"
    let edits = [
      "# June\n# net\nid,a\n# one\n1,x\n2,y\n# end\n", "# May\nid,a\n1,x\n# one\n2,y\n",
      "id,a\n# 1\n1,x\n# two\n2,y\n# the end\n# really\n",
    ]
    for edit in edits {
      #expect(try merged(merge(base, base, edit)) == edit)
      #expect(try merged(merge(base, edit, base)) == edit)
      #expect(try merged(merge(base, edit, edit)) == edit)
      #expect(try !merge(base, base, edit).hasDisputedComments)
    }
    let windows = edits[0].replacing("\n", with: "\r\n")
    #expect(try merged(merge(base, base, windows)) == edits[0])
    #expect(
      try merged(merge(base, windows, edits[1]))
        == "# June\n# net\nid,a\n1,x\n# one\n2,y\n".replacing("\n", with: "\r\n"))
    let inserted = "# May\nid,a\n# one\n0,n\n1,x\n2,z\n# end\n"
    #expect(try merged(merge(base, edits[0], inserted)) == "# June\n# net" + inserted.dropFirst(5))
    let disputed = try merge(base, edits[0], edits[2])
    #expect(disputed.hasDisputedComments && disputed.isResolved)
    #expect(
      merged(disputed)
        == "# June\n# net\nid,a\n# 1\n1,x\n# two\n2,y\n# the end\n# really\n")
    let unknown = try merge(nil, "id\n1\n", "# c\nid\n1\n")
    #expect(merged(unknown) == "# c\nid\n1\n" && !unknown.hasDisputedComments)
  }

  private func list(_ text: String) throws -> ListText {
    try ListText(Array(text.utf8), format: .csv, csv: CSVOptions(comment: UInt8(ascii: "#")))
  }

  private func mergeWithComments(
    _ base: String?, _ local: String, _ remote: String
  ) throws -> MergedList {
    try ListMerge(key: ["id"]).merge(
      base: base.map(list), local: list(local), remote: list(remote))
  }

  @Test("comments stay if the last row ends in another way than the header")
  func commentsOfMixedLineEnds() throws {
    for ends in [["\n", "\r\n"], ["\r\n", "\n"], ["\r", "\r"]] {
      func text(_ value: String, _ comment: String = "# one") -> String {
        "id,a\(ends[0])\(comment)\(ends[1])1,\(value)\(ends[1])# end\(ends[1])# really"
      }
      for (local, remote, value) in [
        (text("x"), text("x", "# uno"), "x"), (text("x", "# uno"), text("y"), "y"),
        (text("y"), text("x", "# uno"), "y"),
      ] {
        let result = try mergeWithComments(text("x"), local, remote)
        let lines = merged(result).split(whereSeparator: \.isNewline)
        #expect(lines == ["id,a", "# uno", "1,\(value)", "# end", "# really"], "\(ends)")
        #expect(!result.hasDisputedComments)
      }
      let unix = text("y").replacing("\r\n", with: "\n").replacing("\r", with: "\n")
      #expect(try !mergeWithComments(text("x"), text("x", "# uno"), unix).hasDisputedComments)
    }
  }

  @Test("changed comments above a row that the other side deleted are known to be lost")
  func commentsOfDeletedRows() throws {
    let base = "id,a\n# one\n1,x\n2,y\n"
    for (edited, isLost) in [
      ("id,a\n# uno\n1,x\n2,y\n", true), (base, false), ("id,a\n1,x\n2,y\n", false),
      ("id,a\n\n1,x\n2,y\n", false),
    ] {
      for deleted in ["id,a\n2,y\n", "id,a\n# one\n2,y\n"] {
        for (local, remote) in [(edited, deleted), (deleted, edited)] {
          let result = try mergeWithComments(base, local, remote)
          #expect(merged(result) == deleted && result.hasLostComments == isLost, "\(edited)")
          #expect(!result.hasDisputedComments)
        }
      }
    }
    let conflict = try mergeWithComments(base, "id,a\n2,y\n", "id,a\n# uno\n1,z\n2,y\n")
    #expect(!conflict.hasLostComments && !conflict.isResolved)
  }

  @Test("between the markers of a conflict, each version has its own comments")
  func commentsOfConflicts() throws {
    let base = "id,a\n# one\n1,x\n# two\n2,y\n"
    let local = "id,a\n# uno\n1,l\n# two\n2,y\n"
    for (comment, isDisputed) in [("# eins\n", true), ("", true), ("# one\n", false)] {
      let remote = "id,a\n\(comment)1,r\n# zwei\n2,y\n"
      let result = try mergeWithComments(base, local, remote)
      #expect(result.hasDisputedComments == isDisputed)
      #expect(
        String(decoding: result.text(marksConflicts: true, showsBase: true), as: UTF8.self)
          == """
          id,a
          <<<<<<< local
          # uno
          1,l
          ||||||| base
          # one
          1,x
          =======
          \(comment)1,r
          >>>>>>> remote
          # zwei
          2,y

          """)
    }
    let deleted = try mergeWithComments(base, "id,a\n# two\n2,y\n", "id,a\n# eins\n1,r\n2,y\n")
    #expect(
      merged(deleted, marks: true)
        == "id,a\n<<<<<<< local\n=======\n# eins\n1,r\n>>>>>>> remote\n2,y\n")
  }

  @Test("a base with conflicts has the records of both versions in their order, and its comments")
  func baseWithConflicts() throws {
    let texts = [
      "id,a\n# two\n2,b\n# three\n3,c\n", "id,a\n1,x\n2,b\n5,e\n3,c\n",
      "id,a\n1,x\n4,d\n2,b\n3,c\n6,f\n",
    ]
    let lists = try texts.map(list)
    let base = lists.dropFirst().reduce(lists[0]) { $0.merged(unresolvedWith: $1, key: ["id"]) }
    #expect(
      base.records.map { $0["id"] } == ["1", "4", "2", "5", "3", "6"].map { ListValue.text($0) })
    let local = "id,a\n1,x\n# three\n3,c\n# two\n2,b\n"
    for remote in ["id,a\n1,x\n# dos\n2,b\n# three\n3,c\n", "id,a\n1,x\n2,b\n# tres\n3,c\n"] {
      let result = try ListMerge(key: ["id"]).merge(
        base: base, local: list(local), remote: list(remote))
      #expect(result.isResolved && !result.hasDisputedOrder && !result.hasDisputedComments)
      let rows = remote.contains("dos") ? "# three\n3,c\n# dos\n2,b\n" : "# tres\n3,c\n2,b\n"
      #expect(merged(result) == "id,a\n1,x\n" + rows)
    }
  }

  // MARK: - Types

  /// Values of JSON that a table would take for another, or that were rounded.
  static let values = [
    "1", "1.0", "true", "\"1\"", "\"1.0\"", "1.00", "1e0", "0", "false", "null", "\"\"", "[1,2]",
    "\"[1,2]\"", "{\"a\":1,\"b\":2}", "9223372036854775808", "9223372036854775809",
    "3.14159265358979323846", "3.14159265358979323847",
  ]

  @Test("an edit that changes only the type or the digits of a value is taken", arguments: values)
  func types(value: String) throws {
    for other in Self.values where other != value {
      let (base, edited) = ("[{\"id\":1,\"v\":\(value)}]", "[{\"id\":1,\"v\":\(other)}]")
      #expect(try merged(merge(base, edited, base)) == edited)
      #expect(try merged(merge(base, base, edited)) == edited)
      let third = "[{\"id\":1,\"v\":\"another\"}]"
      #expect(try merge(base, edited, third).merge.unresolved.count == 1)
    }
  }

  @Test("null is not an absent field")
  func nulls() throws {
    let (null, absent) = (#"[{"id":1,"v":null}]"#, #"[{"id":1}]"#)
    #expect(try merged(merge(null, null, absent)) == absent)
    #expect(try merged(merge(absent, absent, null)) == null)
    let both = #"[{"id":1,"v":null,"w":1}]"#
    let result = try merge(
      both, #"[{"id":1,"w":1}]"#, #"[{"id":1,"v":null,"w":2}]"#, policy: .fieldwise(byName: [:]))
    #expect(merged(result) == #"[{"id":1,"w":2}]"#)
  }

  @Test("fields that one side removed are removed from the text, wherever they stand")
  func removedFields() throws {
    let names = ["a", "b", "c"]
    func object(_ fields: [String]) -> String {
      "[ { \(fields.map { "\"\($0)\" : 1" }.joined(separator: " , ")) } ]"
    }
    for mask in 0..<8 {
      let kept = names.indices.filter { mask & 1 << $0 != 0 }.map { names[$0] }
      let result = try merge(
        object(names + ["id"]), object(names + ["id", "l"]), object(kept + ["id", "r"]),
        policy: .fieldwise(byName: [:]))
      #expect(merged(result) == object(kept + ["id", "l", "r"]))
    }
  }

  @Test(
    "the order of fields, white space and escapes are no edit",
    arguments: [
      (#"{"a":1,"b":[{"c":"é/","d":null}]}"#, #"{ "b":[ {"d":null,"c":"\u00e9\/"} ], "a":1 }"#),
      (#"[{"x":{},"y":[]}]"#, #"[ { "y" : [ ] , "x" : { } } ]"#),
    ])
  func structure(value: String, other: String) throws {
    let (first, second) = ("[{\"id\":1,\"v\":\(value)}]", "[{\"v\":\(other),\"id\":1}]")
    let difference = try SetDifference(
      from: KeyedListText(text(first, .json), by: ["id"]),
      to: KeyedListText(text(second, .json), by: ["id"]))
    #expect(difference.isEmpty)
    let result = try merge(first, first, second)
    #expect(merged(result) == first && result.merge.conflicts.isEmpty)
  }

  @Test("the order of elements, repeated names and digits are differences of structure")
  func differentStructure() {
    for (first, second) in [
      ("[1,2]", "[2,1]"), ("[1]", "[1.0]"), (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#),
      ("[1]", "[1,1]"), ("[[]]", "[]"), ("{}", "[]"), (#"["\ud800"]"#, #"[ "\ud800"]"#),
      (#"{"é":1}"#, "{\"e\u{301}\":1}"), ("[1", "[1 "), ("[1] x", "[1]"),
    ] {
      #expect(!JSONStructure.areEqual(first, second), "\(first) \(second)")
    }
    let deep = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
    #expect(JSONStructure.areEqual(deep, deep.replacing("[]", with: "[ ]")))
  }

  // MARK: - Conflicts

  /// The texts that are left when each conflict between markers is resolved to one side.
  private func resolutions(_ text: String) -> [String] {
    var texts = [""]
    var sides: (local: String, remote: String)?
    var isRemote = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line == "<<<<<<< local" {
        sides = ("", "")
        isRemote = false
      } else if line == "=======", sides != nil {
        isRemote = true
      } else if line == ">>>>>>> remote", let both = sides {
        texts = texts.flatMap { [$0 + both.local, $0 + both.remote] }
        sides = nil
      } else if sides != nil {
        if isRemote { sides?.remote += line + "\n" } else { sides?.local += line + "\n" }
      } else {
        texts = texts.map { $0 + line + "\n" }
      }
    }
    return texts
  }

  @Test(
    "each resolution of the conflicts in a text is a list with the versions chosen",
    arguments: 0..<200)
  func markers(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    func version() -> [String?] {
      (0..<4).map { _ in ["1", "2", "3", nil, "1", "1"].randomElement(using: &random) ?? nil }
    }
    let versions = [version(), version(), version()]
    let layouts: [(RecordFormat, ([String]) -> String)] = [
      (.json, { $0.isEmpty ? "[]\n" : "[\n  \($0.joined(separator: ",\n  "))\n]\n" }),
      (.json, { "[\($0.joined(separator: ","))]" }),
      (.ndjson, { $0.map { $0 + "\n" }.joined() }),
    ]
    for (format, layout) in layouts {
      let texts = versions.map { version in
        layout(
          version.enumerated().compactMap { id, value in
            value.map { "{\"id\":\(id),\"v\":\($0)}" }
          })
      }
      let result = try merge(texts[0], texts[1], texts[2], format)
      let marked = merged(result, marks: true)
      let count = marked.split(separator: "\n").count { $0 == "<<<<<<< local" }
      #expect((count > 0) == !result.isResolved, "seed \(seed): \(marked)")
      let texts2 = resolutions(marked)
      for text in texts2 {
        let list = try self.text(text, format)
        let ids = Set(list.records.compactMap { $0["id"]?.description })
        #expect(ids.count == list.records.count, "seed \(seed): \(text)")
      }
      // The first resolution takes the local side everywhere, the last one the remote side.
      let local = try self.text(texts2[0], format)
      #expect(local.records == result.merge.merged, "seed \(seed): \(marked)")
    }
  }

  @Test(
    "line ends and the byte order mark of the local version stay",
    arguments: [RecordFormat.json, .ndjson, .csv], ["", "\u{FEFF}"])
  func lineEnds(format: RecordFormat, mark: String) throws {
    func list(_ first: Int, _ second: Int) -> String {
      let (rows, objects) = (["1,\(first)", "2,\(second)"], [(1, first), (2, second)])
      let lines = objects.map { "{\"id\":\($0),\"a\":\($1)}" }
      return switch format {
      case .json: "[\n" + lines.joined(separator: ",\n") + "\n]\n"
      case .ndjson: lines.joined(separator: "\n") + "\n"
      case .csv, .tsv: "id,a\n" + rows.joined(separator: "\n") + "\n"
      }
    }
    func local(_ text: String) -> String { mark + text.replacing("\n", with: "\r\n") }
    let result = try merge(list(1, 1), local(list(2, 1)), list(1, 3), format)
    #expect(Array(merged(result).utf8) == Array(local(list(2, 3)).utf8))
    // A mark of the other version alone is not taken.
    let other = try merge(list(1, 1), list(2, 1), local(list(1, 3)), format)
    #expect(Array(merged(other).utf8) == Array(list(2, 3).utf8))
    let conflict = try merge(list(1, 1), local(list(2, 1)), list(3, 1), format)
    let text = merged(conflict, marks: true)
    #expect(text.utf8.starts(with: mark.utf8) && text.contains("\r\n=======\r\n"))
  }

  // MARK: - CSV

  @Test("cells of CSV are texts, in quotes or not")
  func cells() throws {
    let base = "id,p\n1,1.50\n"
    #expect(try merged(merge(base, "id,p\n1,1.5\n", base, .csv)) == "id,p\n1,1.5\n")
    #expect(try merged(merge(base, base, "id,p\n1,1.5\n", .csv)) == "id,p\n1,1.5\n")
    let quoted = "\"id\",\"p\"\n\"1\",\"1.50\"\n"
    let result = try merge(base, base, quoted, .csv)
    #expect(result.merge.conflicts.isEmpty && merged(result) == base)
    let (old, new) = ("zip,n\n10001,a\n", "\"zip\",\"n\"\n\"10001\",\"a\"\n01234,\n")
    let difference = try SetDifference(
      from: KeyedListText(text(old, .csv), by: ["zip"]),
      to: KeyedListText(text(new, .csv), by: ["zip"]))
    #expect(difference.inserted.map(\.description) == [#"{"zip":"01234","n":null}"#])
    #expect(difference.updated.isEmpty && difference.deleted.isEmpty)
  }

  @Test("comments, empty lines, and the last line without an end stay")
  func layout() throws {
    let options = CSVOptions(comment: UInt8(ascii: "#"))
    func list(_ text: String) throws -> ListText {
      try ListText(Array(text.utf8), format: .csv, csv: options)
    }
    let base = "# head\nid,a\n\n# one\n1,x\n# two\n2,y\n# end"
    let edited = "# head\nid,a\n# one\n1,x\n# two\n2,z\n3,#q\n# end\n"
    let result = try ListMerge(key: ["id"]).merge(
      base: list(base.replacing("\n\n", with: "\n")), local: list(base), remote: list(edited))
    #expect(
      String(decoding: result.text(marksConflicts: false), as: UTF8.self)
        == "# head\nid,a\n\n# one\n1,x\n# two\n2,z\n3,#q\n# end")
    #expect(try merged(merge("id,a\n1,x", "id,a\n1,x", "id,a\n1,y", .csv)) == "id,a\n1,y")
  }

  @Test("a column that one side removed or renamed is removed or renamed")
  func columns() throws {
    let base = "id,n,note\n1,a,x\n2,b,\n"
    let edited = "id,n,note\n1,c,x\n2,b,\n3,d,\n"
    for (other, expected) in [
      ("id,n\n1,a\n2,b\n", "id,n\n1,c\n2,b\n3,d\n"),
      ("id,n,remark\n1,a,x\n2,b,\n", "id,n,remark\n1,c,x\n2,b,\n3,d,\n"),
      ("id,remark,n\n1,x,a\n2,,b\n", "id,remark,n\n1,x,c\n2,,b\n3,,d\n"),
      ("id,n,note,w\n1,a,x,\n2,b,,\n", "id,n,note,w\n1,c,x,\n2,b,,\n3,d,,\n"),
    ] {
      #expect(try merged(merge(base, edited, other, .csv)) == expected, "\(other)")
      let mirrored = try merge(base, other, edited, .csv)
      #expect(merged(mirrored) == expected && mirrored.isResolved, "\(other)")
    }
    // An edit of a cell follows the new name.
    #expect(
      try merged(
        merge(base, "id,n,note\n1,a,z\n2,b,\n", "id,n,remark\n1,a,x\n2,b,\n", .csv))
        == "id,n,remark\n1,a,z\n2,b,\n")
  }

  @Test("a removed column with a changed cell, and two new names, are conflicts")
  func columnConflicts() throws {
    let base = "id,note\n1,x\n"
    let removed = "id\n1\n"
    for other in ["id,note\n1,y\n", "id,note\n1,x\n2,z\n", "id,remark\n1,x\n"] {
      #expect(try merge(base, removed, other, .csv).hasOpenColumns, "\(other)")
      #expect(try merge(base, other, removed, .csv).hasOpenColumns, "\(other)")
    }
    let names = try merge(base, "id,remark\n1,x\n", "id,comment\n1,x\n", .csv)
    #expect(names.columnConflicts.map(\.conflict.kind) == [.editEdit])
    let same = try merge(
      "id,a,b\n1,x,y\n", "id,c,b\n1,x,y\n", "id,a,b,c\n1,x,y,z\n", .csv)
    #expect(same.columnConflicts.map(\.conflict.kind) == [.addAdd])
    let edited = "id,note\n1,y\n"
    func resolved(_ policy: MergePolicy<String>) throws -> String {
      try merged(merge(base, removed, edited, .csv, columns: policy))
    }
    #expect(try resolved(.keepLocal) == removed)
    #expect(try resolved(.keepRemote) == edited)
    #expect(try resolved(.editBeatsDelete) == edited)
  }

  @Test("CSV without a header is not merged")
  func withoutHeader() throws {
    var options = CSVOptions()
    options.hasHeader = false
    let rows = try ListText(Array("1,a\n".utf8), format: .csv, csv: options)
    let error = #expect(throws: RecordMergeError.self) {
      try ListMerge(key: rows.columns).merge(base: nil, local: rows, remote: rows)
    }
    #expect("\(try #require(error))".contains("without a header"))
  }

  @Test("lists of JSON and CSV are not merged with one another, and a missing key has its side")
  func unfit() throws {
    let merge = ListMerge(key: ["id"])
    let (json, csv) = (try text("[{\"id\":1}]", .json), try text("id\n1\n", .csv))
    for (local, remote) in [(json, csv), (csv, json)] {
      #expect(throws: RecordMergeError.self) {
        try merge.merge(base: nil, local: local, remote: remote)
      }
    }
    #expect(
      throws: RecordMergeError(
        side: .remote,
        error: RecordError(
          .missingKey, "the record has no value in the key field \"id\"", record: 1))
    ) {
      try merge.merge(base: nil, local: json, remote: text("[{\"n\":1}]", .json))
    }
  }
}
