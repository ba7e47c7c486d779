import Foundation
import TandemDifferences
import TandemDigests
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

@Suite("The index of a directory of files")
struct FileIndexTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func file(_ name: String, folder: String = "") -> (FileIndex.Address, StoredFile) {
    let file = StoredFile(
      name: FileName(name), url: "http://a.example/é", validators: .init(entityTag: "\"\(name)\""),
      byteCount: 5, sha256: name == "b" ? SHA256Digest(of: [1]) : nil)
    return (FileIndex.Address(folder: folder, name: FileName(name)), file)
  }

  /// Opens the index; other processes may have it open, as if this one had been killed.
  private func open(isReadOnly: Bool = false) throws -> FileIndex {
    let directory = try Directory.openOrCreate(folder.path)
    let hidden = isReadOnly ? nil : try Directory(FileIndex.directoryName, in: directory)
    return try FileIndex(of: directory, hidden: hidden)
  }

  @Test("everything is there again when it is opened anew")
  func contents() throws {
    let (a, b) = (file("a"), file("b", folder: "content"))
    let resumption = FileIndex.Resumption(url: "u", validator: "\"v\"", totalByteCount: 7)
    let fields = FileIndex.Folder(field: "photo", digestField: "sha", byteCountField: nil)
    do {
      let index = try open()
      try index.add(a.1, at: a.0)
      try index.add(b.1, at: b.0)
      try index.setDirty([FileName("x")], in: "content")
      try index.setPartial(resumption, at: a.0)
      try index.claim("me", folders: ["content": fields])
      try index.remove([a.0])
    }
    for isReadOnly in [true, false] {
      let index = try open(isReadOnly: isReadOnly)
      #expect(index.file(a.0) == nil)
      #expect(index.file(b.0) == b.1)
      #expect(index.names(in: "content") == [FileName("b")] && index.names(in: "") == [])
      #expect(index.dirtyNames(in: "content") == [FileName("x")] && index.dirtyNames(in: "") == [])
      #expect(index.partial(a.0) == resumption && index.partial(b.0) == nil)
      #expect(index.owner == "me" && index.folder("content") == fields)
    }
    #expect(folder.names(in: ".tandem") == ["index.sqlite"])
  }

  @Test("what was committed is there after a kill, and facts of a replaced file are not")
  func killed() throws {
    let index = try open()
    let files = (0..<FileIndex.maxPendingCount).map { file("f\($0)") }
    for (address, file) in files { try index.add(file, at: address) }
    try index.remove([files[7].0])
    // The index is still open, as that of a process that is killed now.
    let survivor = try open(isReadOnly: true)
    #expect(survivor.names(in: "").count == files.count - 1)
    #expect(survivor.file(files[7].0) == nil)
  }

  @Test("a new owner does not keep the folders of another one")
  func owners() throws {
    let fields = FileIndex.Folder(field: "photo", digestField: nil, byteCountField: nil)
    let index = try open()
    try index.claim("me", folders: ["content": fields])
    try index.claim("me", folders: ["preview": fields])
    #expect(index.folder("content") == fields)
    try index.claim("you", folders: ["preview": fields])
    #expect(index.folder("content") == nil && index.folder("preview") == fields)
  }

  @Test("an index that is a link, or no index, or of another version, is refused")
  func unfit() throws {
    do { try open().claim("me", folders: [:]) }
    let path = "\(folder.path)/.tandem/index.sqlite"
    try DatabaseConnection(path: path).execute("PRAGMA user_version=2")
    #expect(throws: TransportError.self) { try open() }
    folder.create(".tandem/index.sqlite", Array("no database at all".utf8))
    #expect(throws: TransportError.self) { try open() }
    try FileManager.default.moveItem(atPath: path, toPath: "\(folder.path)/elsewhere")
    try FileManager.default.createSymbolicLink(
      atPath: path, withDestinationPath: "\(folder.path)/elsewhere")
    #expect(throws: TransportError.self) { try open() }
    #expect(folder.bytes(of: "elsewhere") == Array("no database at all".utf8))
  }

  @Test("an index whose creation was interrupted is created again")
  func interruptedCreation() throws {
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/.tandem", withIntermediateDirectories: true)
    folder.create(".tandem/index.sqlite", [])
    #expect(try !FileIndex.hasOwner(Directory.openOrCreate(folder.path)))
    #expect(try open(isReadOnly: true).owner == nil)
    let (address, stored) = file("a")
    do {
      let index = try open()
      try index.add(stored, at: address)
      try index.flush()
    }
    let index = try open(isReadOnly: true)
    #expect(index.owner == nil)
    #expect(index.file(address) == stored)
    #expect(folder.names(in: ".tandem") == ["index.sqlite"])
  }
}
