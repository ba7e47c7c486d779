nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemSQLite/Database/Database.swift:141:50-141:60
