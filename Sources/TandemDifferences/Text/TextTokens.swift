/// A part of a text cut into tokens; equal tokens have equal numbers.
struct TextTokens {
  private(set) var numbers: [UInt32] = []
  private var ends: [Int] = []
  private let start: Int

  init(startingAt start: Int) {
    self.start = start
  }

  /// The end of the last token, as a UTF-8 offset.
  var end: Int { ends.last ?? start }

  mutating func append(_ number: UInt32, endingAt end: Int) {
    numbers.append(number)
    ends.append(end)
  }

  /// Returns the byte range of a range of tokens.
  func byteRange(_ range: Range<Int>) -> Range<Int> {
    offset(of: range.lowerBound)..<offset(of: range.upperBound)
  }

  private func offset(of token: Int) -> Int {
    token == 0 ? start : ends[token - 1]
  }
}
