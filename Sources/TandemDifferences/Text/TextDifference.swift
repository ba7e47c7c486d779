/// The difference between two versions of a text: deletions and insertions at UTF-8 offsets.
///
/// An edit computed by ``init(from:to:by:)`` begins and ends between two characters (extended
/// grapheme clusters) of both texts. So it never separates a letter from its accent, a carriage
/// return from its line feed, or the parts of a flag or a family. A difference from another source
/// (``init(edits:)``, `Decodable`, ``init(delta:from:)``) never splits a Unicode scalar.
///
/// Texts are compared byte by byte, not by canonical equivalence as `String` does: a composed and a
/// decomposed é differ. Equality and hashing of differences follow the same rule.
public struct TextDifference: Sendable {
  /// An offset in the old text, the text deleted there, and the text inserted instead.
  public struct Edit: Sendable {
    /// The offset in the old text, in UTF-8 bytes.
    public var offset: Int
    /// The deleted text; empty for a pure insertion.
    public var deleted: String
    /// The inserted text; empty for a pure deletion.
    public var inserted: String

    /// Creates an edit at a UTF-8 offset of the old text.
    public init(at offset: Int, deleting deleted: String = "", inserting inserted: String = "") {
      self.offset = offset
      self.deleted = deleted
      self.inserted = inserted
    }
  }

  /// The edits, in the order of the text. Each deletes or inserts something, and at least one byte
  /// is kept between two of them.
  public let edits: [Edit]

  /// The difference between two equal texts.
  public init() {
    edits = []
  }

  /// Creates a difference from the given edits. Returns `nil` if they are not in order, are
  /// adjacent or overlap, do nothing, or are outside 0…2⁶².
  public init?(edits: [Edit]) {
    var end = -1
    for edit in edits {
      guard edit.offset > end, edit.offset <= Self.maxOffset else { return nil }
      guard !(edit.deleted.isEmpty && edit.inserted.isEmpty) else { return nil }
      end = edit.offset + edit.deleted.utf8.count
    }
    self.edits = edits
  }

  init(verifiedEdits edits: [Edit]) {
    self.edits = edits
  }

  static let maxOffset = 1 << 62

  /// True if the two texts are equal, byte by byte.
  public var isEmpty: Bool { edits.isEmpty }

  /// The difference in the other direction: from the new text to the old one.
  public var inverted: TextDifference {
    var shift = 0
    return TextDifference(
      verifiedEdits: edits.map { edit in
        defer { shift += edit.inserted.utf8.count - edit.deleted.utf8.count }
        return Edit(at: edit.offset + shift, deleting: edit.inserted, inserting: edit.deleted)
      })
  }
}

extension TextDifference.Edit: Hashable {
  /// Returns true if two edits are equal, byte by byte.
  public static func == (one: Self, other: Self) -> Bool {
    one.offset == other.offset
      && one.deleted.isIdenticalByBytes(to: other.deleted)
      && one.inserted.isIdenticalByBytes(to: other.inserted)
  }

  /// Hashes the offset and the bytes of both texts.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(offset)
    deleted.hashBytes(into: &hasher)
    inserted.hashBytes(into: &hasher)
  }
}

extension TextDifference.Edit: Codable {}

extension TextDifference: Hashable, Codable {
  private enum CodingKeys: String, CodingKey {
    case edits
  }

  /// Decodes `{"edits":[{"offset":…,"deleted":…,"inserted":…},…]}`.
  ///
  /// - Throws: `DecodingError.dataCorrupted` for edits that ``init(edits:)`` refuses.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let edits = try container.decode([Edit].self, forKey: .edits)
    guard let difference = TextDifference(edits: edits) else {
      throw DecodingError.dataCorruptedError(
        forKey: .edits, in: container,
        debugDescription: "The edits of a text must be in order, apart and not empty.")
    }
    self = difference
  }
}

/// The granularity of a comparison: the smallest part of a text that a ``TextDifference`` inserts
/// or deletes.
public enum TextGranularity: String, Sendable, Hashable, Codable, CaseIterable {
  /// Lines, each with its line feed. A carriage return before it belongs to the line. A carriage
  /// return without a line feed does not end a line, as in `diff` and `git`.
  case lines
  /// Words (letters, digits and underscores), runs of blanks, and single characters between them.
  /// Each ideograph and each line end is a word of its own.
  case words
  /// User-perceived characters: extended grapheme clusters (Unicode Standard Annex 29).
  case characters
}

extension String {
  /// Returns true if two strings have the same bytes; `==` takes a composed and a decomposed é for
  /// equal.
  func isIdenticalByBytes(to other: String) -> Bool {
    utf8.elementsEqual(other.utf8)
  }

  /// Hashes the bytes, and their count to separate neighbours.
  func hashBytes(into hasher: inout Hasher) {
    var bytes = self
    hasher.combine(utf8.count)
    bytes.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
