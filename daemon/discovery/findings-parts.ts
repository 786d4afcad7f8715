import { randomId } from '../../shared/ids.ts'
import { type FindingsBody, MAX_FINDING_ROWS, type ModuleRow } from '../../shared/wire/findings.ts'

/** Room for rows in one message: with the largest row beside it, it fits into a record of the spool. */
const PART_BYTES = 192 * 1024

interface RunFacts {
  module: string
  inputHash: string
  /** Unix milliseconds. */
  startedAt: number
}

/** Divides the rows of a run into messages, numbered from 0. */
export class FindingsParts {
  readonly #facts: Omit<FindingsBody, 'part' | 'rows'>
  readonly #send: (body: FindingsBody) => Promise<void>
  #part = 0
  #rows: ModuleRow[] = []
  #bytes = 0

  constructor(facts: RunFacts, send: (body: FindingsBody) => Promise<void>) {
    const { module, inputHash: input_hash, startedAt: started_at } = facts
    this.#facts = { module, run_id: randomId(), input_hash, started_at }
    this.#send = send
  }

  /** Resolves when there is room for the next row. */
  async add(row: ModuleRow): Promise<void> {
    const bytes = Buffer.byteLength(JSON.stringify(row))
    if (this.#bytes + bytes > PART_BYTES || this.#rows.length >= MAX_FINDING_ROWS)
      await this.#sendPart()
    this.#rows.push(row)
    this.#bytes += bytes
  }

  /** Sends the last message, which says how the run ended. */
  end(end: NonNullable<FindingsBody['end']>): Promise<void> {
    return this.#sendPart(end)
  }

  async #sendPart(end?: FindingsBody['end']): Promise<void> {
    const rows = this.#rows
    this.#rows = []
    this.#bytes = 0
    await this.#send({ ...this.#facts, part: this.#part++, rows, ...(end && { end }) })
  }
}
