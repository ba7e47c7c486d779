nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemHTTP/ResponseExchange.swift:73:39-73:49
