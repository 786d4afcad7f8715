import type { Logger } from 'pino'
import type { Wait } from '../../../shared/wait.ts'
import { FIRST_CAPABILITY, NEEDS } from '../../../shared/wire/capability.ts'
import { MAX_REPLICAS, type ReplicasBody } from '../../../shared/wire/replicas.ts'
import { rankMembers } from '../../kernel/replicas/rendezvous.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import type { Cell } from '../cells/cell.ts'
import type { Fleet } from '../cells/fleet.ts'
import { isPresent } from '../cells/presence.ts'
import type { Bus } from './bus.ts'

interface ReplicaNoticesParts {
  bus: Pick<Bus, 'publish'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  replicas: Pick<Replicas, 'id' | 'live'>
  wait: Wait
  logger: Pick<Logger, 'debug'>
}

/** Cells that learn of a change at a time, and the pause after them: ten thousand take 2 s. */
const SLICE_CELLS = 100
const SLICE_MS = 20

/** Tells the cells which coordinators live, so that each keeps a session with all of them. */
export class ReplicaNotices implements Disposable {
  readonly #parts: ReplicaNoticesParts
  #round = new AbortController()

  constructor(parts: ReplicaNoticesParts) {
    this.#parts = parts
  }

  /** Tells one cell; one that is too old to know the topic is left out. */
  tell(cellId: string): void {
    const { bus, fleet, replicas, logger } = this.#parts
    const cell = fleet.cell(cellId)
    if (cell === undefined || !canKeepSessions(cell)) return
    bus
      .publish('replicas', cellId, 'replicas', noticeFor(cellId, replicas))
      .catch(error =>
        logger.debug({ reason: error.message, cell: cellId }, 'notice to the replicas not sent'),
      )
  }

  /** Tells every cell that is present, a slice at a time; a newer change starts again. */
  async tellAll(): Promise<void> {
    this.#round.abort()
    this.#round = new AbortController()
    const { signal } = this.#round
    const present = [...this.#parts.fleet.cells()].filter(cell => isPresent(cell.presence))
    for (let at = 0; at < present.length && !signal.aborted; at += SLICE_CELLS) {
      for (const { id } of present.slice(at, at + SLICE_CELLS)) this.tell(id)
      await this.#parts.wait(SLICE_MS, signal)
    }
  }

  [Symbol.dispose](): void {
    this.#round.abort()
  }
}

const canKeepSessions = ({ announce }: Cell): boolean =>
  announce !== undefined && (announce.capability ?? FIRST_CAPABILITY) >= NEEDS.replicas

/**
 * The sender is always among them. Of more than a cell connects to, each cell gets its own part,
 * and every coordinator names the same ones.
 */
const noticeFor = (cellId: string, replicas: Pick<Replicas, 'id' | 'live'>): ReplicasBody => {
  const live = replicas.live()
  const ids = rankMembers(
    cellId,
    live.map(({ id }) => id),
  )
  const chosen = ids.slice(0, MAX_REPLICAS)
  if (!chosen.includes(replicas.id)) chosen.splice(-1, 1, replicas.id)
  return {
    id: replicas.id,
    replicas: live
      .filter(({ id }) => chosen.includes(id))
      .map(({ id, address }) => (address === undefined ? { id } : { id, address })),
  }
}
