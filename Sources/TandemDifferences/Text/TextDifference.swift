/// What changed between two versions of a text: deletions and insertions at UTF-8 offsets.
///
/// An edit computed by ``init(from:to:by:)`` begins and ends between two characters (extended
/// grapheme clusters) of both texts, so it never splits a letter from its accent, a carriage return
/// from its line feed, a flag or a family into their parts. A difference that comes from elsewhere
/// (``init(edits:)``, `Decodable`, ``init(delta:from:)``) cannot split a Unicode scalar.
///
/// Texts are compared byte by byte, not by canonical equivalence as `String`'s `==` does: a composed
/// and a decomposed é differ. Differences are equal and hash alike by the same rule.
public struct TextDifference: Sendable {
  /// One place of the old text, what is deleted there, and what is inserted instead.
  public struct Edit: Sendable {
    /// Where in the old text, as a count of UTF-8 bytes from its start.
    public var offset: Int
    /// The text deleted from there on; empty for a pure insertion.
    public var deleted: String
    /// The text inserted in its place; empty for a pure deletion.
    public var inserted: String

    /// An edit of the old text at a UTF-8 offset.
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

  /// A difference made of the given edits; `nil` if they are not in order, touch or overlap each
  /// other, do nothing, or lie outside 0…2⁶².
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

  /// Whether the two texts are equal, byte by byte.
  public var isEmpty: Bool { edits.isEmpty }

  /// The difference that leads back: from the new text to the old one.
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
  /// Whether two edits are the same, byte by byte.
  public static func == (one: Self, other: Self) -> Bool {
    one.offset == other.offset
      && one.deleted.isIdenticalByBytes(to: other.deleted)
      && one.inserted.isIdenticalByBytes(to: other.inserted)
  }

  /// Feeds the offset and the bytes of both texts to `hasher`.
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

/// How finely two texts are compared: the smallest piece that a ``TextDifference`` inserts or
/// deletes.
public enum TextGranularity: String, Sendable, Hashable, Codable, CaseIterable {
  /// Lines, each with the line feed that ends it. A carriage return before it belongs to the line;
  /// one without a line feed ends nothing, as in `diff` and `git`.
  case lines
  /// Words (letters, digits and underscores), runs of blanks, and single characters between them.
  /// Each ideograph and each end of line counts as a word of its own.
  case words
  /// Characters as a person sees them: extended grapheme clusters (Unicode Standard Annex 29).
  case characters
}

extension String {
  /// Whether two strings are the same bytes; `==` calls a composed and a decomposed é equal.
  func isIdenticalByBytes(to other: String) -> Bool {
    utf8.elementsEqual(other.utf8)
  }

  /// Feeds the bytes to `hasher`, and their count to keep neighbours apart.
  func hashBytes(into hasher: inout Hasher) {
    var bytes = self
    hasher.combine(utf8.count)
    bytes.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
