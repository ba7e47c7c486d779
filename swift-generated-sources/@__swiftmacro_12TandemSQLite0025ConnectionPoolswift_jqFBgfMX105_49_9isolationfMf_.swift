nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemSQLite/Database/ConnectionPool.swift:106:50-106:60
