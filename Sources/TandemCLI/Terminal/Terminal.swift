/// The capabilities of the terminal behind a file descriptor.
struct Terminal {
  /// True if the descriptor is a terminal.
  let isTerminal: Bool
  /// True if a line may be drawn again in place: the terminal is not "dumb".
  let redrawsLines: Bool
  /// True if colours may be used (https://no-color.org).
  let hasColors: Bool
  private let descriptor: Int32

  static let output = Terminal(descriptor: STDOUT_FILENO)
  static let error = Terminal(descriptor: STDERR_FILENO)

  init(descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    redrawsLines = isTerminal && Terminal.environment("TERM") != "dumb"
    hasColors = redrawsLines && Terminal.environment("NO_COLOR")?.isEmpty != false
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// The number of columns; 80 if it is unknown.
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

  /// The text in a colour, if colours may be used.
  func colored(_ text: String, _ color: Color) -> String {
    hasColors ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
  }
}
