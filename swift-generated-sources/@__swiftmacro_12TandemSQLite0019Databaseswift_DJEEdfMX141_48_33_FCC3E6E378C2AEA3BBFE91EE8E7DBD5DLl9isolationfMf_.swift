nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemSQLite/Database/Database.swift:142:49-142:59
