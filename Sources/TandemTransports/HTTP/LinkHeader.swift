/// The links that a response tells of in its `Link` fields (RFC 8288).
struct LinkHeader {
  struct Link: Equatable {
    /// The address, or a reference to one.
    var target: String
    /// Parameters in order, their names in lower case.
    var parameters: [(name: String, value: String)]

    static func == (a: Link, b: Link) -> Bool {
      a.target == b.target && a.parameters.elementsEqual(b.parameters, by: ==)
    }

    /// The first value of a parameter, which is the one that counts.
    subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }
  }

  /// The links, up to the first place that cannot be read.
  let links: [Link]

  init(_ text: String) {
    var scanner = Scanner(rest: text.utf8[...])
    var links: [Link] = []
    while let link = scanner.link() { links.append(link) }
    self.links = links
  }

  /// Where the next page is; `nil` if no link says so. A link about another document does not count.
  var next: String? {
    links.first { link in
      link["anchor"] == nil
        && link["rel"]?.lowercased().split(separator: " ").contains("next") == true
    }?.target
  }

  private struct Scanner {
    var rest: Substring.UTF8View

    mutating func link() -> Link? {
      skip(" \t,")
      guard take("<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
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

    /// A token, or a text in quotes, in which a backslash takes the next character as it is.
    private mutating func value() -> String {
      skip(" \t")
      guard take("\"") else { return text(prefix(until: ";, \t")) }
      var bytes: [UInt8] = []
      while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
        guard byte == UInt8(ascii: "\\") else {
          bytes.append(byte)
          continue
        }
        if let next = rest.popFirst() { bytes.append(next) }
      }
      return String(decoding: bytes, as: UTF8.self)
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
