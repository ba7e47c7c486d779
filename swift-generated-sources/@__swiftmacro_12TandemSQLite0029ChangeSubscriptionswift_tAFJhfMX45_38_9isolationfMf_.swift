nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemSQLite/Changes/ChangeSubscription.swift:46:39-46:49
