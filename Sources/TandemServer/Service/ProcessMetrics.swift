internal import SystemLibrary

/// The metrics of this process, by the names that all client libraries of Prometheus use. Those that a system does not
/// tell are absent: only Linux tells all.
struct ProcessMetrics {
  struct Metric {
    let name: String
    let kind: String
    let help: String
    let value: String
  }

  /// The metrics as they are now.
  static var all: [Metric] {
    var metrics: [Metric] = []
    func add(_ name: String, _ help: String, kind: String = "gauge", _ value: String?) {
      guard let value else { return }
      metrics.append(Metric(name: "process_\(name)", kind: kind, help: help, value: value))
    }
    add(
      "cpu_seconds_total", "Processor time of the server, by itself and the system.",
      kind: "counter", cpuSeconds.map { "\($0)" })
    let fields = statusFields
    // Their numbers in proc(5), less the two before the name's end and one.
    let (start, virtual, resident) = (number(fields, 19), number(fields, 20), number(fields, 21))
    let ticks = sysconf(Int32(_SC_CLK_TCK))
    add(
      "start_time_seconds", "Start of the server, in seconds since 1970.",
      start.flatMap { start in
        ticks > 0 ? bootTime.map { "\(Double($0) + Double(start) / Double(ticks))" } : nil
      })
    add("virtual_memory_bytes", "Virtual memory.", virtual.map { "\($0)" })
    add(
      "resident_memory_bytes", "Memory in use.",
      resident.map { "\($0 * sysconf(Int32(_SC_PAGESIZE)))" })
    add("open_fds", "Open files and connections.", openFileCount.map { "\($0)" })
    add("max_fds", "The most files and connections that may be open.", "\(OpenFileLimit.current)")
    return metrics
  }

  private static var cpuSeconds: Double? {
    var usage = rusage()
    #if canImport(Glibc)
      let status = getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    #else
      let status = getrusage(Int32(RUSAGE_SELF), &usage)
    #endif
    guard status == 0 else { return nil }
    return [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1e6 }
      .reduce(0, +)
  }

  /// The fields of the process's status after its name, which may contain anything.
  private static var statusFields: [Substring] {
    let text = text(ofFile: "/proc/self/stat")
    guard let end = text.lastIndex(of: ")") else { return [] }
    return text[end...].dropFirst().split(separator: " ")
  }

  private static func number(_ fields: [Substring], _ place: Int) -> Int? {
    fields.indices.contains(place) ? Int(fields[place]) : nil
  }

  /// The time when the system started, in seconds since 1970.
  private static var bootTime: Int? {
    text(ofFile: "/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }
      .flatMap { Int($0.dropFirst("btime ".count)) }
  }

  private static var openFileCount: Int? {
    // Without the directory itself.
    directoryNames("/proc/self/fd").map { $0.count - 1 }
  }

  private static func text(ofFile path: String) -> String {
    let bytes = try? FileBytes.read(path, maxByteCount: 1 << 20, .directory)
    return String(decoding: bytes ?? [], as: UTF8.self)
  }
}
