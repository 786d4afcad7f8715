import { type Runtime, type Wait, waitBy } from '../../../shared/runtime.ts'
import { type CommandRecord, isFinalCommandState } from './command.ts'
import type { Commands } from './commands.ts'

interface CommandEndOptions {
  /** Time limit for the command to end; after it, the latest known record is returned. */
  timeoutMs: number
  signal: AbortSignal
  runtime: Pick<Runtime, 'nowMs' | 'setTimeout'>
  wait?: Wait
}

/**
 * Polling interval. Polling is cheap because open commands are in memory; where several coordinators
 * share them, one query at a time serves all who wait.
 */
const LOOK_MS = 25

/** The command when it has ended, or as it stands when the time is up or the signal aborts. */
export const commandEnd = async (
  commands: Pick<Commands, 'get'>,
  made: CommandRecord,
  { timeoutMs, signal, runtime, wait = waitBy(runtime) }: CommandEndOptions,
): Promise<CommandRecord> => {
  let record = made
  let waitedMs = 0
  while (!isFinalCommandState(record.state) && waitedMs < timeoutMs) {
    const lookedAtMs = runtime.nowMs()
    await wait(LOOK_MS, signal)
    if (signal.aborted) break
    record = (await commands.get(made.id)) ?? record
    // a busy machine takes longer than the wait
    waitedMs += Math.max(LOOK_MS, runtime.nowMs() - lookedAtMs)
  }
  return record
}
