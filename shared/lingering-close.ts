import type { Server, Socket } from 'node:net'

/** Longest wait for the peer's end, in milliseconds. */
const LINGER_MS = 2000

/** Bytes that are read and dropped while a connection lingers. */
const LINGER_BYTES = 32 * 1024 * 1024

/**
 * Makes an HTTP server close its connections in steps (RFC 9112, section 9.6). A socket that is
 * closed with unread bytes is reset, and a reset discards an answer that the client has not read
 * yet: a client that was still sending its body would see EPIPE in place of 413.
 */
export const closeWithLinger = (server: Server): void => {
  for (const event of ['connection', 'secureConnection'] as const)
    server.on(event, (socket: Socket) => {
      socket.destroySoon = linger
    })
}

/** Ends the own side, drops what the peer still sends, and closes after its end or the bound. */
const linger = function (this: Socket): void {
  if (this.destroyed) return
  if (this.writable) this.end()
  // the parser would carry out a pipelined request, whose answer could not be sent any more
  this.removeAllListeners('data').removeAllListeners('end')
  let dropped = 0
  this.on('data', piece => {
    dropped += piece.length
    if (dropped > LINGER_BYTES) this.destroy()
  })
  const timer = setTimeout(() => this.destroy(), LINGER_MS).unref()
  this.once('close', () => clearTimeout(timer))
  closeAtEnd(this)
  this.resume()
}

const closeAtEnd = (socket: Socket): void => {
  const close = (): void => {
    if (socket.readableEnded && socket.writableFinished) socket.destroy()
  }
  socket.once('end', close).once('finish', close)
  close()
}
