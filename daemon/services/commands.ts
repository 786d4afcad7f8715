import type { Logger } from 'pino'
import type { Signer } from '../../shared/signing.ts'
import type { Ack } from '../../shared/wire/command.ts'
import type { CoordinatorClock } from '../commands/clock.ts'
import { CommandExecutor } from '../commands/executor.ts'
import { CommandJournal, type JournalFile } from '../commands/journal.ts'
import type { Verb } from '../commands/verb.ts'
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
  clock: Pick<CoordinatorClock, 'bounds'>
  /** Unix milliseconds. */
  now: () => number
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
  logger: Logger
}

/** Executes the coordinator's commands and repeats their results until they are acknowledged. */
export const commandsService = (options: CommandsOptions): Service => ({
  name: 'commands',
  start: async ({ signal }) => {
    const { uplink, file, now } = options
    const unconfirmed = new Map<string, Ack>()

    const tell = (ack: Ack): void => {
      const { command_id } = ack
      uplink.deliver('ack', ack, command_id).then(
        () => {
          if (unconfirmed.get(command_id) === ack) unconfirmed.delete(command_id)
        },
        // Neither the coordinator nor the disk accepted it: it is published after the next connect
        () => {},
      )
    }
    const acknowledge = (ack: Ack): void => {
      unconfirmed.set(ack.command_id, ack)
      tell(ack)
    }

    /** Progress that waited for a connection could overtake the end: without one it is dropped. */
    const report = (ack: Ack): void => {
      uplink.publish('ack', ack, ack.command_id).catch(() => {})
    }

    const open = async () => {
      const journal = await CommandJournal.open(file, now)
      const executor = new CommandExecutor({ ...options, journal, acknowledge, report, signal })
      await executor.recover()
      return { journal, executor }
    }
    const opened = open()
    const obey = async (body: unknown): Promise<void> => (await opened).executor.receive(body)
    const undo = [
      // Commands that arrive before the journal is open wait for it
      uplink.on('cmd', ({ body }) => void obey(body).catch(() => {})),
      uplink.onReady(() => {
        for (const ack of unconfirmed.values()) tell(ack)
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
