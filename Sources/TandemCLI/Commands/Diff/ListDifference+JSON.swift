import Tandem

extension ListDifference where Element: JSONWritable {
  /// Appends the difference as one object, with its line feed. Offsets of deletions, and old ones of
  /// moves and updates, count in the old list, all others in the new one.
  func appendJSON(to bytes: inout [UInt8]) {
    bytes.appendJSON { json in
      json.object { json in
        write("deletions", deletions, to: &json)
        write("insertions", insertions, to: &json)
        json.objects("moves", of: moves) { move, json in
          json.field("from", move.from)
          json.field("to", move.to)
        }
        json.objects("updates", of: updates) { update, json in
          json.field("oldOffset", update.oldOffset)
          json.field("newOffset", update.newOffset)
          json.field("old", update.old)
          json.field("new", update.new)
        }
      }
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  private func write(
    _ name: String, _ placements: some Sequence<ListPlacement<Int, Element>>,
    to json: inout JSONWriter
  ) {
    json.objects(name, of: placements) { placement, json in
      json.field("offset", placement.offset)
      json.field("element", placement.element)
    }
  }
}

/// The JSON of a set difference, for the help of commands.
let setDifferenceShape =
  #"{"inserted":[ROW],"updated":[{"old":ROW,"new":ROW}],"deleted":[ROW]}"#

/// The JSON of a list difference, for the help of commands.
let listDifferenceShape = """
  {"deletions":[{"offset":N,"element":ROW}],
  "insertions":[{"offset":N,"element":ROW}],
  "moves":[{"from":N,"to":N}],"updates":[{"oldOffset":N,
  "newOffset":N,"old":ROW,"new":ROW}]}
  """
