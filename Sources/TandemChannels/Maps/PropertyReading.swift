/// Reads a property of an object for the subject it belongs to.
protocol PropertyReader<Object> {
  associatedtype Object
  /// What the property is now.
  func snapshot(of object: Object) -> any PropertySnapshot<Object>
  /// The property as it would be with a value of its type; `nil` for one of another.
  func snapshot<Other>(with value: Other) -> (any PropertySnapshot<Object>)?
}

/// A property as it was at some time.
protocol PropertySnapshot<Object> {
  associatedtype Object
  /// What is to be sent, and the property as it is now, if it has changed.
  func change(in object: Object) -> (snapshot: any PropertySnapshot<Object>, entry: BatchValue?)?
}

struct PropertyReading<Subject, Value, Object, Target: Equatable>: PropertyReader {
  var source: KeyPath<Subject, Value>
  var access: PropertyAccess<Object, Target>
  var convert: (Target) -> Value?

  func snapshot(of object: Object) -> any PropertySnapshot<Object> {
    var object = object
    return Snapshot(reading: self, value: access.read(&object))
  }

  func snapshot<Other>(with value: Other) -> (any PropertySnapshot<Object>)? {
    (value as? Target).map { Snapshot(reading: self, value: $0) }
  }

  private struct Snapshot: PropertySnapshot {
    var reading: PropertyReading
    var value: Target

    func change(in object: Object) -> (snapshot: any PropertySnapshot<Object>, entry: BatchValue?)?
    {
      var object = object
      let now = reading.access.read(&object)
      guard !Self.areSame(value, now) else { return nil }
      let entry = reading.convert(now).map { TypedBatchValue(property: reading.source, value: $0) }
      return (Snapshot(reading: reading, value: now), entry)
    }

    /// Whether nothing has changed. A number that is none differs even from itself, and would be sent
    /// for ever; values with one in them are the same if they print the same.
    private static func areSame(_ old: Target, _ new: Target) -> Bool {
      if old == new { return true }
      guard old != old, new != new else { return false }
      return String(reflecting: old) == String(reflecting: new)
    }
  }
}
