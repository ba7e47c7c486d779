import TandemRecords
import TandemSync

/// Messages pass as bytes in the scenarios in which they may arrive damaged.
extension Simulation {
  /// A value as its receiver reads it.
  private enum Arrival<Value> {
    case read(Value)
    /// The bytes are damaged, and no message.
    case unreadable(TextFault)
    /// The bytes are damaged, and a message all the same: the checksums of a connection reveal it.
    case lost
  }

  /// A message as its receiver reads it; `nil` if it is lost.
  func arrived(_ message: Message) throws -> Message.Content? {
    guard scenario.accidents.contains(.damage) else { return message.content }
    switch message.content {
    case .push(let commit):
      let arrival = try arrival(commit, SyncMessageWriter.bytes(commit)) {
        (bytes) throws(TextFault) in try SyncMessageReader().commit(bytes)
      }
      switch arrival {
      case .read(let commit): return .push(commit)
      case .unreadable(let fault):
        note("message \(message.request) is damaged")
        return .unreadable(fault)
      case .lost: return nil
      }
    case .answer(let event): return try arrived(event).map { .answer($0) }
    case .pull, .unreadable: return message.content
    }
  }

  /// An answer as its receiver reads it. One that is unreadable is none.
  private func arrived(_ event: SyncSession.Event) throws -> SyncSession.Event? {
    switch event {
    case .pulled(.page(let page)):
      let arrival = try arrival(page, SyncMessageWriter.bytes(page)) {
        (bytes) throws(TextFault) in try SyncMessageReader().page(bytes)
      }
      return arrived(arrival) { .pulled(.page($0)) }
    case .pulled(.gone(let gone)):
      return arrived(try arrivalOfAnswer(.success(.gone(gone)))) { _ in .pulled(.gone(gone)) }
    case .pushed(let outcome):
      return arrived(try arrivalOfAnswer(.success(outcome))) { _ in .pushed(outcome) }
    case .refused(let refusal):
      return arrived(try arrivalOfAnswer(.failure(refusal))) { _ in .refused(refusal) }
    default: return event
    }
  }

  private func arrivalOfAnswer(
    _ answer: Result<SyncOutcome, SyncRequestError>
  ) throws -> Arrival<Result<SyncOutcome, SyncRequestError>> {
    let bytes =
      switch answer {
      case .success(let outcome): SyncMessageWriter.bytes(outcome)
      case .failure(let refusal): SyncMessageWriter.bytes(refusal)
      }
    return try arrival(answer, bytes) { (bytes) throws(TextFault) in
      try SyncMessageReader().answer(bytes)
    }
  }

  private func arrived<Value>(
    _ arrival: Arrival<Value>, _ event: (Value) -> SyncSession.Event
  ) -> SyncSession.Event? {
    switch arrival {
    case .read(let value): event(value)
    case .unreadable: .disconnected
    case .lost: nil
    }
  }

  /// Sends a value as bytes, and reads what arrives.
  ///
  /// - Throws: ``SimulationViolation`` if undamaged bytes are read as another value.
  private func arrival<Value: Equatable>(
    _ value: Value, _ bytes: [UInt8], _ read: ([UInt8]) throws(TextFault) -> Value
  ) throws -> Arrival<Value> {
    if isFaulty, chance(8) {
      do throws(TextFault) {
        _ = try read(damaged(bytes))
        return .lost
      } catch {
        return .unreadable(error)
      }
    }
    do throws(TextFault) {
      if try read(bytes) == value { return .read(value) }
    } catch {
      throw SimulationViolation(
        "the message \(String(decoding: bytes, as: UTF8.self)) cannot be read: \(error)")
    }
    throw SimulationViolation(
      "the message \(String(decoding: bytes, as: UTF8.self)) is read as another one")
  }

  private func damaged(_ bytes: [UInt8]) -> [UInt8] {
    if chance(50) { return Array(bytes.prefix(Int.random(in: 0..<bytes.count, using: &random))) }
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
        in: .min ... .max, using: &random)
    }
    return bytes
  }
}
