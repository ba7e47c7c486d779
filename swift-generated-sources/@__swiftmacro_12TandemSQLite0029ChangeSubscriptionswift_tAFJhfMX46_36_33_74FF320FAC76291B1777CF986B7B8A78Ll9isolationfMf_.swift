nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemSQLite/Changes/ChangeSubscription.swift:47:37-47:47
