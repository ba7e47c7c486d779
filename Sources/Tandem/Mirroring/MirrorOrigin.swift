public import TandemTransports

/// An address and the state of what it served, as the server names it.
public struct MirrorOrigin: Hashable, Sendable {
  /// The URL that was asked for, without credentials: what is remembered in a database is read by
  /// whoever gets the file.
  public let url: String
  /// What the server sent along, to be asked again on condition that it changed.
  public let validators: HTTPValidators

  /// An origin at the given URL, from which credentials are removed.
  public init(url: String, validators: HTTPValidators) {
    self.url = RecordSource.url(url).description
    self.validators = validators
  }
}
