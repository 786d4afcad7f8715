import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { createBuiltInVerbs } from '../../daemon/commands/built-in-verbs.ts'
import { CoordinatorClock } from '../../daemon/commands/clock.ts'
import type { JournalFile } from '../../daemon/commands/journal.ts'
import { openJournalFile } from '../../daemon/commands/journal-file.ts'
import { toVerbFacts } from '../../daemon/commands/verb.ts'
import { KnownCoordinators } from '../../daemon/coordinators/known-coordinators.ts'
import { createHealth } from '../../daemon/health.ts'
import { ownIdentity } from '../../daemon/own-identity.ts'
import { announceService } from '../../daemon/services/announce.ts'
import { commandsService } from '../../daemon/services/commands.ts'
import { Nudge } from '../../daemon/uplink/nudge.ts'
import { Uplink } from '../../daemon/uplink/uplink.ts'
import { createSigner } from '../../shared/signing.ts'
import { announce } from '../fleet/bodies.ts'

export interface BenchCellsOptions {
  url: string
  folder: string
  coordinatorKey: string
  /** Location of the journals; many cells sharing one disk distort the cost of each. */
  journal: 'disk' | 'memory'
  cells: { id: string; credential: string; privateKey: string }[]
}

const createMemoryJournal = (): JournalFile => ({
  read: async () => undefined,
  append: async () => {},
  replace: async () => {},
  close: async () => {},
})

const logger = pino({ level: 'silent' })

/** The control plane of many daemons: real uplinks and executors, no machine behind them. */
const startCells = (options: BenchCellsOptions): void => {
  const stop = new AbortController()
  const fail = (error: Error): void => {
    throw error
  }
  for (const { id, credential, privateKey } of options.cells) {
    const state = join(options.folder, id)
    const { url } = options
    const stored = { cell_id: id, credential, coordinator_url: url, epoch: 1 }
    const clock = new CoordinatorClock(() => performance.now())
    const verbs = createBuiltInVerbs({ announce: async () => {}, restartEngines: () => {} })
    const uplink = new Uplink({
      identity: ownIdentity(state, stored),
      coordinators: new KnownCoordinators({ url, hasPinnedAuthority: false }),
      connectTimeoutSeconds: 60,
      spool: { folder: join(state, 'spool'), maxBytes: 1024 * 1024, drainBytesPerSecond: 1024 },
      health: createHealth(logger),
      nudge: new Nudge(),
      logger,
    })
    const services = [
      announceService({
        uplink,
        describe: () => ({ ...announce(id), verbs: verbs.map(toVerbFacts) }),
        intervalSeconds: 3600,
        onChange: () => () => {},
        logger,
      }),
      commandsService({
        cellId: id,
        uplink,
        file:
          options.journal === 'disk'
            ? openJournalFile(join(state, 'journal'))
            : createMemoryJournal(),
        signer: createSigner(privateKey),
        listTrustedKeys: () => [options.coordinatorKey],
        verbs,
        clock,
        now: Date.now,
        nowMs: () => performance.now(),
        logger,
      }),
      uplink,
    ]
    for (const service of services) service.start({ signal: stop.signal, fail }).catch(fail)
  }
  process.once('disconnect', () => {
    rmSync(options.folder, { recursive: true, force: true })
    process.exit()
  })
}

process.once('message', options => startCells(options as BenchCellsOptions))
