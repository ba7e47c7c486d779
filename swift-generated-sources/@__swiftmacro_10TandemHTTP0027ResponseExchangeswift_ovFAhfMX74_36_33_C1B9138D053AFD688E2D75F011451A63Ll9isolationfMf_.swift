nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemHTTP/ResponseExchange.swift:75:37-75:47
