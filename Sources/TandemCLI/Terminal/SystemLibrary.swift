@_exported import SystemLibrary
