import { EventEmitter } from 'node:events'
import Bonjour from 'bonjour-service'

/**
 * Socket that bonjour-service is given in place of one of its own: what it sends passes `write`, and
 * it reads only what `hear` is given. It never binds a port or joins a group.
 */
class BonjourSocket extends EventEmitter {
  readonly #write: (bytes: Buffer) => Promise<void>

  constructor(write: (bytes: Buffer) => Promise<void>) {
    super()
    this.#write = write
  }

  send(bytes: Buffer, ...rest: unknown[]): void {
    const done = rest.at(-1)
    void this.#write(bytes).then(() => typeof done === 'function' && done())
  }

  close(done: () => void): void {
    done()
  }
}

export interface LinkBonjour {
  bonjour: Bonjour
  /** Hands a packet to bonjour-service. */
  hear: (bytes: Buffer) => void
}

/** Opens bonjour-service for one link, on sockets of the caller. */
export const openBonjour = (write: (bytes: Buffer) => Promise<void>): LinkBonjour => {
  const socket = new BonjourSocket(write)
  // the options pass to multicast-dns, whose options the types of bonjour-service lack
  const options = { socket, bind: false, multicast: false } as object
  return {
    bonjour: new Bonjour(options, () => {}),
    hear: bytes => socket.emit('message', bytes, {}),
  }
}
