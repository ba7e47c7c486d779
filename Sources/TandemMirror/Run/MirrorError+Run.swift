extension MirrorError.Code {
  /// The source has an element twice.
  public static let duplicateElement = MirrorError.Code(name: "duplicateElement")
  /// A list that should be sorted by identity is not.
  public static let unsortedList = MirrorError.Code(name: "unsortedList")
  /// ``MirrorProcessor/prepare(_:)`` answered with an item it was not given.
  public static let unplannedElement = MirrorError.Code(name: "unplannedElement")
  /// A step took longer than it may.
  public static let timedOut = MirrorError.Code(name: "timedOut")
}

extension MirrorError: MirrorRetryError {
  /// Whether the error is a timeout.
  public var isTransient: Bool { code == .timedOut }
}
