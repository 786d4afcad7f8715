import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** Faults of a radio in both directions; they may change at any time. */
interface RadioFaults {
  /** Share of the datagrams that never arrive, from 0 to 1. */
  loss: number
  /** Delay of each datagram, in milliseconds. */
  delayMs: number
  /** True while nothing arrives. */
  isSilent: boolean
}

/** Two UDP sockets of loopback between a vehicle and a cell, which lose and delay what passes. */
export class Radio {
  readonly faults: RadioFaults = { loss: 0, delayMs: 0, isSilent: false }
  /** Datagrams that arrived in each direction, and those that were lost. */
  readonly counts = { toCell: 0, toVehicle: 0, lost: 0 }
  readonly #vehicleSide = createSocket('udp4')
  readonly #cellSide = createSocket('udp4')
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #random: () => number
  #vehiclePort: number | undefined
  #isClosed = false

  private constructor(random: () => number) {
    this.#random = random
  }

  /** Opens a radio to the UDP port of a cell. */
  static async open(cellPort: number, random: () => number = Math.random): Promise<Radio> {
    const radio = new Radio(random)
    radio.#vehicleSide.on('message', (bytes, { port }) => {
      radio.#vehiclePort = port
      radio.#pass(() => {
        radio.counts.toCell++
        radio.#cellSide.send(bytes, cellPort, '127.0.0.1')
      })
    })
    radio.#cellSide.on('message', bytes =>
      radio.#pass(() => {
        if (radio.#vehiclePort === undefined) return
        radio.counts.toVehicle++
        radio.#vehicleSide.send(bytes, radio.#vehiclePort, '127.0.0.1')
      }),
    )
    await Promise.all([radio.#vehicleSide, radio.#cellSide].map(bindLoopback))
    return radio
  }

  /** Port that the vehicle sends to. */
  get port(): number {
    return this.#vehicleSide.address().port
  }

  close(): void {
    this.#isClosed = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#vehicleSide.close()
    this.#cellSide.close()
  }

  #pass(send: () => void): void {
    const { loss, delayMs, isSilent } = this.faults
    if (isSilent || this.#random() < loss) {
      this.counts.lost++
      return
    }
    if (delayMs === 0) {
      send()
      return
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (!this.#isClosed) send()
    }, delayMs)
    this.#timers.add(timer)
  }
}

export const bindLoopback = async (socket: Socket): Promise<number> => {
  // a port that nobody listens on yet is reported as an error of the socket
  socket.on('error', () => {})
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return socket.address().port
}
