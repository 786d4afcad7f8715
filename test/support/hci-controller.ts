import { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** An advertisement as a radio hears it. */
export interface Report {
  /** `aa:bb:cc:dd:ee:ff`. */
  address: string
  isRandom: boolean
  rssi: number
  data: Uint8Array
  /** Type of a legacy report; 3 is one that nobody can connect to. */
  type?: number
}

/** How the controller behaves. */
interface ControllerOptions {
  /** True makes it one of Bluetooth 5, with extended advertising. */
  isExtended?: boolean
  /** Reports after the scan was switched on; the controller then calls `onEnd`. */
  packets: Iterable<Uint8Array>
  onEnd?: () => void
}

/** Answers of an emulated controller by the code of the command; others get a status and zeros. */
const ANSWERS: Readonly<Record<number, string>> = {
  4097: '000c00000c5d000000',
  4105: '000605040302c1',
  8194: '00fb0008',
  3180: '000100',
}
const SET_SCAN = new Set([0x200c, 0x2042])
/** Packets between two turns of the event loop, as a busy radio delivers them. */
const AT_ONCE = 256

/** Event of a legacy report (Bluetooth Core Specification, volume 4, part E, 7.7.65.2). */
export const legacyPacket = ({ address, isRandom, rssi, data, type = 3 }: Report): Buffer => {
  const tail = [...Buffer.from(address.replaceAll(':', ''), 'hex').reverse(), data.length, ...data]
  return event([0x02, 1, type, isRandom ? 1 : 0, ...tail, rssi & 0xff])
}

/** Event of an extended report (7.7.65.13). */
export const encodeExtendedPacket = ({
  address,
  isRandom,
  rssi,
  data,
  type = 0,
}: Report): Buffer => {
  const own = [...Buffer.from(address.replaceAll(':', ''), 'hex').reverse()]
  const radio = [1, 0, 0, 0x7f, rssi & 0xff, 0, 0, 0]
  const tail = [...radio, ...Buffer.alloc(6), data.length, ...data]
  return event([0x0d, 1, type, 0, isRandom ? 1 : 0, ...own, ...tail])
}

const event = (content: readonly number[]): Buffer =>
  Buffer.from([4, 0x3e, content.length & 0xff, ...content])

/**
 * Puts an emulated controller in the place of the socket to the kernel's, so that the real code of
 * the library for HCI and for advertisements runs; returns what takes it out again.
 */
export const installController = (options: ControllerOptions): (() => void) => {
  const path = require.resolve('@stoprocent/bluetooth-hci-socket/lib/native.js')
  const before = require.cache[path]
  class Socket extends EmulatedSocket {
    constructor() {
      super(options)
    }
  }
  require.cache[path] = { id: path, filename: path, loaded: true, exports: Socket } as never
  return () => {
    if (before === undefined) delete require.cache[path]
    else require.cache[path] = before
  }
}

class EmulatedSocket extends EventEmitter {
  readonly #options: ControllerOptions
  #isOpen = true

  constructor(options: ControllerOptions) {
    super()
    this.#options = options
  }

  bindRaw(): void {}
  bindUser(): void {}
  setFilter(): void {}
  start(): void {}

  stop(): void {
    this.#isOpen = false
  }

  isDevUp(): boolean {
    return true
  }

  write(command: Buffer): void {
    const code = command.readUInt16LE(1)
    const given = ANSWERS[code]
    const answer = given === undefined ? Buffer.alloc(9) : Buffer.from(given, 'hex')
    if (code === 0x2003 && this.#options.isExtended === true) answer[2] = 0x10
    const head = [4, 0x0e, answer.length + 3, 1, code & 0xff, code >> 8]
    setImmediate(() => this.emit('data', Buffer.from([...head, ...answer])))
    if (SET_SCAN.has(code) && command[4] === 1) setImmediate(() => this.#play())
  }

  async #play(): Promise<void> {
    let count = 0
    for (const packet of this.#options.packets) {
      if (!this.#isOpen) return
      this.emit('data', packet)
      if (++count % AT_ONCE === 0) await new Promise(resolve => setImmediate(resolve))
    }
    this.#options.onEnd?.()
  }
}
