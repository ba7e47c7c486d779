/// The address of one thing that several models describe: a subject type and an id.
///
/// The *subject* is a plain type that lists the properties that travel; its key paths are the
/// messages, so a property it does not have, or a value of another type, does not compile.
///
/// <!-- Snippets/CodeInComments.swift channel -->
/// ```swift
/// struct User { var name: String; var age: Int }
/// let channel = Channel<User>(id: "1")
/// ```
///
/// Two channels are equal if their subject types, the types of their ids, and their ids are equal: a value that is
/// sent on `Channel<User>(id: Int64(1))` does not reach what is bound to `Channel<User>(id: 1)`, whose id is an `Int`
/// (``ChannelDiagnostic/Kind/otherIDType``). A new channel costs an allocation and the hash of the id: keep a channel
/// that is used often.
public struct Channel<Subject>: Sendable {
  package let address: ChannelAddress

  /// The channel of the thing that has the given id.
  public init<ID: Hashable & Sendable>(id: ID) {
    address = TypedChannelAddress<Subject, ID>(id)
  }

  /// The id that was given.
  public var id: any Hashable & Sendable { address.id }
}

extension Channel: Hashable {
  /// Returns true if both address the same thing.
  public static func == (first: Channel, second: Channel) -> Bool {
    first.address == second.address
  }

  /// Hashes the subject type and the id.
  public func hash(into hasher: inout Hasher) { address.hash(into: &hasher) }
}

extension Channel: CustomStringConvertible {
  /// The subject type and the id, as in "User 1".
  public var description: String { address.description }
}

// MARK: - Addresses

/// A subject type and an id, with their hash computed once.
///
/// Sendable: this class and its only subclass, in this file, have immutable properties of Sendable types.
package class ChannelAddress: @unchecked Sendable {
  /// The hash of the subject type and the id, computed once.
  package let hash: Int

  fileprivate init(hash: Int) { self.hash = hash }

  package var id: any Hashable & Sendable { preconditionFailure("Only typed addresses are made") }
  package var subject: Any.Type { preconditionFailure("Only typed addresses are made") }
  var idType: Any.Type { preconditionFailure("Only typed addresses are made") }
  /// The identifier of the pair of subject type and id type.
  final var kind: ObjectIdentifier { ObjectIdentifier(type(of: self)) }

  fileprivate func hasSameID(as other: ChannelAddress) -> Bool { self === other }
}

extension ChannelAddress: Hashable {
  package static func == (first: ChannelAddress, second: ChannelAddress) -> Bool {
    first === second || (first.hash == second.hash && first.hasSameID(as: second))
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension ChannelAddress: CustomStringConvertible {
  package var description: String { "\(subject) \(id)" }
}

private final class TypedChannelAddress<Subject, ID: Hashable & Sendable>:
  ChannelAddress, @unchecked Sendable
{
  private let typedID: ID

  init(_ id: ID) {
    typedID = id
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(Subject.self))
    hasher.combine(id)
    super.init(hash: hasher.finalize())
  }

  package override var id: any Hashable & Sendable { typedID }
  package override var subject: Any.Type { Subject.self }
  override var idType: Any.Type { ID.self }

  override func hasSameID(as other: ChannelAddress) -> Bool {
    guard type(of: other) == Self.self else { return false }
    return unsafeDowncast(other, to: Self.self).typedID == typedID
  }
}
