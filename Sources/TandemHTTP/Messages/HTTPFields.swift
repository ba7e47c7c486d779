/// The header fields of a request or a response, in the order they are sent (RFC 9110, section 5).
///
/// Names are looked up and compared without regard to ASCII case, and keep the case they were given.
///
/// - Complexity: looking up is O(*n*) in the number of fields, of which there are few.
public struct HTTPFields: Hashable, Sendable {
  /// One field: a name and its value.
  public struct Field: Sendable {
    /// The name, in the case it was given.
    public var name: String
    /// The value, without leading or trailing blanks.
    public var value: String

    /// A field of that name and value.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  private var fields: [Field] = []

  /// No fields.
  public init() {}

  /// The value of the fields called `name`, joined by ", " where there are several, or `nil` where
  /// there is none.
  ///
  /// Setting it leaves one field of that name, or none for `nil`.
  public subscript(name: String) -> String? {
    get {
      let values = values(of: name)
      return values.isEmpty ? nil : values.joined(separator: ", ")
    }
    set {
      fields.removeAll { isSameName($0.name, name) }
      if let newValue { append(name, newValue) }
    }
  }

  /// The values of all fields called `name`, in order.
  public func values(of name: String) -> [String] {
    fields.compactMap { isSameName($0.name, name) ? $0.value : nil }
  }

  /// Adds a field after the others, even if there is one of that name.
  public mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Adds a field if there is none of that name.
  package mutating func addUnlessPresent(_ name: String, _ value: String) {
    if values(of: name).isEmpty { append(name, value) }
  }
}

/// Returns true if two names differ at most in the case of ASCII letters.
package func isSameName(_ a: String, _ b: String) -> Bool {
  a.utf8.count == b.utf8.count
    && zip(a.utf8, b.utf8).allSatisfy { lowercased($0) == lowercased($1) }
}

private func lowercased(_ byte: UInt8) -> UInt8 { 0x41...0x5A ~= byte ? byte | 0x20 : byte }

extension HTTPFields: RandomAccessCollection {
  /// 0.
  public var startIndex: Int { 0 }
  /// The number of fields.
  public var endIndex: Int { fields.count }
  /// The field at `position`, in the order of sending.
  public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
  /// The fields in the order they are written; a name may occur more than once.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { append(name, value) }
  }
}

extension HTTPFields.Field: Hashable {
  /// Returns true if the values are equal, and the names are equal without regard to case.
  public static func == (a: Self, b: Self) -> Bool {
    isSameName(a.name, b.name) && a.value == b.value
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    for byte in name.utf8 { hasher.combine(lowercased(byte)) }
    hasher.combine(value)
  }
}

extension HTTPFields.Field {
  /// The reason why the field cannot be sent; `nil` if it can (RFC 9110, sections 5.1 and 5.5).
  var defect: String? {
    if !isHTTPToken(name) { return "a field's name is made of letters, digits and -" }
    let isForbidden = { (byte: UInt8) in (byte < 0x20 && byte != 0x09) || byte == 0x7F }
    return value.utf8.contains(where: isForbidden)
      ? "the value of \(name) contains a line break or another control character" : nil
  }
}

extension HTTPFields {
  /// The value of `Content-Length`, which may be repeated (RFC 9110, section 8.6); `nil` if it is no
  /// length, if there are different ones, or if it exceeds `Int`.
  var contentLength: Int? {
    let numbers = contentLengths.map { httpNumber($0).flatMap { Int(exactly: $0) } }
    guard let length = numbers.first, numbers.allSatisfy({ $0 == length }) else { return nil }
    return length
  }

  /// True if there are different lengths: one of them belongs to something else, perhaps to a response that
  /// somebody smuggled in (RFC 9112, section 6.3).
  var hasConflictingLengths: Bool {
    Set(contentLengths.map { text in httpNumber(text).map { "\($0)" } ?? text }).count > 1
  }

  /// The values of `Content-Length`, each without blanks.
  private var contentLengths: [String] {
    values(of: "Content-Length").flatMap { value in
      value.split(separator: ",", omittingEmptySubsequences: false)
        .map { $0.filter { $0 != " " && $0 != "\t" } }
    }
  }
}

/// The number that `text` writes in decimal digits and nothing else, as HTTP writes lengths, delays
/// and parts of dates; `nil` too if it is too large.
package func httpNumber(_ text: some StringProtocol) -> Int64? {
  text.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? Int64(text) : nil
}

/// Returns true if `text` is a token (RFC 9110, section 5.6.2), as methods and field names must be.
func isHTTPToken(_ text: String) -> Bool {
  let symbols = "!#$%&'*+-.^_`|~".utf8
  return !text.isEmpty
    && text.utf8.allSatisfy {
      0x30...0x39 ~= $0 || 0x61...0x7A ~= lowercased($0) || symbols.contains($0)
    }
}
