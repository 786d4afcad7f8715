import { type Server, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** Longest wait for the peer's end, in milliseconds. */
const LINGER_MS = 2000

/** Idle time after which a lingering TLS connection is closed, in milliseconds. */
const QUIET_MS = 500

/** Most bytes that are read and dropped while a connection lingers. */
const LINGER_BYTES = 32 * 1024 * 1024

/**
 * Makes an HTTP server close its connections in steps (RFC 9112, section 9.6). A socket closed with
 * unread bytes is reset, and a reset discards an answer that the client has not read yet: a client
 * still sending its body would see EPIPE instead of 413.
 */
export const closeWithLinger = (server: Server): void => {
  for (const event of ['connection', 'secureConnection'] as const)
    server.on(event, (socket: TLSSocket) => {
      socket.destroySoon = linger
    })
}

/** Ends our side, drops incoming bytes, and closes after the peer's end or the bound. */
const linger = function (this: TLSSocket): void {
  if (this.destroyed) return
  // the parser would run a pipelined request whose answer could no longer be sent
  this.removeAllListeners('data').removeAllListeners('end')
  dropRest(this)
  if (this.encrypted) endWhenQuiet(this)
  else this.end()
  closeAtEnd(this)
}

const dropRest = (socket: Socket): void => {
  let dropped = 0
  socket.on('data', piece => {
    dropped += piece.length
    if (dropped > LINGER_BYTES) socket.destroy()
  })
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
  // the server may have replaced the socket's own `resume` while requests waited
  Socket.prototype.resume.call(socket)
  // the HTTP parser may have paused the handle in a way that `resume` alone does not undo
  socket._read(0)
}

/** OpenSSL reads nothing after it has sent close_notify, so that is sent last. */
const endWhenQuiet = (socket: Socket): void => {
  const close = (): void => Socket.prototype.destroySoon.call(socket)
  socket.removeAllListeners('timeout').setTimeout(QUIET_MS, close)
  socket.once('end', close)
}

const closeAtEnd = (socket: Socket): void => {
  const close = (): void => {
    if (socket.readableEnded && socket.writableFinished) socket.destroy()
  }
  socket.once('end', close).once('finish', close)
  close()
}
