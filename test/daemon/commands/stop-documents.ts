import { newId } from '../../../shared/ids.ts'
import type { Signer } from '../../../shared/signing.ts'
import { type EngagedStop, type EstopBody, signEstop } from '../../../shared/wire/estop.ts'

interface StopDocumentsParts {
  cellId: string
  coordinator: Signer
  stranger: Signer
  /** Unix milliseconds. */
  now: () => number
}

/** What a coordinator knows of the stops of one cell, and every document that it has signed. */
export class StopDocuments {
  readonly #parts: StopDocumentsParts
  readonly #written: EstopBody[] = []
  /** Stops that nobody has released. */
  readonly #engaged = new Map<string, EngagedStop>()
  readonly #ofMachine = new Set<string>()
  readonly #released: EstopBody['released'] = []

  constructor(parts: StopDocumentsParts) {
    this.#parts = parts
  }

  /** Any document that was written so far. */
  pick(which: number): EstopBody | undefined {
    return this.#written.at(which % this.#written.length)
  }

  /** Engages a stop, and returns the document that has it. */
  engage(scope: EngagedStop['scope'], target: string | null): EstopBody {
    const stop: EngagedStop = {
      estop_id: newId('est'),
      scope,
      target,
      engaged_at: this.#parts.now(),
      engaged_by: 'key:ann',
      reason: 'smoke',
    }
    this.#engaged.set(stop.estop_id, stop)
    return this.#write()
  }

  /** Takes over a stop that was engaged on the machine: no document engages it. */
  takeOver(stop: EngagedStop): void {
    this.#engaged.set(stop.estop_id, stop)
    this.#ofMachine.add(stop.estop_id)
  }

  /** Releases one stop or all, and returns the document that says so. */
  release(which: number | 'all'): EstopBody {
    const ids = [...this.#engaged.keys()]
    const chosen = which === 'all' ? ids : ids.slice(which % ids.length).slice(0, 1)
    for (const estop_id of chosen) {
      this.#engaged.delete(estop_id)
      this.#released.push(this.#toRelease(estop_id))
    }
    return this.#write()
  }

  /** A release of every stop that the coordinator has not signed, or not for this cell. */
  forge(how: 'key' | 'field' | 'cell'): EstopBody {
    const { cellId, coordinator, stranger } = this.#parts
    const body = {
      version: this.#written.length + 1000,
      cell_id: how === 'cell' ? newId('cell') : cellId,
      engaged: [],
      released: [...this.#engaged.keys()].map(id => this.#toRelease(id)),
      issued_at: this.#parts.now(),
    }
    const signed = signEstop(body, how === 'key' ? stranger : coordinator)
    const changed = how === 'field' ? { version: body.version + 1 } : {}
    return { ...signed, ...changed, key_id: coordinator.publicKey }
  }

  #toRelease(estop_id: string): EstopBody['released'][number] {
    const released_at = this.#parts.now()
    return { estop_id, released_at, released_by: 'key:ann', reason: 'no smoke' }
  }

  #write(): EstopBody {
    const { cellId, coordinator, now } = this.#parts
    const document = signEstop(
      {
        version: this.#written.length + 1,
        cell_id: cellId,
        engaged: [...this.#engaged.values()].filter(one => !this.#ofMachine.has(one.estop_id)),
        released: [...this.#released],
        issued_at: now(),
      },
      coordinator,
    )
    this.#written.push(document)
    return document
  }
}
