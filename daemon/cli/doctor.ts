import { exitCode, ShoalError } from '../../shared/errors.ts'
import { DEFAULT_COORDINATOR_URL } from '../config.ts'
import type { CheckSubject, NamedCheckReport } from '../doctor/check.ts'
import { examineCell } from '../doctor/examine.ts'
import { readIdentity } from '../identity.ts'
import type { CommandContext, DaemonCommand } from './command.ts'
import { requireNoWords, takeFlags } from './flags.ts'
import { readSettings } from './settings.ts'

export const DOCTOR_HELP = {
  usage: 'shoald doctor [--format json]',
  summary: 'Checks this cell and suggests remedies; the daemon may be running.',
  flags: ['--format text|json   how to print; the exit code is 69 when something is broken'],
}

/** Code 0 when nothing is broken, else 69. It changes nothing, and the daemon may run meanwhile. */
export const doctorCommand: DaemonCommand = async context => {
  const { values, words, rest } = takeFlags(context.argv, ['format'], [])
  requireNoWords({ words }, DOCTOR_HELP.usage)
  const { format = 'text' } = values
  if (format !== 'text' && format !== 'json')
    throw new ShoalError('wrong_usage', `--format must be text or json, not ${format}`)
  const json = format === 'json'
  const found: NamedCheckReport[] = []
  for await (const checked of checks(context, rest)) {
    found.push(checked)
    if (!json) context.write(line(checked))
  }
  const healthy = found.every(({ state }) => state !== 'fail')
  if (json) context.write(`${JSON.stringify({ healthy, checks: found }, null, 2)}\n`)
  else context.write(healthy ? 'No problems found.\n' : 'Problems found: see above.\n')
  return healthy ? 0 : exitCode('cell_unavailable')
}

/** Runs the checks; a missing configuration or a damaged identity ends them. */
async function* checks(context: CommandContext, argv: string[]): AsyncGenerator<NamedCheckReport> {
  let subject: CheckSubject
  try {
    const { config, file } = readSettings(context, argv)
    const identity = await readIdentity(config.state_dir)
    const url = config.coordinator.url ?? identity?.coordinator_url ?? DEFAULT_COORDINATOR_URL
    const { signal, env } = context
    const machine = {
      path: env.PATH,
      libraryPath: env.LD_LIBRARY_PATH,
      sysFolder: '/sys',
      now: Date.now,
    }
    subject = { config, identity, url, signal, ...machine }
    yield { name: 'configuration', state: 'ok', says: file ?? 'no file: defaults and flags' }
  } catch (error) {
    if (!(error instanceof ShoalError) || error.code === 'wrong_usage') throw error
    const [name, remedy] =
      error.code === 'config_invalid'
        ? ['configuration', 'correct it; the other checks need it']
        : ['identity', 'restore the file, or remove it and join again; the other checks need it']
    yield { name, state: 'fail', says: error.message, remedy }
    return
  }
  yield* examineCell(subject)
}

const line = ({ name, state, says, remedy }: NamedCheckReport): string => {
  const first = `${state.padEnd(5)} ${name.padEnd(14)} ${says}\n`
  return remedy === undefined ? first : `${first}${''.padEnd(21)}-> ${remedy}\n`
}
