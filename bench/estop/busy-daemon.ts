import { join } from 'node:path'
import { pino } from 'pino'
import * as z from 'zod'
import { CoordinatorClock } from '../../daemon/commands/clock.ts'
import { CommandExecutor } from '../../daemon/commands/executor.ts'
import { CommandJournal } from '../../daemon/commands/journal.ts'
import { openJournalFile } from '../../daemon/commands/journal-file.ts'
import type { Verb } from '../../daemon/commands/verb.ts'
import { CellEstop } from '../../daemon/estop/cell-estop.ts'
import { EstopLatch } from '../../daemon/estop/latch.ts'
import { openLatchFile } from '../../daemon/estop/latch-file.ts'
import { newId } from '../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { type Ack, FINAL_STATES, signCommand } from '../../shared/wire/command.ts'
import { NOTHING_SEEN } from '../../shared/wire/device-outcome.ts'

const logger = pino({ level: 'silent' })
const CELL = newId('cell')

/** Times of one stop from the call on, in milliseconds. */
interface DaemonTimes {
  /** Every device was sent its stop, and every verb aborted. */
  stoppedMs: number
  /** The latch was on the disk. */
  latchedMs: number
  /** Every aborted command was journalled and acknowledged. */
  acknowledgedMs: number
}

/**
 * The executor and the e-stop of one daemon, with its journal and its latch on the disk, and a
 * running verb in every lane. Resolves with the times of each stop.
 */
export const measureDaemon = async (
  folder: string,
  lanes: number,
  rounds: number,
): Promise<DaemonTimes[]> => {
  const [coordinator, cell] = [generatePrivateKey(), generatePrivateKey()].map(createSigner)
  if (coordinator === undefined || cell === undefined) throw new TypeError('no keys')
  const ids = Array.from({ length: lanes }, (_, at) => `dev_${at}`)
  const journal = await CommandJournal.open(
    openJournalFile(join(folder, 'commands.journal')),
    Date.now,
  )
  const latch = await EstopLatch.open({ file: openLatchFile(folder), now: Date.now, logger })
  const estop = new CellEstop({ latch, now: Date.now, logger })
  const counts = { running: 0, stopped: 0, ended: 0 }
  estop.attach({
    cellId: CELL,
    devices: {
      listDevices: () =>
        ids.map(deviceId => ({
          deviceId,
          name: deviceId,
          site: null,
          isAvailable: true,
          atEstop: 'hold' as const,
        })),
      onChange: () => () => {},
      stopDevice: async () => {
        counts.stopped++
        return NOTHING_SEEN
      },
    },
  })
  const move: Verb = {
    verb: 'move',
    description: '',
    hazard: 'caution',
    timeout_seconds: 600,
    params: z.strictObject({}),
    plan: () => ({ operations: ['move'], bounds: {} }),
    run: (_part, { signal }) =>
      new Promise((_resolve, reject) => {
        counts.running++
        signal.addEventListener('abort', () => {
          counts.running--
          reject(new Error('aborted'))
        })
      }),
  }
  const acknowledge = ({ state }: Ack): void => {
    if (FINAL_STATES.includes(state)) counts.ended++
  }
  const executor = new CommandExecutor({
    cellId: CELL,
    signer: cell,
    listTrustedKeys: () => [coordinator.publicKey],
    verbs: [],
    devices: { findName: id => id, findVerb: () => move },
    findStop: id => estop.findStop(id),
    journal,
    clock: new CoordinatorClock(() => performance.now()),
    now: Date.now,
    nowMs: () => performance.now(),
    acknowledge,
    report: () => {},
    signal: new AbortController().signal,
    logger,
  })
  estop.onEngage(() => executor.endStopped())
  let fence = 0
  const createMove = (deviceId: string) => {
    const now = Date.now()
    const times = { issued_at: now, not_before: now, expires_at: now + 600_000 }
    const body = { id: newId('cmd'), cell_id: CELL, device_id: deviceId, verb: 'move', params: {} }
    const rest = { hazard: 'caution', mode: 'live', fence: ++fence } as const
    return signCommand({ ...body, ...times, ...rest }, coordinator)
  }
  const times: DaemonTimes[] = []
  for (let round = 0; round < rounds; round++) {
    await Promise.all(ids.map(id => executor.receive(createMove(id))))
    while (counts.running < lanes) await new Promise(setImmediate)
    Object.assign(counts, { stopped: 0, ended: 0 })
    const startedMs = performance.now()
    const latched = estop.engage({ reason: 'bench', by: 'local:bench' })
    if (counts.stopped < lanes || counts.running > 0) throw new Error('a device was not stopped')
    const stoppedMs = performance.now() - startedMs
    await latched
    const latchedMs = performance.now() - startedMs
    await executor.waitUntilIdle()
    if (counts.ended < lanes) throw new Error('a command was not acknowledged')
    times.push({ stoppedMs, latchedMs, acknowledgedMs: performance.now() - startedMs })
    await estop.release({ reason: 'bench', by: 'local:bench' })
  }
  await journal.close()
  return times
}
