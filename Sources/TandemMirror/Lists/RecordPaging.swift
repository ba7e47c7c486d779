/// The way to the further pages of a list that a server does not send at once.
public enum RecordPaging: Hashable, Sendable {
  /// The list comes at once. A response that says that the list goes on is an error
  /// (``/TandemHTTP/TransportError/Code/unreadPages``): a `Link` field with `rel=next`, a field such as
  /// `Next-Page`, a field beside the list such as `next`, or a greater total.
  case none
  /// Only the first page is read, even if the response says that there are more.
  case first
  /// A `Link` field with `rel=next` names the next page (RFC 8288); without one, the page is the last.
  /// A field that cannot be read, with the word `next` in it, is an error.
  case link
  /// A field of the response has the next page's address, or, if a parameter is given, that parameter's
  /// value, as Kinto's `Next-Page` and GitLab's `X-Next-Page` do. The last page has none, or an empty one.
  case header(name: String, parameter: String? = nil)
  /// A field of the object around the list says where the next page is: `next`, or `meta.next` for
  /// one inside of another. The last page has none, or null, false, zero, or an empty text in it; any
  /// other value that is neither text nor integer is an error.
  ///
  /// The value is the next page's address, or, if a parameter is given, that parameter's value.
  case cursor(field: String, parameter: String? = nil)
  /// The parameter's value is that of a field of the last record so far, as `starting_after` of Stripe is an
  /// `id`. The last page is empty, or has `has_more` beside the list, and false in it.
  case last(field: String, parameter: String)
  /// The parameter says how many records to leave out. An empty page is the end.
  case offset(parameter: String)
  /// The parameter is the number of the page. The first page has the number in the address, or else `from`, or
  /// else the one that the server gives it: it is asked for the page of number 1, which is the first page
  /// again or the second one.
  ///
  /// An empty page is the end. A status 400 or 404 is the end, too, if all pages before it were equally long,
  /// or at the end shorter, and no total of the server is greater.
  case number(parameter: String, from: Int? = nil)
}

extension RecordPaging: LosslessStringConvertible {
  /// Reads `none`, `first`, `link`, `header=NAME`, `header=NAME,PARAM`, `cursor=FIELD`, `cursor=FIELD,PARAM`,
  /// `last=FIELD,PARAM`, `offset=PARAM`, `number=PARAM` and `number=PARAM,FROM`; `nil` for anything else.
  public init?(_ description: String) {
    let parts = description.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let values = parts.dropFirst()
      .flatMap { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    guard !values.contains(""), values.count <= 2 else { return nil }
    let second = values.count == 2 ? values[1] : nil
    switch (parts.first, values.first, second) {
    case ("none", nil, nil): self = .none
    case ("first", nil, nil): self = .first
    case ("link", nil, nil): self = .link
    case ("header", let name?, let parameter): self = .header(name: name, parameter: parameter)
    case ("cursor", let field?, let parameter): self = .cursor(field: field, parameter: parameter)
    case ("last", let field?, let parameter?): self = .last(field: field, parameter: parameter)
    case ("offset", let parameter?, nil): self = .offset(parameter: parameter)
    case ("number", let parameter?, nil): self = .number(parameter: parameter)
    case ("number", let parameter?, let text?):
      guard let from = Int(text), from >= 0 else { return nil }
      self = .number(parameter: parameter, from: from)
    default: return nil
    }
  }

  /// The paging as it is read.
  public var description: String {
    switch self {
    case .none: "none"
    case .first: "first"
    case .link: "link"
    case .header(let name, let parameter): "header=\(name)" + Self.suffix(parameter)
    case .cursor(let field, let parameter): "cursor=\(field)" + Self.suffix(parameter)
    case .last(let field, let parameter): "last=\(field),\(parameter)"
    case .offset(let parameter): "offset=\(parameter)"
    case .number(let parameter, let from): "number=\(parameter)" + Self.suffix(from.map { "\($0)" })
    }
  }

  private static func suffix(_ value: String?) -> String { value.map { ",\($0)" } ?? "" }

  /// True if the address of the next page is in the fields of a response, and not in its content.
  var isInHead: Bool {
    switch self {
    case .link, .header: true
    case .none, .first, .cursor, .last, .offset, .number: false
    }
  }
}
