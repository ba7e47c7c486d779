internal import TandemRecords

/// The rows of one statement as a `Decoder`: one for all rows, with one container per type of keys.
///
/// `Codable` requests a container for each row and a key for each value. The container is made
/// once; the column of a key is found by name once, and then by the key's own bits.
final class KeyedRowDecoder: Decoder {
  private let statement: Statement
  private let coding: RecordCoding
  private var keyType: ObjectIdentifier?
  private var cached: AnyObject?

  init(_ statement: Statement, _ coding: RecordCoding) {
    self.statement = statement
    self.coding = coding
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if keyType == ObjectIdentifier(type), let cached {
      return unsafeDowncast(cached, to: Box<KeyedDecodingContainer<Key>>.self).copy()
    }
    return makeContainer(keyedBy: type)
  }

  /// Not inline, because its local container would need the metadata of the container's type in each
  /// row.
  @inline(never)
  private func makeContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) -> KeyedDecodingContainer<Key> {
    let container = KeyedDecodingContainer(DecodedRow<Key>(statement, coding))
    cached = Box(container)
    keyType = ObjectIdentifier(type)
    return container
  }

  /// A container and the function that copies it. The metadata of the container's type, which a copy
  /// needs, are a part of those of the box's type; a function that is generic over the keys would
  /// look them up in the runtime's table for each row.
  private final class Box<Container> {
    private let container: Container

    init(_ container: Container) { self.container = container }

    @inline(never)
    func copy() -> Container { container }
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw hasNames }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw hasNames }

  private var hasNames: DatabaseError {
    DatabaseError(
      code: .mismatch,
      message: "a row decodes to a type with keys; fetchValue gives a single column",
      sql: statement.sql, path: statement.database.path)
  }
}
