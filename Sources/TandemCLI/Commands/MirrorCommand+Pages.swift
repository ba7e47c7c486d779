import Tandem

extension ParsedArguments {
  /// What says that a list that was to come in pages has only one; `nil` if nobody wants to know.
  ///
  /// That may be all there is. But nothing else shows that the field that leads on was misspelt, or
  /// has got another name, and that the rows of all other pages are deleted therefore.
  func singlePageNote(_ paging: RecordPaging) -> (@Sendable (_ pageCount: Int) -> Void)? {
    guard !has("quiet"), !has("json"), let place = paging.placeOfNext else { return nil }
    return { pageCount in
      guard pageCount == 1 else { return }
      // The bar of a list that took long stands where the note goes.
      if Terminal.error.isTerminal {
        try? OutputStream.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
      }
      TandemCLI.report(
        "note: the list has one page, which does not say where a next one is, \(place)")
    }
  }
}

extension RecordPaging {
  /// Where a page says where the next one is, if it does.
  fileprivate var placeOfNext: String? {
    switch self {
    case .link: "in a Link field with rel=next"
    case .cursor(let field, _): "in the field \(field)"
    case .none, .offset, .number: nil
    }
  }
}
