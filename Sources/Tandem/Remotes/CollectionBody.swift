import TandemDifferences
import TandemRecords

/// The JSON of a plain collection: an array of records.
struct CollectionBody: Sendable {
  var values: [JSONValue]

  /// Reads a body.
  ///
  /// - Throws: ``RemoteError/Code/malformed``.
  init(_ bytes: [UInt8], from place: String) throws(RemoteError) {
    let json: JSONValue
    do {
      json = try JSONValue(parsing: bytes)
    } catch {
      throw RemoteError(
        .malformed, place, "it is no JSON (\(error)); use the address of an array of records")
    }
    guard case .array(let values) = json else {
      throw RemoteError(
        .malformed, place,
        "it is no array; use the address of an array of records, or HTTPRemote(url:) for a document "
          + "of a synchronized remote")
    }
    self.values = values
  }

  /// Encodes records.
  ///
  /// - Throws: ``RemoteError/Code/notEncodable``.
  init(encoding records: [some Encodable], for place: String) throws(RemoteError) {
    do {
      values = try records.map { try JSONValue(encoding: $0) }
    } catch {
      throw RemoteError(.notEncodable, place, "a record cannot be written as JSON: \(error)")
    }
  }

  /// Returns the records.
  ///
  /// - Throws: ``RemoteError/Code/malformed``.
  func records<Element: Decodable>(from place: String) throws(RemoteError) -> [Element] {
    var records: [Element] = []
    for (number, value) in values.enumerated() {
      do {
        records.append(try value.decoded(as: Element.self))
      } catch {
        throw RemoteError(
          .malformed, place,
          "element \(number) has another form than \(Element.self) (\(error)); change the type of the "
            + "records")
      }
    }
    return records
  }

  /// Adds to each record the fields that its former version has in the collection, and that the type of the records
  /// does not declare.
  ///
  /// - Parameters:
  ///   - former: The collection that this one replaces.
  ///   - records: The records of `former`.
  ///   - updates: The records that differ in both.
  mutating func keepUndeclaredFields<Element: Encodable>(
    of former: CollectionBody, records: [Element], updates: [SetDifference<Element>.Update],
    place: String
  ) throws(RemoteError) {
    let declared = try CollectionBody(encoding: records, for: place).values
    guard declared != former.values else { return }
    let originals = Dictionary(
      zip(declared, former.values), uniquingKeysWith: { first, _ in first })
    let olds = try CollectionBody(encoding: updates.map(\.old), for: place).values
    let news = try CollectionBody(encoding: updates.map(\.new), for: place).values
    let oldVersions = Dictionary(zip(news, olds), uniquingKeysWith: { first, _ in first })
    values = values.map { value in
      let old = oldVersions[value] ?? value
      return originals[old].map { Self.overlay(value, on: $0, declared: old) } ?? value
    }
  }

  /// Returns a new value with the undeclared fields of the original, of which `declared` is the declared part. Of an
  /// array that changed, the elements are the new ones.
  private static func overlay(
    _ new: JSONValue, on original: JSONValue, declared: JSONValue
  ) -> JSONValue {
    if new == declared { return original }
    guard case .object(let newFields) = new, case .object(let fields) = original,
      case .object(let declaredFields) = declared
    else {
      return new
    }
    var result = newFields
    for (name, field) in fields {
      guard let part = declaredFields[name] else {
        if result[name] == nil { result[name] = field }
        continue
      }
      result[name] = result[name].map { overlay($0, on: field, declared: part) }
    }
    return .object(result)
  }

  /// Returns the body as UTF-8.
  ///
  /// - Throws: ``RemoteError/Code/tooLarge``.
  func bytes(for place: String, maxByteCount: Int) throws(RemoteError) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendJSON { $0.write(JSONValue.array(values)) }
    guard bytes.count <= maxByteCount else { throw .tooLarge(place, maxByteCount) }
    return bytes
  }
}
