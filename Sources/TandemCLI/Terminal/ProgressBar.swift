import Dispatch
import Synchronization

/// Shows the progress of a job in a line on standard error, if this is a terminal that can redraw a line and the job
/// takes longer than half a second. The line also shows the last progress of a job that reports none for a while.
final class ProgressBar: Sendable {
  private struct State {
    /// The text that has not been drawn.
    var text: (@Sendable () -> String)?
    var nextDrawing: ContinuousClock.Instant
    /// True if a timer is going to draw the text.
    var isTimed = false
    var hasDrawn = false
    var removesAtInterrupt = false
  }

  private let label: String
  private let isShown: Bool
  private let state: Mutex<State>

  private static let delay: Duration = .milliseconds(500)
  private static let interval: Duration = .milliseconds(100)

  init(_ label: String, isQuiet: Bool) {
    self.label = label
    isShown = Terminal.error.redrawsLines && !isQuiet
    state = Mutex(State(nextDrawing: .now + Self.delay))
  }

  /// Shows that `done` of `total` units are done; `nil` if the total is unknown.
  ///
  /// - Parameter detail: A text behind the bar.
  func update(_ done: Int, of total: Int?, unit: String, detail: String = "") {
    show { [label] in
      let width = Terminal.error.width - label.count - detail.count - 1
      return "\(label) \(Self.bar(done, of: total, width: width, unit))\(detail)"
    }
  }

  /// Shows the share that is done, from 0 to 1; `nil` if it is unknown.
  ///
  /// - Parameter detail: A text behind the bar.
  func update(share: Double?, detail: String) {
    show { [label] in
      guard let share else { return "\(label) \(detail)" }
      let width = Terminal.error.width - label.count - 1
      let figures = " \(Int(share * 100)) %, \(detail)"
      return "\(label) \(Self.bar(share, width: width, figures: figures))"
    }
  }

  /// Draws a text now, or when the line may be drawn again.
  private func show(_ text: @escaping @Sendable () -> String) {
    guard isShown else { return }
    state.withLock { state in
      state.text = text
      let pause = state.nextDrawing - .now
      guard pause > .zero else { return drawText(&state) }
      guard !state.isTimed else { return }
      state.isTimed = true
      DispatchQueue.global().asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in
        self?.state.withLock { state in
          state.isTimed = false
          self?.drawText(&state)
        }
      }
    }
  }

  private func drawText(_ state: inout State) {
    guard let text = state.text else { return }
    state.text = nil
    state.nextDrawing = .now + Self.interval
    if !state.hasDrawn { state.removesAtInterrupt = Self.removesAtInterrupt() }
    state.hasDrawn = true
    draw(text())
  }

  /// Removes the line.
  func finish() {
    state.withLock { state in
      state.text = nil
      guard state.hasDrawn else { return }
      draw("")
      if state.removesAtInterrupt { signal(SIGINT, SIG_DFL) }
      state.removesAtInterrupt = false
      state.hasDrawn = false
    }
  }

  /// Makes Ctrl-C remove the line before it ends the process; false if the command handles or ignores the
  /// signal.
  private static func removesAtInterrupt() -> Bool {
    let former = signal(SIGINT) { number in
      // A handler of signals may call only some functions; these are among them.
      var line: (UInt8, UInt8, UInt8, UInt8) = (0x0D, 0x1B, 0x5B, 0x4B)
      _ = write(STDERR_FILENO, &line, 4)
      signal(number, SIG_DFL)
      raise(number)
    }
    let isRemoving = unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_DFL, to: Int.self)
    if !isRemoving { signal(SIGINT, former) }
    return isRemoving
  }

  private func draw(_ text: String) {
    try? OutputStream.write(Array("\r\u{1B}[K\(text)".utf8), to: STDERR_FILENO)
  }

  private static func bar(_ done: Int, of total: Int?, width: Int, _ unit: String) -> String {
    guard let total, total > 0 else { return "\(done) \(unit)" }
    let share = Double(min(done, total)) / Double(total)
    return bar(share, width: width, figures: " \(Int(share * 100)) % of \(total) \(unit)")
  }

  private static func bar(_ share: Double, width: Int, figures: String) -> String {
    let cells = max(0, min(40, width - figures.count - 3))
    let filled = Int(share * Double(cells))
    let bar = String(repeating: "#", count: filled) + String(repeating: "·", count: cells - filled)
    return "[\(bar)]\(figures)"
  }
}
