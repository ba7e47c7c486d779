import TestFolder
import TestTool
import Testing

@Suite("tandem merge", .timeLimit(.minutes(20)))
struct MergeCommandTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(
      #"[{"id":1,"t":"a b c","n":1},{"id":2,"t":"x","n":1},{"id":3,"t":"q","n":0}]"#, to: "b.json")
    try folder.write(
      #"[{"id":1,"t":"A b c","n":2},{"id":2,"t":"y","n":1}]"#, to: "l.json")
    try folder.write(
      #"[{"id":1,"t":"a b C","n":1},{"id":2,"t":"z","n":1},{"id":3,"t":"w","n":0}]"#, to: "r.json")
  }

  func merge(_ options: String, base: String = "--base b.json") async throws -> Tool.Result {
    try await Tool.shell(
      "$tandem merge \(base) --local l.json --remote r.json --key id \(options)", in: folder)
  }

  @Test("conflicts stay unresolved, with the local version, unless told otherwise")
  func unresolved() async throws {
    let result = try await merge("")
    #expect(result.status == 1)
    #expect(try result.output == folder.text(of: "l.json"))
    for line in ["! edit/edit id=1", "! edit/edit id=2", "! delete/edit id=3"] {
      #expect(result.error.contains("\(line): unresolved\n"))
    }
  }

  @Test("JSON has the merged list, each conflict and the differences to it")
  func json() async throws {
    let result = try await merge("--json --text t --prefer edits")
    #expect(result.status == 1)
    #expect(
      result.output
        == #"{"merged":[{"id":1,"t":"A b C","n":2},{"id":2,"t":"y","n":1},{"id":3,"t":"w","n":0}],"#
        + #""conflicts":[{"key":1,"kind":"edit/edit","base":{"id":1,"t":"a b c","n":1},"#
        + #""local":{"id":1,"t":"A b c","n":2},"remote":{"id":1,"t":"a b C","n":1},"#
        + #""resolution":"merged"},{"key":2,"kind":"edit/edit","base":{"id":2,"t":"x","n":1},"#
        + #""local":{"id":2,"t":"y","n":1},"remote":{"id":2,"t":"z","n":1},"#
        + #""resolution":"unresolved"},{"key":3,"kind":"delete/edit","#
        + #""base":{"id":3,"t":"q","n":0},"local":null,"remote":{"id":3,"t":"w","n":0},"#
        + #""resolution":"remote"}],"columns":[],"notes":[],"toLocal":{"inserted":[{"id":3,"t":"w","n":0}],"#
        + #""updated":[{"old":{"id":1,"t":"A b c","n":2},"new":{"id":1,"t":"A b C","n":2}}],"#
        + #""deleted":[]},"toRemote":{"inserted":[],"#
        + #""updated":[{"old":{"id":1,"t":"a b C","n":1},"new":{"id":1,"t":"A b C","n":2}}],"#
        + #""deleted":[]}}"# + "\n")
  }

  @Test("an order and comments that both sides changed are in the report and in JSON")
  func notes() async throws {
    for (name, text) in [
      ("b.csv", "# b\nid\n1\n2\n3\n"), ("l.csv", "# l\nid\n2\n1\n3\n"),
      ("r.csv", "# r\nid\n1\n3\n2\n"),
    ] {
      try folder.write(text, to: name)
    }
    func merge(_ local: String) async throws -> Tool.Result {
      try await Tool.shell(
        "$tandem merge --base b.csv --local \(local) --remote r.csv --key id --comment '#' --json",
        in: folder)
    }
    let result = try await merge("l.csv")
    let notes = [
      "both versions changed the order of the records; the merged list has that of remote",
      "both versions changed the same comment lines; except between conflict markers, the merged "
        + "list has those of local",
    ]
    #expect(result.status == 0)
    #expect(
      result.output.contains(#""notes":["\#(notes[0])","\#(notes[1])"],"#), "\(result.output)")
    #expect(result.error.hasSuffix("\n\(notes[0])\n\(notes[1])\n"), "\(result.error)")
    let oneSided = try await merge("b.csv")
    #expect(oneSided.output.contains(#""notes":[],"#), "\(oneSided.output)")
    #expect(!oneSided.error.contains("changed"), "\(oneSided.error)")
  }

  @Test("comments that are lost with a deleted row are in the report and in JSON")
  func lostComments() async throws {
    for (name, text) in [
      ("b.csv", "id\n# b\n1\n2\n"), ("l.csv", "id\n# l\n1\n2\n"), ("r.csv", "id\n2\n"),
    ] {
      try folder.write(text, to: name)
    }
    let note =
      "one version changed comment lines above records that the other one deleted; the merged list "
      + "lacks them"
    for sides in ["--local l.csv --remote r.csv", "--local r.csv --remote l.csv"] {
      let result = try await Tool.shell(
        "$tandem merge --base b.csv \(sides) --key id --comment '#' --json", in: folder)
      #expect(result.status == 0 && result.error.hasSuffix("\n\(note)\n"), "\(result.error)")
      #expect(result.output.contains(#""notes":["\#(note)"],"#), "\(result.output)")
    }
  }

  @Test("as a git merge driver, an order that one side changed wins over a base with conflicts")
  func orderOverBaseWithConflicts() async throws {
    for (name, text) in [
      ("b.csv", "id,a\n<<<<<<< local\n=======\n1,x\n>>>>>>> remote\n2,b\n3,c\n"),
      ("l.csv", "id,a\n1,x\n3,c\n2,b\n"), ("r.csv", "id,a\n1,x\n2,b\n3,c\n"),
    ] {
      try folder.write(text, to: name)
    }
    for sides in ["--local l.csv --remote r.csv", "--local r.csv --remote l.csv"] {
      let result = try await Tool.shell(
        "$tandem merge --base b.csv \(sides) --key id --path list.csv", in: folder)
      #expect(try result.status == 0 && result.output == folder.text(of: "l.csv"))
      #expect(!result.error.contains("changed"), "\(result.error)")
    }
  }

  @Test("a side that is preferred wins whole, deletions included")
  func prefer() async throws {
    let local = try await merge("--prefer local -q")
    #expect(try local.status == 0 && local.output == folder.text(of: "l.json"))
    let remote = try await merge("--prefer remote -q")
    #expect(try remote.status == 0 && remote.output == folder.text(of: "r.json"))
    #expect(remote.error.isEmpty)
  }

  @Test("by field, a preference decides only what both sides changed")
  func byField() async throws {
    let result = try await merge("--by field --prefer remote -q")
    #expect(result.status == 0)
    #expect(
      result.output
        == #"[{"id":1,"t":"a b C","n":2},{"id":2,"t":"z","n":1},{"id":3,"t":"w","n":0}]"#)
  }

  @Test("with an unknown base, versions conflict as added, and one side's records are kept")
  func unknownBase() async throws {
    let result = try await merge("--json", base: "--unknown-base")
    #expect(result.status == 1)
    #expect(result.output.contains(#"{"key":1,"kind":"add/add","base":null,"local":{"id":1,"#))
    #expect(result.output.contains(#""toLocal":{"inserted":[{"id":3,"t":"w","n":0}],"updated":[]"#))
  }

  @Test("a composite key is an array")
  func compositeKey() async throws {
    try folder.write(#"{"a":1,"b":"x","n":1}"#, to: "1.ndjson")
    try folder.write(#"{"a":1,"b":"x","n":2}"#, to: "2.ndjson")
    let result = try await Tool.shell(
      "$tandem merge --unknown-base --local 1.ndjson --remote 2.ndjson --key a,b --json", in: folder
    )
    #expect(result.output.contains(#""conflicts":[{"key":[1,"x"],"kind":"add/add","#))
  }

  @Test("cells of CSV are texts, with their digits and quotes")
  func types() async throws {
    try folder.write("id,p,e\r\n1,1.50,\"\"\r\n2,2.0,\r\n3,5,a\r\n", to: "b.csv")
    try folder.write("id,p,e\r\n1,1.50,\"\"\r\n2,n/a,\r\n3,5,a\r\n", to: "l.csv")
    try folder.write("id,p,e,x\n3,6,\"a, \"\"b\"\"\",7\n1,1.50,\"\",\n2,2.0,,\n", to: "r.csv")
    let result = try await Tool.shell(
      "$tandem merge --base b.csv --local l.csv --remote r.csv --key id -q", in: folder)
    #expect(result.status == 0)
    #expect(
      result.output
        == "id,p,e,x\r\n3,6,\"a, \"\"b\"\"\",7\r\n1,1.50,\"\",\r\n2,n/a,,\r\n")
  }

  @Test("what records cannot say stays in the text: true, arrays, and the layout")
  func layout() async throws {
    let text = """
      [
        { "id": 1, "ok": true,
          "t": ["a", {"b": "]}"}] },
        {"id": 2, "ok": 1.50}
      ]

      """
    try folder.write(text, to: "b.json")
    try folder.write(text.replacing("true", with: "false"), to: "l.json")
    try folder.write(text.replacing("]}", with: "\\\"}["), to: "r.json")
    let result = try await merge("--by field -q")
    #expect(result.status == 0)
    #expect(
      result.output == text.replacing("true", with: "false").replacing("]}", with: "\\\"}["))
  }

  @Test("the list is written in place, through links and with its permissions, or not at all")
  func output() async throws {
    let result = try await Tool.shell(
      """
      chmod 640 l.json; ln -s l.json link
      args='--base b.json --local l.json --key id --prefer remote -q'
      $tandem merge $args --remote r.json -o link || exit 9
      cmp l.json r.json && test -L link && ls -l l.json | grep -q '^-rw-r-----' || exit 8
      $tandem merge $args --remote missing.json -o link && exit 7
      cmp l.json r.json || exit 6
      $tandem merge $args --remote r.json -o missing/x
      test $? = 2 || exit 5
      ln -s missing/y loose; $tandem merge $args --remote r.json -o loose
      test $? = 2 && test -L loose || exit 3
      ls | grep tandem- && exit 4
      exit 0
      """, in: folder)
    #expect(result.status == 0, "\(result.error)")
  }

  @Test("standard output takes the list, by whatever name, and keeps what was written before")
  func standardOutput() async throws {
    for name in ["-", "/dev/stdout", "session.txt"] {
      let result = try await Tool.shell(
        """
        merge="$tandem merge --base b.json --local l.json --remote r.json --key id --prefer local -q"
        { echo header; $merge -o \(name); echo footer; } >session.txt; cat session.txt
        """, in: folder)
      #expect(try result.output == "header\n\(folder.text(of: "l.json"))footer\n", "\(name)")
      #expect(result.error.isEmpty)
    }
    let pipe = try await Tool.shell(
      """
      $tandem merge --base b.json --local l.json --remote r.json --key id --prefer local -q \
        -o /dev/stdout | cat
      """, in: folder)
    #expect(try pipe.output == folder.text(of: "l.json"))
    let both = try await merge("--json -o -")
    #expect(both.status == 2 && both.output.isEmpty && both.error.contains("--output names that"))
  }

  @Test("what cannot be replaced by a file is left alone, and called what it is")
  func unfitOutput() async throws {
    let result = try await Tool.shell(
      """
      mkdir dir; mkfifo pipe
      merge="$tandem merge --base b.json --local l.json --remote r.json --key id"
      for name in dir pipe; do $merge -o $name; echo $?; done
      { echo before >&2; $merge -o /dev/stderr; echo $?; } 2>log; cat log >&2
      """, in: folder)
    #expect(result.output == "2\n2\n2\n")
    #expect(
      result.error == """
        tandem: dir: cannot be written: it is a directory
        tandem: pipe: cannot be written: it is not a regular file
        before
        tandem: /dev/stderr: cannot be written: standard error goes there

        """)
  }

  @Test("a text that no record has is a mistake, not a merge without it")
  func unknownText() async throws {
    for (options, words) in [
      ("--text nope", "--text: no record has a field nope; there are id, n, t"),
      ("--by field --text t,tt", "--text: no record has a field tt; did you mean t?"),
    ] {
      let result = try await merge(options)
      #expect(result.status == 2 && result.output.isEmpty, "\(options)")
      #expect(result.error.contains(words), "\(result.error)")
    }
    // One version with the field is enough, and where there is no record, none can be missed.
    try folder.write(#"[{"id":1,"u":"x"}]"#, to: "r.json")
    #expect(try await merge("--prefer local -q --text u").status == 0)
    // A driver of git's is for files of many kinds.
    #expect(try await merge("--prefer local -q --text nope --path l.json").status == 0)
    for name in ["b.json", "l.json", "r.json"] { try folder.write("[]", to: name) }
    #expect(try await merge("--text nope").status == 0)
  }

  @Test("a file that is no list is named with its kind")
  func wrongSources() async throws {
    try folder.execute("some.db", "CREATE TABLE t (id)")
    let database = try await Tool.shell(
      "$tandem merge --unknown-base --local l.json --remote some.db --key id", in: folder)
    #expect(database.status == 2)
    #expect(database.error.contains("some.db: cannot be merged: it is a SQLite database, not a"))
    for name in ["/dev/null", "empty.csv", "empty.json"] {
      if name.hasPrefix("empty") { try folder.write("", to: name) }
      let empty = try await Tool.shell(
        "$tandem merge --unknown-base --local l.json --remote \(name) --key id",
        in: folder)
      #expect(empty.status == 2 && empty.output.isEmpty)
      #expect(empty.error.contains("\(name): cannot be merged: it is empty"), "\(empty.error)")
    }
    let packed = try await Tool.shell(
      """
      gzip -k r.json
      $tandem merge --unknown-base --local l.json --remote r.json.gz --key id
      """, in: folder)
    #expect(packed.status == 2 && packed.output.isEmpty)
    #expect(packed.error.contains("r.json.gz: cannot be merged: it is in gzip"), "\(packed.error)")
    let url = "http://user:secret@127.0.0.1:1/x"
    for (option, rest) in [
      ("--remote", "--unknown-base --local l.json"), ("--local", "--unknown-base --remote r.json"),
      ("--base", "--local l.json --remote r.json"),
    ] {
      let result = try await Tool.shell(
        "$tandem merge --key id --retries 0 \(rest) \(option) \(url)", in: folder)
      #expect(result.status == 2)
      #expect(result.error.contains("http://127.0.0.1:1/x: nothing accepts connections"))
    }
    let long = try await Tool.shell(
      """
      truncate -s 1100M long.json
      $tandem merge --unknown-base --local l.json --remote long.json --key id; rm long.json
      """, in: folder)
    #expect(long.error.contains("long.json: cannot be read: it is longer than the limit of"))
  }

  @Test("a database in a pipe is named as such, because it can be read only from its file")
  func pipedDatabase() async throws {
    try folder.execute("some.db", "CREATE TABLE t (id PRIMARY KEY)")
    for command in ["diff - l.json", "diff l.json -", "mirror - other.db --table t --key id"] {
      let result = try await Tool.shell("$tandem \(command) < some.db", in: folder)
      #expect(result.status != 0 && result.output.isEmpty)
      #expect(
        result.error.contains("standard input: this is a SQLite database, not a list"),
        "\(result.error)")
    }
  }

  @Test("a record with one field in conflict counts as one conflict")
  func oneConflict() async throws {
    try folder.write(#"[{"id":1,"t":"a b C","n":1},{"id":2,"t":"x","n":1}]"#, to: "r.json")
    let result = try await merge("")
    #expect(result.error.contains("; 1 conflict, 1 unresolved\n"), "\(result.error)")
  }

  @Test("both versions of a conflict are shown on standard error")
  func values() async throws {
    let result = try await merge("")
    for lines in [
      "! edit/edit id=2: unresolved\n  local   t=\"y\"\n  remote  t=\"z\"\n",
      "! delete/edit id=3: unresolved\n  local   (deleted)\n  remote  id=3  t=\"w\"  n=0\n",
    ] {
      #expect(result.error.contains(lines), "\(result.error)")
    }
  }

  @Test("JSON is printed as it was")
  func jsonTypes() async throws {
    try folder.write(#"[{"id":1,"a":false,"o":{"b":1,"a":[1.50,null]}}]"#, to: "b.json")
    try folder.write(#"[{"id":1,"a":false,"o":{"b":2,"a":[1.50,null]}}]"#, to: "l.json")
    try folder.write(#"[{"id":1,"a":true,"o":{"b":1,"a":[1.50,null]}}]"#, to: "r.json")
    let result = try await merge("--json --by field")
    #expect(result.status == 0)
    #expect(
      result.output.contains(#""merged":[{"id":1,"a":true,"o":{"b":2,"a":[1.50,null]}}]"#),
      "\(result.output)")
  }

  @Test("an unresolved conflict is marked in the file, or kept beside it, if that is asked for")
  func conflictForms() async throws {
    let markers = try await merge("--conflicts markers -q")
    #expect(
      markers.output == """
        [
        <<<<<<< local
        {"id":1,"t":"A b c","n":2},
        =======
        {"id":1,"t":"a b C","n":1},
        >>>>>>> remote
        <<<<<<< local
        {"id":2,"t":"y","n":1}
        =======
        {"id":2,"t":"z","n":1}
        >>>>>>> remote
        <<<<<<< local
        =======
        ,{"id":3,"t":"w","n":0}
        >>>>>>> remote
        ]
        """)
    let local = try await merge("--conflicts local -q -o out.json")
    #expect(try local.status == 1 && folder.text(of: "out.json") == folder.text(of: "l.json"))
    let file = try await merge("--conflicts file -o out.json")
    #expect(file.status == 1 && file.error.contains("are in out.json.conflicts.json"))
    #expect(try folder.text(of: "out.json") == folder.text(of: "l.json"))
    #expect(
      try folder.text(of: "out.json.conflicts.json").contains(
        #""local":{"id":2,"t":"y","n":1},"remote":{"id":2,"t":"z","n":1},"resolution":"#))
    let nowhere = try await merge("--conflicts file")
    #expect(nowhere.status == 2 && nowhere.error.contains("--conflicts file needs --output"))
  }

  @Test("with --path, a file that is no list is merged by lines, and messages name the file")
  func texts() async throws {
    func merge(_ base: String, _ local: String, _ remote: String) async throws -> Tool.Result {
      for (text, name) in [(base, "1"), (local, "2"), (remote, "3")] {
        try folder.write(text, to: name)
      }
      return try await Tool.shell(
        "$tandem merge --base 1 --local 2 --remote 3 --key id --path conf/app.json", in: folder)
    }
    let base = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n"
    let ours = base.replacing("\"a\": 1", with: "\"a\": 9")
    let clean = try await merge(base, ours, base.replacing("\"c\": 3", with: "\"c\": 8"))
    #expect(clean.status == 0)
    #expect(clean.output == ours.replacing("\"c\": 3", with: "\"c\": 8"))
    #expect(clean.error.contains("conf/app.json (base version): "), "\(clean.error)")
    let conflict = try await merge(base, ours, base.replacing("\"a\": 1", with: "\"a\": 7"))
    #expect(conflict.status == 1)
    #expect(
      conflict.output.contains(
        "<<<<<<< local\n  \"a\": 9,\n=======\n  \"a\": 7,\n>>>>>>> remote\n"))
    let noKey = try await merge("[{\"n\":1}]\n", "[{\"n\":1}]\n", "[{\"n\":2}]\n")
    #expect(noKey.status == 0 && noKey.output == "[{\"n\":2}]\n")
    #expect(noKey.error.contains("no value in the key field \"id\""))
    let binary = try await merge("\0", "\0a", "\0b")
    #expect(binary.status == 2 && binary.error.contains("conf/app.json: cannot be merged"))
  }

  @Test("a column in conflict leaves both versions of the file in it, or the local one")
  func columns() async throws {
    try folder.write("id,note\n1,x\n", to: "b.csv")
    try folder.write("id\n1\n", to: "l.csv")
    try folder.write("id,note\n1,y\n", to: "r.csv")
    func merge(_ options: String) async throws -> Tool.Result {
      try await Tool.shell(
        "$tandem merge --base b.csv --local l.csv --remote r.csv --key id \(options)", in: folder)
    }
    let local = try await merge("")
    #expect(local.status == 1 && local.output == "id\n1\n")
    #expect(
      local.error.contains(
        "! delete/edit column note: unresolved\n  local   removed\n  remote  kept, with changes\n"),
      "\(local.error)")
    let marked = try await merge("--conflicts markers -q")
    #expect(
      marked.output == "<<<<<<< local\nid\n1\n=======\nid,note\n1,y\n>>>>>>> remote\n")
    let edits = try await merge("--prefer edits -q")
    #expect(edits.status == 0 && edits.output == "id,note\n1,y\n")
    let json = try await merge("--json -q")
    #expect(json.status == 1 && json.output.contains(#""columns":[{"column":"note","kind":"#))
  }

  @Test("CSV of another dialect is merged, and written in it")
  func dialects() async throws {
    let result = try await Tool.shell(
      """
      printf 'id;n\\n1;\\351\\n2;b\\n' >b.csv; printf 'id;n\\n1;\\351\\n2;c,d\\n' >l.csv
      printf 'id;n\\n1;\\340\\n2;b\\n3;x\\n' >r.csv
      $tandem merge --base b.csv --local l.csv --remote r.csv --key id -q --delimiter ';' \
        --encoding latin1 | od -An -c | tr -d ' \\n'
      $tandem merge --unknown-base --local l.json --remote r.json --key id --format json --ragged
      """, in: folder)
    #expect(result.output == "id;n\\n1;340\\n2;c,d\\n3;x\\n", "\(result.output)")
    #expect(result.status == 2 && result.error.contains("--ragged is for CSV"))
  }

  @Test(
    "wrong options exit with 2",
    arguments: [
      "--key id", "--key id --base b.json --unknown-base", "--key id --base b.json --prefer both",
      "--key id --base b.json --by row", "--key id --base missing.json",
      "--key id --base l.json --format csv", "--base b.json --key t,nothing",
    ])
  func trouble(options: String) async throws {
    let result = try await Tool.shell(
      "$tandem merge --local l.json --remote r.json \(options)", in: folder)
    #expect(result.status == 2 && !result.error.isEmpty && result.output.isEmpty)
  }

  @Test("a CSV whose header lacks the key is an error, not an empty list")
  func headerWithoutKey() async throws {
    try folder.write("id,n\n1,a\n", to: "list.csv")
    try folder.write("no list\n", to: "prose.csv")
    let result = try await Tool.shell(
      "$tandem merge --base list.csv --local list.csv --remote prose.csv --key id", in: folder)
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.error.contains("prose.csv: line 1, column 1: the header has no field \"id\""))
  }
}
