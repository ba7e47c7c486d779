import CFloors
import Foundation
import Tandem

/// A list of a million records in JSON, 159 MB.
enum JSONCases {
  private static let count = 1_000_000

  static let reading = BenchmarkGroup(name: "json-reading") {
    let folder = try TemporaryFolder(inMemory: true)
    let tandem = try Program.tandem()
    let sqlite = try Program.system("sqlite3")
    let path = folder.path("list.json")
    try CommandCases.places(count).write(toFile: path, atomically: true, encoding: .utf8)
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let ours = Benchmark.Contender(
      name: "RecordReader.packedRecords",
      run: { try RecordReader.packedRecords(in: bytes, format: .json).count },
      stopwatch: .processorTime)
    let mirror = Benchmark.Contender(
      name: "tandem mirror into a new table",
      run: {
        folder.removeDatabase("new.db")
        let output = try tandem.output([
          "mirror", path, folder.path("new.db"), "--table", "t", "--key", "id",
        ])
        return output.split(separator: "\n").last.flatMap { Int($0.prefix { $0.isNumber }) }
      }, stopwatch: .processorTimeOfPrograms)
    let json = Benchmark.Contender(
      name: "sqlite3, count of json_each",
      run: {
        let query = "SELECT count(value ->> 'name') FROM json_each(readfile('\(path)'))"
        return Int(try sqlite.output([":memory:", query]).dropLast())
      }, stopwatch: .processorTimeOfPrograms)
    let peak = try tandem.peakByteCount([
      "mirror", path, folder.path("peak.db"), "--table", "t", "--key", "id",
    ])
    folder.removeDatabase("peak.db")
    return [
      Benchmark(
        name: "1 M records of JSON, 159 MB, read into memory", ours: ours, others: [json],
        goals: [
          Benchmark.goal(atLeast: 3, timesFasterThan: json.name),
          Benchmark.goal(
            atMost: 150, bytesPer: "record", measured: try byteCount(of: bytes)),
        ]),
      Benchmark(
        name: "1 M records of JSON, 159 MB, into a new table", ours: mirror, others: [json],
        goals: [
          Benchmark.goal(atMost: 3, times: json.name),
          Benchmark.goal(
            atMost: 200, bytesPer: "record, at the most", measured: Double(peak) / Double(count)),
        ]),
    ]
  }

  /// The memory that a record occupies once all are read.
  private static func byteCount(of bytes: [UInt8]) throws -> Double {
    let before = floor_resident_byte_count()
    let records = try RecordReader.packedRecords(in: bytes, format: .json)
    let after = floor_resident_byte_count()
    return withExtendedLifetime(records) { Double(after - before) / Double(count) }
  }
}
