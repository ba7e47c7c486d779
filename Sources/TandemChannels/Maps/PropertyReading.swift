/// Reads a property of an object for the subject it belongs to.
protocol PropertyReader<Object> {
  associatedtype Object
  /// The current value of the property.
  func snapshot(of object: Object) -> any PropertySnapshot<Object>
  /// The property with the given value; `nil` if the value is of another type.
  func snapshot<Other>(with value: Other) -> (any PropertySnapshot<Object>)?
}

/// The value of a property at one time.
protocol PropertySnapshot<Object> {
  associatedtype Object
  /// The current value of the property, and the value to send, if it has changed.
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

    /// Returns true if nothing has changed. A NaN differs even from itself and would be sent without end, so values
    /// that differ from themselves are the same if they print the same.
    private static func areSame(_ old: Target, _ new: Target) -> Bool {
      if old == new { return true }
      guard old != old, new != new else { return false }
      return String(reflecting: old) == String(reflecting: new)
    }
  }
}
