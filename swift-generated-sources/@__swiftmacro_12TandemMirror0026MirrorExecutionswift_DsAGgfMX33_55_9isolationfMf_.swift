nil                                                                                                                             

// original-source-range: /tmp/wt/table/Sources/TandemMirror/Run/MirrorExecution.swift:34:56-34:66
