nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemSQLite/Database/ConnectionPool.swift:154:35-154:45
