/// The links in the `Link` fields of a response (RFC 8288).
package struct LinkHeader {
  package struct Link: Equatable {
    /// The address, or a reference to one.
    package var target: String
    /// Parameters in order, their names in lower case.
    package var parameters: [(name: String, value: String)]

    package static func == (a: Link, b: Link) -> Bool {
      a.target == b.target && a.parameters.elementsEqual(b.parameters, by: ==)
    }

    /// The first value of a parameter, which is the one that counts.
    subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }
  }

  /// The links that could be parsed.
  package let links: [Link]
  /// True if the text consists of links only; anything else is skipped.
  package let isWhole: Bool

  package init(_ text: String) {
    var scanner = Scanner(rest: text.utf8[...])
    var links: [Link] = []
    while let link = scanner.link() { links.append(link) }
    self.links = links
    isWhole = scanner.isWhole
  }

  /// The target of the next page; `nil` if no link names one. A link about another document does not count, nor
  /// one to a page that the server says to be empty, as Sentry does by `results="false"`.
  package var next: String? {
    links.first { link in
      link["anchor"] == nil && link["results"] != "false"
        && link["rel"]?.lowercased().split(separator: " ").contains("next") == true
    }?.target
  }

  private struct Scanner {
    var rest: Substring.UTF8View
    /// True if nothing had to be skipped.
    private(set) var isWhole = true

    init(rest: Substring.UTF8View) { self.rest = rest }

    mutating func link() -> Link? {
      skipToLink()
      guard take("<") else { return nil }
      guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
        isWhole = false
        return nil
      }
      var link = Link(target: text(rest[..<end]), parameters: [])
      rest = rest[rest.index(after: end)...]
      skip(" \t")
      while take(";") {
        skip(" \t")
        let name = text(prefix(until: "=;, \t")).lowercased()
        skip(" \t")
        let value = take("=") ? value() : ""
        if !name.isEmpty { link.parameters.append((name, value)) }
        skip(" \t")
      }
      return link
    }

    /// Skips everything before the next link; a text in quotes is skipped as a whole.
    private mutating func skipToLink() {
      while let byte = rest.first, byte != UInt8(ascii: "<") {
        if take(" \t,") { continue }
        isWhole = false
        if byte == UInt8(ascii: "\"") { _ = value() } else { rest.removeFirst() }
      }
    }

    /// A token, or a text in quotes, in which a backslash takes the next character as it is.
    private mutating func value() -> String {
      skip(" \t")
      if let value = valueInSingleQuotes() { return value }
      guard take("\"") else { return text(prefix(until: ";, \t")) }
      var bytes: [UInt8] = []
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
        let taken = byte == UInt8(ascii: "\\") ? rest.popFirst() : byte
        if let taken { bytes.append(taken) }
      }
      isWhole = false
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Some servers take single quotes, which no standard has.
    private mutating func valueInSingleQuotes() -> String? {
      let quote = UInt8(ascii: "'")
      guard rest.first == quote, let end = rest.dropFirst().firstIndex(of: quote) else {
        return nil
      }
      let next = rest[end...].dropFirst()
      if let byte = next.first, !(";, \t" as StaticString).contains(byte) { return nil }
      defer { rest = next }
      return text(rest[..<end].dropFirst())
    }

    private mutating func prefix(until ends: StaticString) -> Substring.UTF8View {
      let end = rest.firstIndex { ends.contains($0) } ?? rest.endIndex
      defer { rest = rest[end...] }
      return rest[..<end]
    }

    private mutating func skip(_ blanks: StaticString) {
      while let byte = rest.first, blanks.contains(byte) { rest.removeFirst() }
    }

    private mutating func take(_ mark: StaticString) -> Bool {
      guard let byte = rest.first, mark.contains(byte) else { return false }
      rest.removeFirst()
      return true
    }

    private func text(_ bytes: Substring.UTF8View) -> String { String(Substring(bytes)) }
  }
}

extension StaticString {
  fileprivate func contains(_ byte: UInt8) -> Bool {
    UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount).contains(byte)
  }
}
