nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemSQLite/Database/ConnectionPool.swift:107:49-107:59
