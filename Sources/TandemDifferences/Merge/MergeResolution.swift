/// What becomes of a conflict.
public enum MergeResolution<Value> {
  /// The local version stands; if the local side deleted the value, it is gone.
  case local
  /// The remote version stands; if the remote side deleted the value, it is gone.
  case remote
  /// This value stands instead of both versions.
  case merged(Value)
  /// The value is gone, whoever still had it.
  case deleted
  /// Nothing was decided: each side keeps its version, and the conflict is reported as open.
  case unresolved

  /// Whether nothing was decided.
  @inlinable
  public var isUnresolved: Bool {
    if case .unresolved = self { true } else { false }
  }
}

extension MergeResolution: Sendable where Value: Sendable {}
extension MergeResolution: Equatable where Value: Equatable {}
extension MergeResolution: Hashable where Value: Hashable {}
extension MergeResolution: Encodable where Value: Encodable {}
extension MergeResolution: Decodable where Value: Decodable {}
