/// Names of properties of a subject, for values that arrive with a name, such as the fields of a message.
///
/// The names are given explicitly, because a key path has no reliable name when a program runs. They stay the same
/// when a property is renamed.
///
/// <!-- Snippets/CodeInComments.swift names -->
/// ```swift
/// let names = PropertyNames<User>().naming("name", \.name).naming("age", \.age)
/// try hub.send("age", 30, on: channel, by: names)
/// ```
public struct PropertyNames<Subject>: Sendable {
  private struct Property {
    var type: Any.Type
    /// Returns the value to send, or `nil` if it has another type.
    var batchValue: @Sendable (Any) -> BatchValue?
  }

  private var properties: [String: Property] = [:]

  /// No names.
  public init() {}

  /// Returns these names with one more. If a name is given twice, the last property counts.
  public func naming<Value>(
    _ name: String, _ property: any KeyPath<Subject, Value> & Sendable
  ) -> PropertyNames {
    var names = self
    names.properties[name] = Property(type: Value.self) { value in
      (value as? Value).map { TypedBatchValue(property: property, value: $0) }
    }
    return names
  }

  /// All names, sorted.
  public var names: [String] { properties.keys.sorted() }

  fileprivate func batchValue(_ name: String, _ value: Any) throws(PropertyNameError) -> BatchValue
  {
    guard let property = properties[name] else {
      let known = names.isEmpty ? "no names" : names.joined(separator: ", ")
      throw PropertyNameError(
        .unknownName, name: name, subject: "\(Subject.self)",
        "is no known property; known are \(known)")
    }
    guard let batchValue = property.batchValue(value) else {
      throw PropertyNameError(
        .wrongType, name: name, subject: "\(Subject.self)",
        "has the type \(property.type), and the value is of type \(type(of: value)): convert it first"
      )
    }
    return batchValue
  }
}

extension ChannelHub {
  /// Delivers a value to all bindings of a channel, by the name of its property; see
  /// ``send(_:_:on:excluding:)``.
  ///
  /// - Parameters:
  ///   - name: the name of the property.
  ///   - value: the new value, of exactly the type of the property. Nothing is converted: no `Int` to a `Double`.
  ///   - channel: the channel to send to.
  ///   - names: the names of the subject's properties.
  ///   - sender: an object or a binding to exclude.
  /// - Throws: ``PropertyNameError``; nothing is sent then.
  public func send<Subject>(
    _ name: String, _ value: Any, on channel: Channel<Subject>, by names: PropertyNames<Subject>,
    excluding sender: AnyObject? = nil
  ) throws(PropertyNameError) {
    let value = try names.batchValue(name, value)
    send([BatchEntry(address: channel.address, value: value)], excluding: sender, isOwn: true)
  }
}

/// The reason why a value could not be sent by the name of its property.
public struct PropertyNameError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of failure: an open set, to which later versions may add.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the code.
    public let name: String
    /// The name.
    public var description: String { name }

    /// The subject has no property with this name.
    public static let unknownName = Code(name: "unknownName")
    /// The property has another type than the value.
    public static let wrongType = Code(name: "wrongType")
  }

  /// The kind of failure.
  public var code: Code
  /// The name of the property.
  public var name: String
  /// The subject, what is wrong, and what to do.
  public var message: String

  fileprivate init(_ code: Code, name: String, subject: String, _ message: String) {
    self.code = code
    self.name = name
    self.message = "\(subject).\(name) \(message)"
  }

  /// The same as ``message``.
  public var description: String { message }
}
