import type { Logger } from 'pino'
import type { Signer } from '../../shared/signing.ts'
import type { Ack } from '../../shared/wire/command.ts'
import type { CoordinatorClock } from '../commands/clock.ts'
import { CommandExecutor } from '../commands/executor.ts'
import { CommandJournal, type JournalFile } from '../commands/journal.ts'
import type { DeviceVerbs, Verb } from '../commands/verb.ts'
import type { CellEstop } from '../estop/cell-estop.ts'
import type { Service } from '../service.ts'
import type { Uplink } from '../uplink/uplink.ts'

interface CommandsOptions {
  cellId: string
  uplink: Pick<Uplink, 'on' | 'onReady' | 'deliver' | 'publish'>
  file: JournalFile
  signer: Signer
  /** Public keys of the coordinator that this cell has pinned. */
  listTrustedKeys: () => readonly string[]
  verbs: readonly Verb[]
  /** E-stop of the cell; without it no device is ever stopped. */
  estop?: Pick<CellEstop, 'findStop' | 'onEngage'>
  devices?: DeviceVerbs | undefined
  clock: Pick<CoordinatorClock, 'bounds'>
  /** Unix milliseconds. */
  now: () => number
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
  logger: Logger
}

interface UnconfirmedAck {
  ack: Ack
  /** False when neither a coordinator nor the disk has accepted it: it waits for a connection. */
  isUnderWay: boolean
}

/** Executes the coordinator's commands and repeats their results until they are acknowledged. */
export const commandsService = (options: CommandsOptions): Service => ({
  name: 'commands',
  start: async ({ signal }) => {
    const { uplink, file, now, estop } = options
    const unconfirmed = new Map<string, UnconfirmedAck>()

    const tell = (entry: UnconfirmedAck): void => {
      const { command_id } = entry.ack
      entry.isUnderWay = true
      uplink.deliver('ack', entry.ack, command_id).then(
        () => {
          if (unconfirmed.get(command_id) === entry) unconfirmed.delete(command_id)
        },
        () => {
          entry.isUnderWay = false
        },
      )
    }
    const acknowledge = (ack: Ack): void => {
      const entry = { ack, isUnderWay: true }
      unconfirmed.set(ack.command_id, entry)
      tell(entry)
    }

    /** Progress that waited for a connection could overtake the end: without one it is dropped. */
    const report = (ack: Ack): void => {
      uplink.publish('ack', ack, ack.command_id).catch(() => {})
    }

    const open = async () => {
      const journal = await CommandJournal.open(file, now)
      const executor = new CommandExecutor({
        ...options,
        findStop: estop && (deviceId => estop.findStop(deviceId)),
        journal,
        acknowledge,
        report,
        signal,
      })
      const off = estop?.onEngage(() => executor.endStopped())
      if (off) signal.addEventListener('abort', off)
      await executor.recover()
      return { journal, executor }
    }
    const opened = open()
    const obey = async (body: unknown): Promise<void> => (await opened).executor.receive(body)
    const undo = [
      // Commands that arrive before the journal is open wait for it
      uplink.on('cmd', ({ body }) => void obey(body).catch(() => {})),
      uplink.onReady(() => {
        for (const entry of unconfirmed.values()) if (!entry.isUnderWay) tell(entry)
      }),
    ]
    signal.addEventListener('abort', () => {
      for (const off of undo) off()
    })
    const { journal, executor } = await opened
    const close = () => executor.waitUntilIdle().finally(() => journal.close())
    if (signal.aborted) await close()
    else signal.addEventListener('abort', () => void close())
    for (const ack of executor.listRecentAcks()) acknowledge(ack)
  },
})
