/** An event of a stream. */
export interface StreamEvent {
  /** Undefined for an event without a name, as most are. */
  name: string | undefined
  data: string
}

/** Reads the events of a stream out of pieces that may be cut anywhere. */
export class EventReader {
  readonly #decoder = new TextDecoder()
  #rest = ''

  /** Length of the event that has begun, in characters. */
  get restLength(): number {
    return this.#rest.length
  }

  /** Returns the events that the piece completes; comments are left out. */
  take(piece: Buffer): StreamEvent[] {
    this.#rest += this.#decoder.decode(piece, { stream: true })
    const blocks = this.#rest.split('\n\n')
    this.#rest = blocks.pop() ?? ''
    return blocks.flatMap(parseEvent)
  }
}

const parseEvent = (block: string): StreamEvent[] => {
  const lines = block.split('\n')
  const fieldOf = (name: string) => lines.find(line => line.startsWith(name))?.slice(name.length)
  const data = fieldOf('data: ')
  return data === undefined ? [] : [{ name: fieldOf('event: '), data }]
}
