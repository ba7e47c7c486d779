import Tandem

/// The names and the order of the fields in which a command prints a list difference as JSON.
struct ListDifferenceForm {
  enum Part {
    case deletions, insertions, moves, updates
  }

  let parts: [(part: Part, name: String)]
  let element: String
  let oldOffset: String
  let newOffset: String

  /// The form of `tandem diff --list --json`.
  static let diff = ListDifferenceForm(
    parts: [
      (.deletions, "deletions"), (.insertions, "insertions"), (.moves, "moves"),
      (.updates, "updates"),
    ],
    element: "element", oldOffset: "oldOffset", newOffset: "newOffset")

  /// The form of `tandem watch --json` for an ordered query.
  static let watch = ListDifferenceForm(
    parts: [
      (.insertions, "inserted"), (.updates, "updated"), (.moves, "moved"), (.deletions, "deleted"),
    ],
    element: "row", oldOffset: "from", newOffset: "to")
}

extension ListDifference where Element: JSONWritable {
  /// Appends the difference as one object, with its line feed. Offsets of deletions, and old ones of
  /// moves and updates, count in the old list, all others in the new one.
  func appendJSON(to bytes: inout [UInt8], as form: ListDifferenceForm) {
    bytes.appendJSON { json in
      json.object { json in
        for (part, name) in form.parts { json.field(name) { write(part, to: &$0, as: form) } }
      }
    }
    bytes.append(UInt8(ascii: "\n"))
  }

  private func write(
    _ part: ListDifferenceForm.Part, to json: inout JSONWriter, as form: ListDifferenceForm
  ) {
    switch part {
    case .deletions: write(deletions, to: &json, as: form)
    case .insertions: write(insertions, to: &json, as: form)
    case .moves:
      json.array(of: moves) { move, json in
        json.object { json in
          json.field("from", move.from)
          json.field("to", move.to)
        }
      }
    case .updates:
      json.array(of: updates) { update, json in
        json.object { json in
          json.field(form.oldOffset, update.oldOffset)
          json.field(form.newOffset, update.newOffset)
          json.field("old", update.old)
          json.field("new", update.new)
        }
      }
    }
  }

  private func write(
    _ placements: some Sequence<ListPlacement<Int, Element>>, to json: inout JSONWriter,
    as form: ListDifferenceForm
  ) {
    json.array(of: placements) { placement, json in
      json.object { json in
        json.field("offset", placement.offset)
        json.field(form.element, placement.element)
      }
    }
  }
}
