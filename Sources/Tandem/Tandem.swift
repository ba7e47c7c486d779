@_exported public import TandemChannels
@_exported public import TandemDifferences
@_exported public import TandemLiveQueries
@_exported public import TandemMirror
@_exported public import TandemRecords
@_exported public import TandemSQLite
@_exported public import TandemTransports
