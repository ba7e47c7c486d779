import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import Testing

@Suite("File names")
struct FileNameTests {
  @Test("a text that is safe stands as it is", arguments: ["17", "a", "photo-1_b", "_x", "9.8"])
  func safeTexts(text: String) {
    #expect(FileName(text, extension: "jpg").text == "\(text).jpg")
  }

  @Test(
    "a text that is not safe everywhere gets a digest",
    arguments: [
      "", ".", "..", "/", "/etc/passwd", "../up", "a/b", "a\\b", "a\0b", "A", "Photo", "é",
      "e\u{301}", "-rf", "~", "a~b", "con", "nul", "com1", "lpt9", "a b", "a\nb", "a:b", "😀",
      String(repeating: "a", count: 101),
    ])
  func unsafeTexts(text: String) {
    let name = FileName(text).text
    #expect(name.contains("~"))
    #expect(name.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-_~".utf8.contains($0) })
    #expect(name.utf8.count <= FileName.maxByteCount)
    #expect(name.first.map { $0.isLetter || $0.isNumber || $0 == "_" } == true)
    #expect(FileName(stored: name)?.text == name)
    #expect(FileName("con.x", extension: "txt").text.hasPrefix("con-x~"))
  }

  @Test("different texts and extensions have different names, even where case and accents fold")
  func distinctness() {
    let alphabet: [Character] = ["a", "A", "b", ".", "/", "-", "~", "é", "\u{301}", "1"]
    var texts = [""]
    for text in texts { texts += alphabet.map { text + String($0) } }
    for text in texts where text.unicodeScalars.count == 1 {
      for other in alphabet { texts += alphabet.map { text + String(other) + String($0) } }
    }
    var owners: [String: [UInt8]] = [:]
    for text in Set(texts.map { Array($0.utf8) }) {
      let word = String(decoding: text, as: UTF8.self)
      for suffix in [nil, "b", "a1"] as [String?] {
        let name = FileName(word, extension: suffix).text
        let owner = text + [0] + Array((suffix ?? "").utf8)
        #expect(owners[name] == nil, "\(name) for \(word)")
        owners[name] = owner
        #expect(name == name.lowercased())
      }
    }
  }

  @Test(
    "an extension is kept if it is a short one of letters and digits",
    arguments: [
      ("jpg", "a.jpg"), ("JPG", "a.jpg"), ("tar.gz", "a"), ("", "a"), ("é", "a"),
      ("waytoolongforit", "a"), ("/x", "a"),
    ])
  func extensions(suffix: String, name: String) {
    #expect(FileName("a", extension: suffix).text == name)
  }

  @Test("an identity is part of the name, whatever the text")
  func identity() {
    let first = FileName("a", identity: "1")
    #expect(first != FileName("a", identity: "2"))
    #expect(first.text.hasPrefix("a~"))
    #expect(first == FileName("a", identity: "1"))
  }

  @Test(
    "what no store would have written is no name",
    arguments: [
      "", ".", "..", ".tandem", "a/b", "A", "-a", "a.", "é", "nul", "nul.txt",
      String(repeating: "a", count: 201),
    ])
  func strangers(text: String) {
    #expect(FileName(stored: text) == nil)
  }
}
