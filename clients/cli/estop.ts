import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import type { LiveTerminal } from './live-screen.ts'
import { runOperation } from './run-operation.ts'
import type { OpenSession, RunWithSession } from './session.ts'

interface Reason {
  reason?: string
}

/** Adds `shoal estop`: `shoal devices estop` as it is typed in an emergency. */
export const addEstop = (
  program: Command,
  run: RunWithSession,
  openTerminal: () => LiveTerminal,
): void => {
  program
    .command('estop')
    .description('engage an e-stop at once: for a device, a cell or a site, or for everything')
    .argument('[target]', 'name or id of devices, a cell or a site; without one, everything stops')
    .option('--reason <text>', 'for the people who see the stop')
    .action((target: string | undefined, reason: Reason) => {
      const isAll = target === undefined || target === 'all'
      const fields = { ...(isAll ? { all: true } : { target }), ...reason }
      return run(session => runListed(session, 'devices estop', fields, openTerminal))
    })
}

/** Adds `shoal release`: `shoal devices release` with the id as an argument. */
export const addRelease = (
  program: Command,
  run: RunWithSession,
  openTerminal: () => LiveTerminal,
): void => {
  program
    .command('release')
    .description('release an e-stop; only a person can')
    .argument('<estop_id>', 'the e-stop to release; shoal devices estops lists them')
    .option('--reason <text>', 'why it is safe to release it')
    .action((estop_id: string, reason: Reason) =>
      run(session => runListed(session, 'devices release', { estop_id, ...reason }, openTerminal)),
    )
}

/** Runs an operation of the API document by the words of its command. */
const runListed = async (
  session: OpenSession,
  words: string,
  fields: Record<string, unknown>,
  openTerminal: () => LiveTerminal,
): Promise<void> => {
  const operation = (await session.operations()).find(each => each.words.join(' ') === words)
  if (operation === undefined)
    throw new ShoalError('not_found', `this coordinator has no command shoal ${words}`)
  const input = { inPath: {}, fields, upload: undefined, callKey: randomUUID() }
  return runOperation(session, operation, input, { wait: false, watch: false }, openTerminal)
}
