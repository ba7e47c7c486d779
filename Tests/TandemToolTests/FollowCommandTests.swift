import Foundation
import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

/// A server that runs, and is started again at its address after it was killed.
private final class Server {
  let url: String
  private let port: ReservedPort
  private let arguments: [String]
  private var tool: RunningTool?

  init(_ arguments: [String]) throws {
    port = try ReservedPort()
    url = "http://127.0.0.1:\(port.number)"
    self.arguments = ["serve", "--listen", "127.0.0.1:\(port.number)"] + arguments
  }

  func start() async throws {
    let tool = try RunningTool(arguments)
    self.tool = tool
    _ = try #require(await tool.line(), "it does not listen")
  }

  func kill() async {
    tool?.signal(SIGKILL)
    _ = await tool?.end()
    tool = nil
  }

  /// The next line of the log with a text.
  func log(_ part: String) async throws -> String {
    while true {
      let line = try #require(await tool?.errorLine(), "no line has: \(part)")
      if line.contains(part) { return line }
    }
  }
}

@Suite("tandem serve --follow and tandem promote", .timeLimit(.minutes(20)))
struct FollowCommandTests: ShellSuite {
  let folder: TemporaryFolder
  private let leader: Server
  private let follower: Server

  init() async throws {
    folder = try TemporaryFolder()
    let tokens = folder.path(of: "tokens")
    for (file, right) in [("writer", "--write"), ("follower", "--follow")] {
      let made = try await Tool.run([
        "token", "create", "--tokens", tokens, "--account", file, "--space", "*", right,
      ])
      try folder.write(try #require(made.output.split(separator: "\n").last) + "\n", to: file)
    }
    leader = try Server(["--data", folder.path(of: "spaces"), "--tokens", tokens])
    follower = try Server([
      "--data", folder.path(of: "copies"), "--tokens", tokens, "--follow", leader.url,
      "--token-file", folder.path(of: "follower"), "--heartbeat", "1",
    ])
  }

  /// Lines of shell with functions for replicas.
  @discardableResult
  private func run(_ lines: String, status: Int32 = 0) async throws -> Tool.Result {
    try await shell(
      """
      leader='\(leader.url)'; follower='\(follower.url)'
      new() {
        sqlite3 $1.db "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT UNIQUE); \\
          CREATE TABLE tally (id TEXT PRIMARY KEY, n INTEGER NOT NULL)" &&
        $tandem attach $1.db --server $2 --space $3 --token-file writer --table note --table tally \\
          --policy n=counter -q && $tandem sync $1.db -q
      }
      head() { sqlite3 "$1" 'SELECT epoch, head, mark FROM space JOIN history ON version = head' 2>/dev/null; }
      # The copy has the state of the leader, which nobody changes now.
      instep() {
        until [ -s copies/$1.space ] && [ "$(head copies/$1.space)" = "$(head spaces/$1.space)" ]; do sleep 0.05; done
      }
      move() { $tandem attach $1.db --server $follower --space $2 --token-file writer -q $3; }
      dump() { sqlite3 $1.db 'SELECT * FROM note ORDER BY id' 'SELECT * FROM tally ORDER BY id'; }
      \(lines)
      """, status: status)
  }

  @Test(
    "A leader is killed amid commits: replicas go on with the follower, no edit is lost or made twice"
  )
  func killedLeader() async throws {
    try await leader.start()
    try await follower.start()
    try await run(
      """
      new a $leader notes && new b $leader notes && new idle $leader notes || exit 9
      sqlite3 a.db "INSERT INTO tally VALUES ('a', 0), ('b', 0)" && $tandem sync a.db -q && $tandem sync b.db -q
      """)
    // Two replicas make commits until the leader is gone. `KNOWN` has what was acknowledged.
    try await run(
      """
      touch a.known b.known
      write() {
        for number in $(seq 1 100000); do
          sqlite3 $1.db "INSERT INTO note VALUES ('$1$number', 'title $1 $number'); \\
            UPDATE tally SET n = n + 1 WHERE id = '$1'"
          until $tandem sync $1.db -q 2>/dev/null; do [ -e gone ] && break 2; done
          echo "$1$number" >>$1.known
        done
        touch $1.done
      }
      write a & write b &
      """)
    try await run(
      "until [ $(cat a.known b.known 2>/dev/null | wc -l) -gt 12 ]; do sleep 0.05; done")
    await leader.kill()
    try folder.write("", to: "gone")
    try await run("until [ -e a.done ] && [ -e b.done ]; do sleep 0.05; done")
    let before = try await run("$tandem sync idle.db -q", status: 2)
    #expect(before.error.contains(leader.url))
    // The follower refuses replicas until it is promoted, and names the leader.
    let waiting = try await run(
      "move idle notes && timeout 3 $tandem sync idle.db; curl -s $follower/healthz; $tandem status idle.db",
      status: 1)
    #expect(waiting.output.contains(#"{"status":"following","secondsBehind":"#))
    let token = try folder.text(of: "writer").trimmingCharacters(in: .newlines)
    let refusal = try await answer("\(follower.url)/v1/spaces/notes", secret: token)
    #expect(refusal.status == 503)
    #expect(refusal.text.contains("this server follows \(leader.url)"))
    #expect(try await answer("\(follower.url)/v1/spaces", secret: token).status == 503)
    let promoted = try await run("$tandem promote --data copies")
    #expect(promoted.output.hasPrefix("notes: promoted at version "))
    #expect(try await answer("\(follower.url)/healthz").text == #"{"status":"ok"}"#)
    try await run(
      """
      for f in a b idle; do
        move $f notes 2>/dev/null || move $f notes --allow-lost-commits || exit 8
        # Status 1: in step, and what both histories changed is kept as a conflict.
        $tandem sync $f.db -q 2>$f.error || $tandem sync $f.db --lost-history union -q || [ $? = 1 ] || exit 9
      done
      for round in 1 2; do for f in a b idle; do $tandem sync $f.db -q || [ $? = 1 ] || exit 10; done; done
      new fresh $follower notes || exit 11
      for f in a b idle fresh; do dump $f >$f.rows; done
      cmp a.rows fresh.rows && cmp b.rows fresh.rows && cmp idle.rows fresh.rows || exit 12
      for f in a b; do
        while read id; do grep -q "^$id|" fresh.rows || { echo "lost $id"; exit 13; }; done <$f.known
        $tandem sync $f.db -q --verify || [ $? = 1 ] || exit 14
      done
      """)
    // Each replica counted once for each row that it added, also for those whose reply was lost.
    let counts = try await run(
      """
      for f in a b; do
        sqlite3 fresh.db "SELECT n - (SELECT count(*) FROM note WHERE id LIKE '$f%') FROM tally WHERE id = '$f'"
      done; cat a.error b.error
      """)
    if !counts.output.contains("history") {
      #expect(counts.output == "0\n0\n")
    }
    // The leader comes back: replicas that have gone on notice it.
    try await leader.start()
    let back = try await run(
      """
      sqlite3 a.db "INSERT INTO note VALUES ('later', 'later')"; $tandem sync a.db -q || [ $? = 1 ] || exit 9
      $tandem attach a.db --server $leader --space notes --token-file writer --allow-lost-commits -q
      $tandem sync a.db
      """, status: 1)
    #expect(back.error.contains("--lost-history"))
    // After a restart with the same options, it serves.
    await follower.kill()
    try await follower.start()
    _ = try await follower.log("was promoted")
    try await run("move b notes; $tandem sync b.db -q || [ $? = 1 ] && dump b | grep later")
  }

  @Test("Leader and follower are killed again and again, and the copy has every row of the leader")
  func kills() async throws {
    try await leader.start()
    try await follower.start()
    try await run("new a $leader notes && new b $leader lists")
    for round in 0..<6 {
      try await run(
        """
        write() {
          for number in 1 2 3 4 5 6; do for f in a b; do
            sqlite3 $f.db "INSERT INTO note VALUES ('\(round) ' || $number, hex(randomblob(30000)))"
            timeout 5 $tandem sync $f.db -q 2>/dev/null
          done; done
          touch \(round).done
        }
        write &
        """)
      let victims = round % 2 == 0 ? [follower] : [follower, leader]
      // Some commits have been made, and others have not.
      try await run(
        """
        until [ $(sqlite3 a.db "SELECT count(*) FROM note WHERE id LIKE '\(round) %'") -gt 1 ]; do :; done
        """)
      for victim in victims { await victim.kill() }
      for victim in victims.reversed() { try await victim.start() }
      try await run("until [ -e \(round).done ]; do sleep 0.05; done")
    }
    try await run(
      """
      for f in a b; do until $tandem sync $f.db -q; do :; done; done
      instep notes; instep lists
      """)
    await leader.kill()
    try await run(
      """
      $tandem promote --data copies -q || exit 9
      for table in history record replica overruled claim rule number change_count column_definition \\
        replica_name; do
        for space in notes lists; do
          for place in spaces copies; do sqlite3 $place/$space.space "SELECT * FROM $table" | sort >$place.rows; done
          cmp spaces.rows copies.rows || { echo $table; exit 10; }
        done
      done
      for f in a b; do $tandem attach $f.db --server $follower --space $([ $f = a ] && echo notes || echo lists) \\
        --token-file writer -q && $tandem sync $f.db -q --verify || exit 11; done
      """)
  }

  @Test("What became of spaces on the leader is noticed: nothing is deleted, nothing comes back")
  func spacesThatWent() async throws {
    try await leader.start()
    try await follower.start()
    try await run(
      """
      for s in kept gone old back; do new $s $leader $s || exit 9; sqlite3 $s.db "INSERT INTO note VALUES ('1', '$s')"
        $tandem sync $s.db -q || exit 9; done
      $tandem backup --data spaces out -q
      sqlite3 back.db "INSERT INTO note VALUES ('2', 'later')" && $tandem sync back.db -q
      for s in kept gone old back; do instep $s; done
      """)
    await leader.kill()
    try await run(
      """
      $tandem space delete --space gone --confirm gone --data spaces &&
      $tandem space rename new --space old --confirm old --data spaces &&
      rm spaces/back.space* && $tandem restore --data spaces --space back out -q || exit 9
      """)
    try await leader.start()
    var lines: [String] = []
    for _ in 0..<2 { lines.append(try await follower.log("no more")) }
    let text = lines.sorted().joined(separator: "\n")
    #expect(text.contains("the space gone no more: it was deleted there"))
    #expect(text.contains("the space old no more: it is called new there"))
    try await run(
      """
      instep new; instep kept; instep back
      $tandem forget --data spaces --space kept --older-than 0d
      sqlite3 kept.db "INSERT INTO note VALUES ('2', 'more')" && $tandem sync kept.db -q && instep kept
      until [ $(sqlite3 copies/kept.space 'SELECT -1 - horizon FROM space') -gt 0 ]; do sleep 0.05; done
      """)
    await leader.kill()
    let promoted = try await run("$tandem promote --data copies; ls copies")
    #expect(promoted.output.contains("gone: not promoted"))
    #expect(promoted.output.contains("gone.kept-") && promoted.output.contains("back.kept-"))
    #expect(promoted.output.contains("new: promoted at version 1"))
    for (name, part) in [("gone", "was deleted"), ("old", "is called new now")] {
      let refused = try await run("move \(name) \(name) && exit 0; exit 3", status: 3)
      #expect(refused.error.contains(part), "\(refused.error)")
    }
    try await run(
      """
      move kept kept && $tandem sync kept.db -q --verify || exit 9
      file=$(ls copies/back.kept-*) && $tandem space import $file --data copies --space former &&
      new former $follower former && dump former | grep -q later
      """)
    let again = try await run("$tandem promote --data copies")
    #expect(again.output == "copies: the spaces were promoted before\n")
  }

  /// Functions of the shell: members as the commands list them, and as a copy has them.
  private static let memberLines = """
    listed() { $tandem member $2 list --data $1; }
    copied() { sqlite3 -separator ' ' copies/$1.space 'SELECT account, role FROM tandem_member ORDER BY 1' 2>&1; }
    samemembers() {
      until [ -s copies/$1.space ] && [ "$(copied $1)" = "$(listed spaces $1)" ]; do sleep 0.05; done
    }
    """

  @Test("A promoted server has the members that the leader had, whatever became of their spaces")
  func members() async throws {
    let tokens = folder.path(of: "tokens")
    var secrets: [String: String] = [:]
    for account in ["ann", "bob", "cat", "dan", "eve"] {
      let made = try await Tool.run([
        "token", "create", "--tokens", tokens, "--account", account, "--members",
      ])
      secrets[account] = String(try #require(made.output.split(separator: "\n").last))
    }
    func status(_ path: String, _ account: String) async throws -> Int {
      try await answer("\(follower.url)/v1/spaces/\(path)", secret: secrets[account]).status
    }
    try await leader.start()
    try await follower.start()
    try await run(
      """
      \(Self.memberLines)
      for s in notes old gone one two; do
        new $s $leader $s && sqlite3 $s.db "INSERT INTO note VALUES ('1', '$s')" && $tandem sync $s.db -q || exit 9
      done
      add() { $tandem member $1 add $2 --role $3 --data spaces 2>/dev/null || exit 9; }
      add notes ann owner; add notes bob writer; add notes cat reader; add old bob owner; add gone cat owner
      add one ann owner; add two bob owner
      for s in notes old gone one two; do instep $s; samemembers $s; done
      # No space has a commit from here on.
      $tandem member notes remove bob --data spaces && add notes cat writer && samemembers notes
      """)
    // The server changes members too.
    let made = try await answer(
      "\(leader.url)/v1/spaces/notes/members/dan", method: "PUT", secret: secrets["ann"],
      body: #"{"role":"reader"}"#)
    #expect(made.status == 200)
    try await run("\(Self.memberLines)\nsamemembers notes")
    let removed = try await answer(
      "\(leader.url)/v1/spaces/notes/members/cat", method: "DELETE", secret: secrets["ann"])
    #expect(removed.status == 200)
    // The copies are not looked at for members, and cannot be given others.
    let copy = "\(Self.memberLines)\nsamemembers notes\n"
    for action in ["add eve --role owner", "remove dan", "list"] {
      let refused = try await run("\(copy)$tandem member notes \(action) --data copies", status: 1)
      #expect(
        refused.error.contains(
          "the members of notes are copies of those of \(leader.url): change them there"),
        "\(refused.error)")
    }
    try await run("[ ! -e copies/members.sqlite ]")
    // A follower that is away, and names that go from one space to another.
    await follower.kill()
    await leader.kill()
    try await run(
      """
      \(Self.memberLines)
      $tandem member notes add eve --role reader --data spaces && $tandem member notes remove dan --data spaces || exit 9
      rename() { $tandem space rename $2 --space $1 --confirm $1 --data spaces || exit 9; }
      rename old new; rename one spare; rename two one; rename spare two
      $tandem space delete --space gone --confirm gone --data spaces
      """)
    try await leader.start()
    try await follower.start()
    try await run(
      "\(Self.memberLines)\nfor s in notes new one two; do instep $s; samemembers $s; done")
    for _ in 0..<2 { _ = try await follower.log("no more") }
    await leader.kill()
    let promoted = try await run(
      """
      \(Self.memberLines)
      $tandem promote --data copies -q || exit 9
      for s in notes new one two; do
        [ "$(listed copies $s)" = "$(listed spaces $s)" ] || exit 10
        [ "$(copied $s)" != "$(listed copies $s)" ] || exit 11
      done
      sqlite3 -separator ' ' copies/members.sqlite 'SELECT DISTINCT space FROM member ORDER BY 1'
      stat -c %a copies/members.sqlite
      for s in notes new one two; do listed copies $s; done
      """)
    #expect(
      promoted.output
        == "new\nnotes\none\ntwo\n600\nann owner\neve reader\nbob owner\nbob owner\nann owner\n")
    for (account, spaces) in [
      ("ann", ["notes", "two"]), ("bob", ["new", "one"]), ("cat", []), ("dan", []),
      ("eve", ["notes"]),
    ] {
      for space in ["notes", "new", "one", "two", "old", "gone"] {
        let (state, changes) = (
          try await status(space, account), try await status("\(space)/changes", account)
        )
        let is404 = state == 404 && changes == 404
        #expect(is404 != spaces.contains(space), "\(account) \(space): \(state) \(changes)")
      }
    }
    let owner = try await answer(
      "\(follower.url)/v1/spaces/notes/members", secret: secrets["ann"])
    #expect(owner.text.contains("eve") && !owner.text.contains("dan"), "\(owner.text)")
    // The copy of the space that the leader had deleted has its members, as an export has.
    try await run(
      """
      \(Self.memberLines)
      $tandem space import $(ls copies/gone.kept-*) --space back --data copies &&
      [ "$(listed copies back)" = 'cat owner' ] || exit 9
      $tandem member notes remove eve --data copies && $tandem backup --data copies out -q
      """)
  }

  @Test("Spaces that are not promoted get no members, and another run completes it")
  func unpromotedMembers() async throws {
    try await leader.start()
    try await follower.start()
    try await run(
      """
      \(Self.memberLines)
      for s in one two; do
        new $s $leader $s && sqlite3 $s.db "INSERT INTO note VALUES ('1', 'first')" && $tandem sync $s.db -q || exit 9
        $tandem member $s add ann --role owner --data spaces || exit 9; instep $s; samemembers $s
      done
      """)
    await leader.kill()
    await follower.kill()
    // What an operator copied by hand before the leader gave members.
    let promoted = try await run(
      """
      sqlite3 spaces/members.sqlite ".backup copies/members.sqlite"
      sqlite3 copies/members.sqlite "INSERT INTO member VALUES ('eve', 'one', 'owner'), ('eve', 'two', 'owner')"
      sqlite3 copies/two.space "UPDATE record SET fields = replace(fields, 'first', 'other')"
      $tandem promote --data copies
      """, status: 1)
    #expect(promoted.error.contains("two is not promoted"))
    let refused = try await run("$tandem member two add bob --role reader --data copies", status: 1)
    #expect(refused.error.contains("those of another server"), "\(refused.error)")
    try await run(
      """
      \(Self.memberLines)
      [ "$(listed copies one)" = 'ann owner' ] && [ "$(copied two)" = 'ann owner' ] || exit 9
      sqlite3 copies/two.space "UPDATE record SET fields = replace(fields, 'other', 'first')"
      $tandem promote --data copies -q && [ "$(listed copies two)" = 'ann owner' ]
      """)
  }

  @Test("A space that was never copied completely is not served, and nobody makes an empty one")
  func incompleteCopies() async throws {
    try await leader.start()
    try await run(
      """
      for s in one two whole; do new $s $leader $s && sqlite3 $s.db "INSERT INTO note VALUES ('1', 'first')" &&
        $tandem sync $s.db -q || exit 9; done
      """)
    await leader.kill()
    // The records have not the digest of their version any more.
    try await run(
      """
      for s in one two; do
        sqlite3 spaces/$s.space "UPDATE record SET fields = replace(fields, 'first', 'other')" || exit 9
      done
      """)
    try await leader.start()
    try await follower.start()
    for _ in 0..<2 { _ = try await follower.log("not in step") }
    try await run("instep whole")
    await leader.kill()
    let promoted = try await run("$tandem promote --data copies", status: 1)
    #expect(promoted.output == "whole: promoted at version 1\n")
    for name in ["one", "two"] {
      #expect(promoted.error.contains("\(name) is not promoted: its copy was not complete"))
      #expect(promoted.error.contains("tandem space import \(name).space --space \(name)"))
    }
    #expect(!promoted.error.contains("attach a database"))
    let refused = try await run(
      """
      move whole whole && $tandem sync whole.db -q && ls copies/*.space
      sqlite3 new.db 'CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT UNIQUE)'
      $tandem attach new.db --server $follower --space one --token-file writer --table note && exit 9
      move two two && exit 9
      ls copies/*.space && exit 3
      """, status: 3)
    #expect(refused.output == "copies/whole.space\ncopies/whole.space\n")
    #expect(refused.error.contains("space one it had not copied completely"))
    #expect(refused.error.contains("space two it had not copied completely"))
    // One is brought from the disk of the leader, and the other one is given up.
    try await run(
      """
      sqlite3 spaces/one.space "UPDATE record SET fields = replace(fields, 'other', 'first')" &&
      cp spaces/one.space* . && $tandem space import one.space --space one --data copies || exit 9
      move one one && $tandem sync one.db -q --verify || exit 10
      """)
    await follower.kill()
    try await run("$tandem space delete --space two --confirm two --data copies")
    try await follower.start()
    let deleted = try await run("move two two && exit 9; exit 3", status: 3)
    #expect(deleted.error.contains("the space two was deleted"))
  }

  @Test("A leader that cannot be asked is not taken for one that has ended")
  func certainEnd() async throws {
    try await run(
      """
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=leader \
        -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null
      """)
    let encrypted = try Server([
      "--data", folder.path(of: "spaces"), "--tokens", folder.path(of: "tokens"),
      "--tls-cert", folder.path(of: "cert.pem"), "--tls-key", folder.path(of: "key.pem"),
    ])
    let url = encrypted.url.replacing("http://", with: "https://")
    try await encrypted.start()
    try await run("mkdir tls silent && ln -s \(url) tls/leader")
    let unverified = try await run("$tandem promote --data tls", status: 1)
    #expect(unverified.error.contains("may still take commits"), "\(unverified.error)")
    #expect(unverified.error.contains("--cacert") && unverified.error.contains("--force"))
    let verified = try await run("$tandem promote --data tls --cacert cert.pem", status: 1)
    #expect(verified.error.contains("the leader answers at \(url)"), "\(verified.error)")
    await encrypted.kill()
    // It accepts connections, and says nothing.
    try await withServer { _, _ in
      true
    } test: { server in
      let silent = try await run(
        "ln -s \(server.url) silent/leader && $tandem promote --data silent", status: 1)
      #expect(silent.error.contains("may still take commits"), "\(silent.error)")
      try await run("[ ! -e silent/promoted ] && [ ! -h silent/promoted ]")
    }
    try await run("$tandem promote --data tls && $tandem promote --data silent --force")
  }

  @Test("What cannot be kept is refused at the start, with a reason")
  func refusals() async throws {
    try await leader.start()
    try await run(
      """
      new a $leader notes && mkdir own && cp spaces/notes.space own/ && mkdir links &&
      $tandem space export early.space --space notes --data spaces &&
      sqlite3 a.db "INSERT INTO note VALUES ('1', 'one')" && $tandem sync a.db -q &&
      $tandem space import early.space --space early --data spaces
      """)
    let serve = "$tandem serve --listen 127.0.0.1:0 --tokens tokens --data"
    let follow = "--follow $leader --token-file follower"
    for (command, part, status) in [
      ("\(serve) own \(follow)", "spaces of its own", 1),
      ("\(serve) new --follow $leader --token-file writer", "does not permit to follow", 1),
      ("\(serve) new --follow $leader --token-file tokens", "it has no token", 1),
      ("\(serve) new --follow $leader", "access token", 1),
      ("\(serve) new --follow http://example.org --token-file follower", "unencrypted", 1),
      ("\(serve) new --follow ftp://x --token-file follower", "http", 1),
      ("\(serve) new --token-file follower", "belongs to --follow", 2),
      ("$tandem serve --store service=x \(follow)", "standbys of its own", 2),
      ("\(serve) own --check-config \(follow)", "spaces of its own", 1),
      (
        "\(serve) new --check-config --follow $leader --token-file missing",
        "the file with the token does not exist", 1
      ),
      (
        "$tandem attach a.db --server $leader --space notes --table note --allow-lost-commits",
        "leave out --table", 2
      ),
      (
        "$tandem attach a.db --server $leader --space early --token-file writer",
        "permit it (--allow-lost-commits)", 1
      ),
      ("$tandem promote --data own", "no copies", 1), ("$tandem promote", "--data", 2),
      ("$tandem token create --tokens tokens --account x --space a --follow", "--space '*'", 2),
      (
        "$tandem token create --tokens tokens --account x --space '*' --follow --write",
        "different tokens", 2
      ),
    ] as [(String, String, Int32)] {
      let result = try await run(command, status: status)
      #expect(result.error.contains(part), "\(command): \(result.error)")
      #expect(!result.error.contains("#token-file"), "\(command): \(result.error)")
    }
    try await follower.start()
    try await run("instep notes && sqlite3 other.db 'CREATE TABLE note (id TEXT PRIMARY KEY)'")
    for command in [
      "backup --data copies out", "space --data copies --space notes",
      "log --data copies --space notes", "forget --data copies --space notes --older-than 0d",
      "space export notes.space --data copies --space notes",
      "space rename other --data copies --space notes --confirm notes",
      "space delete --data copies --space notes --confirm notes",
      "space import early.space --data copies --space other",
    ] {
      let result = try await run("$tandem \(command)", status: 1)
      #expect(result.error.contains("copies of those of \(leader.url)"), "\(result.error)")
    }
    for command in [
      "space --space copies/notes.space", "attach other.db --table note --space copies/notes.space",
    ] {
      let result = try await run("$tandem \(command)", status: 1)
      #expect(result.error.contains("is a copy of one of another server"), "\(result.error)")
    }
    let early = try await run("$tandem promote --data copies", status: 1)
    #expect(early.error.contains("the leader answers at \(leader.url)"))
    await follower.kill()
    let alone = try await run("\(serve) copies", status: 1)
    #expect(alone.error.contains("tandem promote"))
    // A token that may follow may do nothing else, and others may not follow.
    for (file, path, status) in [
      ("follower", "/v1/spaces/notes", 404), ("follower", "/v1/spaces/notes/changes", 404),
      ("writer", "/v1/spaces/notes/copy", 403), ("writer", "/v1/copies", 403),
      ("follower", "/v1/spaces/none/copy", 404), ("follower", "/v1/spaces/notes/copy?since=x", 400),
      ("follower", "/v1/spaces/notes/copy?cursor=00", 400),
      ("follower", "/v1/spaces/notes/copy", 200),
    ] {
      let secret = try folder.text(of: file).trimmingCharacters(in: .newlines)
      #expect(try await answer(leader.url + path, secret: secret).status == status, "\(path)")
    }
    #expect(try await run("$tandem promote --data copies --force").output.contains("promoted"))
  }
}
