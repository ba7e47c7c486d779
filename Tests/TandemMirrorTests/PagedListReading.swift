import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestHTTPServer

extension PagedList {
  /// How it is read.
  var options: RecordListOptions {
    var options = RecordListOptions()
    options.retry = .never
    options.key = ["id"]
    switch paging {
    case .offset: options.paging = .offset(parameter: "offset")
    case .number: options.paging = .number(parameter: "page", from: 1)
    case .cursor:
      options.paging = .cursor(field: "next")
      options.itemsField = "items"
    case .link: options.paging = .link
    }
    return options
  }

  /// Reads it, if it is not what the validators describe.
  func read(
    unless validators: RecordListValidators? = nil, _ client: SystemHTTPClient
  ) async throws -> (ids: [Int]?, validators: RecordListValidators) {
    var options = options
    options.validators = validators
    let list = try await RecordSource.url(url).list(options, client: client)
    guard case .records(let records, let validators, _) = list else {
      return (nil, RecordListValidators())
    }
    let ids = records.map { record in
      if case .integer(let id) = record["id"] { Int(id) } else { -1 }
    }
    return (ids, validators)
  }
}
