internal import SystemLibrary

/// The functions of libpq that are used. The library is loaded when the first connection is made, so that programs
/// that keep their spaces in files need neither the library nor its headers.
///
/// Unchecked: everything is set once, and the functions may be called by any thread.
struct PostgreSQLLibrary: @unchecked Sendable {
  typealias Connection = OpaquePointer
  typealias Result = OpaquePointer
  typealias Text = UnsafePointer<CChar>
  typealias Texts = UnsafePointer<Text?>

  let connectdbParams: @convention(c) (Texts, Texts, Int32) -> Connection?
  let finish: @convention(c) (Connection?) -> Void
  let status: @convention(c) (Connection) -> Int32
  let errorMessage: @convention(c) (Connection) -> Text
  let socket: @convention(c) (Connection) -> Int32
  let backendPID: @convention(c) (Connection) -> Int32
  let setnonblocking: @convention(c) (Connection, Int32) -> Int32
  let flush: @convention(c) (Connection) -> Int32
  let consumeInput: @convention(c) (Connection) -> Int32
  let isBusy: @convention(c) (Connection) -> Int32
  let enterPipelineMode: @convention(c) (Connection) -> Int32
  let pipelineSync: @convention(c) (Connection) -> Int32
  let sendPrepare: @convention(c) (Connection, Text, Text, Int32, UnsafePointer<UInt32>?) -> Int32
  let sendQueryPrepared:
    @convention(c) (
      Connection, Text, Int32, Texts?, UnsafePointer<Int32>?, UnsafePointer<Int32>?, Int32
    ) -> Int32
  let sendQueryParams:
    @convention(c) (
      Connection, Text, Int32, UnsafePointer<UInt32>?, Texts?, UnsafePointer<Int32>?,
      UnsafePointer<Int32>?, Int32
    ) -> Int32
  let getResult: @convention(c) (Connection) -> Result?
  let clear: @convention(c) (Result?) -> Void
  let resultStatus: @convention(c) (Result?) -> Int32
  let resultErrorField: @convention(c) (Result, Int32) -> Text?
  let cmdStatus: @convention(c) (Result) -> Text
  let ntuples: @convention(c) (Result) -> Int32
  let nfields: @convention(c) (Result) -> Int32
  let ftype: @convention(c) (Result, Int32) -> UInt32
  let getisnull: @convention(c) (Result, Int32, Int32) -> Int32
  let getvalue: @convention(c) (Result, Int32, Int32) -> UnsafeMutablePointer<CChar>
  let getlength: @convention(c) (Result, Int32, Int32) -> Int32
  let notifies: @convention(c) (Connection) -> UnsafeMutableRawPointer?
  let freemem: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let conninfoParse:
    @convention(c) (Text, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?)
      -> UnsafeMutableRawPointer?
  let conninfoFree: @convention(c) (UnsafeMutableRawPointer?) -> Void
  let setNoticeProcessor:
    @convention(c) (
      Connection, (@convention(c) (UnsafeMutableRawPointer?, Text?) -> Void)?,
      UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer?

  private static let names = [
    "libpq.so.5", "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib",
    "/usr/local/opt/libpq/lib/libpq.5.dylib",
  ]
  private static let loaded = PostgreSQLLibrary()

  /// The library of this machine.
  ///
  /// - Throws: ``PostgreSQLError`` with code `library`.
  static func load() throws(PostgreSQLError) -> PostgreSQLLibrary {
    guard let loaded else {
      throw PostgreSQLError(
        .library,
        "the client library of PostgreSQL (libpq, version 14 or later) is missing; install it, on Debian by: "
          + "apt-get install libpq5")
    }
    return loaded
  }

  private init?() {
    guard let handle = Self.names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first
    else { return nil }
    var isComplete = true
    func function<Function>(_ name: String) -> Function {
      let missing: @convention(c) () -> Void = {
        preconditionFailure("a library that lacks functions is not used")
      }
      guard let pointer = dlsym(handle, name) else {
        isComplete = false
        return unsafeBitCast(missing, to: Function.self)
      }
      return unsafeBitCast(pointer, to: Function.self)
    }
    connectdbParams = function("PQconnectdbParams")
    finish = function("PQfinish")
    status = function("PQstatus")
    errorMessage = function("PQerrorMessage")
    socket = function("PQsocket")
    backendPID = function("PQbackendPID")
    setnonblocking = function("PQsetnonblocking")
    flush = function("PQflush")
    consumeInput = function("PQconsumeInput")
    isBusy = function("PQisBusy")
    enterPipelineMode = function("PQenterPipelineMode")
    pipelineSync = function("PQpipelineSync")
    sendPrepare = function("PQsendPrepare")
    sendQueryPrepared = function("PQsendQueryPrepared")
    sendQueryParams = function("PQsendQueryParams")
    getResult = function("PQgetResult")
    clear = function("PQclear")
    resultStatus = function("PQresultStatus")
    resultErrorField = function("PQresultErrorField")
    cmdStatus = function("PQcmdStatus")
    ntuples = function("PQntuples")
    nfields = function("PQnfields")
    ftype = function("PQftype")
    getisnull = function("PQgetisnull")
    getvalue = function("PQgetvalue")
    getlength = function("PQgetlength")
    notifies = function("PQnotifies")
    freemem = function("PQfreemem")
    conninfoParse = function("PQconninfoParse")
    conninfoFree = function("PQconninfoFree")
    setNoticeProcessor = function("PQsetNoticeProcessor")
    guard isComplete else { return nil }
  }
}
