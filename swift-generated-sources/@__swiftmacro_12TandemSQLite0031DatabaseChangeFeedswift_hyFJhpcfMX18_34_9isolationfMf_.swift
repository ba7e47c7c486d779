nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemSQLite/Changes/Database+ChangeFeed.swift:19:35-19:45
