// A screen in the terminal that shows the changes of a database by all programs.
//
//     swift run LiveScreen people.db
//     sqlite3 people.db "UPDATE person SET visits = visits + 1"     # in another terminal
//
// Two models of different classes show one person. Neither knows the other, the database, or this file.
// `--count N` ends the program after N drawings. Each drawing is one line if standard output is a pipe.

import Foundation
import Tandem

/// The subject of the channels: its properties are sent.
struct Person {
  var name: String
  var visits: Int
  var isStored: Bool
}

/// The model at the top of the screen.
@MainActor final class Headline {
  var title = "nobody"
}

/// The model in the corner of the screen.
@MainActor final class Badge {
  var number = "–"
  var isBright = false
}

/// Draws both models when one has changed.
@MainActor final class Screen {
  let headline = Headline()
  let badge = Badge()
  /// Called after each drawing, with the number of drawings.
  var onDrawing: (Int) -> Void = { _ in }
  private var lastText = ""
  private var drawingCount = 0
  private let isTerminal = isatty(STDOUT_FILENO) == 1

  func draw() {
    let text = "\(headline.title)  [\(badge.number)]\(badge.isBright ? "" : "  gone")"
    guard text != lastText else { return }
    lastText = text
    print(isTerminal ? "\u{1B}[H\u{1B}[2J\(text)" : text)
    fflush(nil)
    drawingCount += 1
    onDrawing(drawingCount)
  }
}

@main struct LiveScreen {
  static func main() async {
    var arguments = CommandLine.arguments.dropFirst()
    guard let path = arguments.popFirst() else {
      print("usage: LiveScreen DATABASE [--count N]")
      exit(2)
    }
    let isCounting = arguments.popFirst() == "--count"
    do {
      try await follow(path, drawingLimit: isCounting ? arguments.first.flatMap { Int($0) } : nil)
    } catch {
      FileHandle.standardError.write(Data("LiveScreen: \(error)\n".utf8))
      exit(1)
    }
  }

  static func follow(_ path: String, drawingLimit: Int?) async throws {
    let database = try Database(path: path)
    try await database.write { transaction in
      try transaction.execute(
        """
        CREATE TABLE IF NOT EXISTS person (
          id INTEGER PRIMARY KEY, name TEXT NOT NULL, visits INTEGER NOT NULL)
        """)
      try transaction.execute("INSERT OR IGNORE INTO person VALUES (1, 'Daniel', 1)")
    }
    try await show(database, drawingLimit: drawingLimit)
    await database.close()
  }

  @MainActor static func show(_ database: Database, drawingLimit: Int?) async throws {
    // The models, bound to the channel of person 1.
    let screen = Screen()
    let hub = ChannelHub()
    let channel = Channel<Person>(id: 1)
    hub.bind(
      screen.headline, to: channel,
      through: KeyPathMap<Person, Headline>().mapping(\.name, to: \.title))
    hub.bind(
      screen.badge, to: channel,
      through: KeyPathMap<Person, Badge>().mapping(\.isStored, to: \.isBright)
        .mapping(\.visits, to: \.number, converting: { $0 == 1 ? "1 visit" : "\($0) visits" }))

    // Draws when all models have all values of a commit, unless the text is the same.
    hub.observe(\.name, on: channel, for: screen) { screen, _ in screen.draw() }
    hub.observe(\.visits, on: channel, for: screen) { screen, _ in screen.draw() }
    hub.observe(\.isStored, on: channel, for: screen) { screen, _ in screen.draw() }

    // Sends each row to the channel of its id, until enough has been drawn.
    let people = RecordChannel<Person>(id: "id").column("name", to: \.name)
      .column("visits", to: \.visits).presence(to: \.isStored)
    let following = Task {
      try await hub.follow(LiveQuery(table: "person"), in: database, by: people)
    }
    screen.onDrawing = { count in if count == drawingLimit { following.cancel() } }
    try await following.value
  }
}
