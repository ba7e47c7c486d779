/// What may be shown on a file descriptor.
struct Terminal {
  /// Whether a person is looking.
  let isTerminal: Bool
  /// Whether colours are welcome (https://no-color.org).
  let hasColors: Bool
  private let descriptor: Int32

  static let output = Terminal(descriptor: STDOUT_FILENO)
  static let error = Terminal(descriptor: STDERR_FILENO)

  init(descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    let isForbidden =
      Terminal.environment("NO_COLOR")?.isEmpty == false
      || Terminal.environment("TERM") == "dumb"
    hasColors = isTerminal && !isForbidden
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// How many columns it has; 80 if it does not say.
  var width: Int {
    var size = winsize()
    let result = ioctl(descriptor, UInt(TIOCGWINSZ), &size)
    return result == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
  }

  enum Color: Int {
    case red = 31
    case green = 32
    case yellow = 33
  }

  /// The text in a colour, where colours are welcome.
  func colored(_ text: String, _ color: Color) -> String {
    hasColors ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
  }
}
