/// The way to the further pages of a list that a server does not send at once.
public enum RecordPaging: Hashable, Sendable {
  /// The list comes at once.
  case none
  /// A `Link` field with `rel=next` names the next page (RFC 8288); without one, the page is the last.
  /// A field that cannot be read, with the word `next` in it, is an error.
  case link
  /// A field of the object around the list says where the next page is: `next`, or `meta.next` for
  /// one inside of another. The last page has none, or null, false, zero, or an empty text in it; any
  /// other value that is neither text nor integer is an error.
  ///
  /// The value is the next page's address, or, if a parameter is given, that parameter's value.
  case cursor(field: String, parameter: String? = nil)
  /// The parameter says how many records to leave out. An empty page is the end.
  case offset(parameter: String)
  /// The parameter is the number of the page, beginning with what the address has there, else 1. An
  /// empty page is the end.
  case number(parameter: String)
}

extension RecordPaging: LosslessStringConvertible {
  /// Reads `link`, `cursor=FIELD`, `cursor=FIELD,PARAM`, `offset=PARAM` and `number=PARAM`; `nil` for
  /// anything else.
  public init?(_ description: String) {
    let parts = description.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let values = parts.dropFirst()
      .flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    guard !values.contains("") else { return nil }
    switch (parts.first, values.count) {
    case ("link", 0): self = .link
    case ("cursor", 1): self = .cursor(field: values[0])
    case ("cursor", 2): self = .cursor(field: values[0], parameter: values[1])
    case ("offset", 1): self = .offset(parameter: values[0])
    case ("number", 1): self = .number(parameter: values[0])
    default: return nil
    }
  }

  /// The paging as it is read; `none` for none.
  public var description: String {
    switch self {
    case .none: "none"
    case .link: "link"
    case .cursor(let field, let parameter):
      "cursor=\(field)" + (parameter.map { ",\($0)" } ?? "")
    case .offset(let parameter): "offset=\(parameter)"
    case .number(let parameter): "number=\(parameter)"
    }
  }
}
