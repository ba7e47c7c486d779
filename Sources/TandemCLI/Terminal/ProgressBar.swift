/// Shows the progress of a job in a line on standard error, if this is a terminal that can redraw a line and the job
/// takes longer than half a second.
final class ProgressBar {
  private let label: String
  private let isShown: Bool
  private let clock = ContinuousClock()
  private var nextDrawing: ContinuousClock.Instant
  private var hasDrawn = false
  private var removesAtInterrupt = false

  private static let delay: Duration = .milliseconds(500)
  private static let interval: Duration = .milliseconds(100)

  init(_ label: String, isQuiet: Bool) {
    self.label = label
    isShown = Terminal.error.redrawsLines && !isQuiet
    nextDrawing = clock.now + Self.delay
  }

  /// Shows that `done` of `total` units are done; `nil` if the total is unknown.
  ///
  /// - Parameter detail: A text behind the bar.
  func update(_ done: Int, of total: Int?, unit: String, detail: String = "") {
    guard isShown, clock.now >= nextDrawing else { return }
    nextDrawing = clock.now + Self.interval
    if !hasDrawn { beginRemovingAtInterrupt() }
    hasDrawn = true
    let width = Terminal.error.width - label.count - detail.count - 1
    draw("\(label) \(Self.bar(done, of: total, width: width, unit))\(detail)")
  }

  /// Removes the line.
  func finish() {
    guard hasDrawn else { return }
    draw("")
    if removesAtInterrupt { signal(SIGINT, SIG_DFL) }
    removesAtInterrupt = false
    hasDrawn = false
  }

  /// Makes Ctrl-C remove the line before it ends the process, unless the command handles or ignores the
  /// signal.
  private func beginRemovingAtInterrupt() {
    let former = signal(SIGINT) { number in
      // A handler of signals may call only some functions; these are among them.
      var line: (UInt8, UInt8, UInt8, UInt8) = (0x0D, 0x1B, 0x5B, 0x4B)
      _ = write(STDERR_FILENO, &line, 4)
      signal(number, SIG_DFL)
      raise(number)
    }
    removesAtInterrupt = unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_DFL, to: Int.self)
    if !removesAtInterrupt { signal(SIGINT, former) }
  }

  private func draw(_ text: String) {
    try? OutputStream.write(Array("\r\u{1B}[K\(text)".utf8), to: STDERR_FILENO)
  }

  static func bar(_ done: Int, of total: Int?, width: Int, _ unit: String) -> String {
    guard let total, total > 0 else { return "\(done) \(unit)" }
    let share = Double(min(done, total)) / Double(total)
    let figures = " \(Int(share * 100)) % of \(total) \(unit)"
    let cells = max(0, min(40, width - figures.count - 3))
    let filled = Int(share * Double(cells))
    let bar = String(repeating: "#", count: filled) + String(repeating: "·", count: cells - filled)
    return "[\(bar)]\(figures)"
  }
}
