public import TandemHTTP

/// Mirrors attempt again what may pass, and wait for as long as servers ask.
extension TransportError: MirrorRetryError {}
