import type { Command } from 'commander'
import { exitCode, ShoalError } from '../../shared/errors.ts'
import { formatOutput, terminalWidth } from '../../shared/print.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { examine, type Finding, type Look, type Patient } from './doctor-checks.ts'
import { nextStep } from './next-step.ts'
import type { Environment, Options } from './options.ts'
import { type OpenSession, openSession } from './session.ts'
import { daysLeft } from './trust.ts'

/** `shoal doctor`: looks at everything between here and the service, and changes nothing. */
export const addDoctor = (program: Command, env: Environment): void => {
  program
    .command('doctor')
    .description('look at everything between here and the service, and say what to do')
    .action(async () => {
      const options = program.opts<Options>()
      const say = (text: string): void => void process.stdout.write(text)
      const json = options.format === 'json'
      const columns = terminalWidth(process.stdout)
      process.exitCode = await doctor(findings(options, env), json, say, columns)
    })
}

/** Code 0 when nothing is broken, else the one of the first thing that is. */
export const doctor = async (
  found: AsyncIterable<Finding>,
  json: boolean,
  say: (text: string) => void,
  columns = Number.POSITIVE_INFINITY,
): Promise<number> => {
  const checks: Finding[] = []
  for await (const finding of found) {
    checks.push(finding)
    if (!json) say(line(finding, columns))
  }
  const broken = checks.find(({ state }) => state === 'fail')
  const healthy = broken === undefined
  if (json) {
    const shown = checks.map(({ code, ...rest }) => rest)
    say(formatOutput({ healthy, checks: shown }, 'json'))
  } else say(healthy ? 'Nothing is broken.\n' : 'Something is broken: see above.\n')
  return healthy ? 0 : exitCode(broken.code ?? 'coordinator_unavailable')
}

const MARGIN = 16

const line = ({ name, state, says, next }: Finding, columns: number): string => {
  const head = `${state.padEnd(4)}  ${name.padEnd(8)}  `
  const first = `${head}${wrapped(escapeHidden(says), columns, MARGIN)}\n`
  if (next === undefined) return first
  return `${first}${''.padEnd(MARGIN)}-> ${wrapped(escapeHidden(next), columns, MARGIN + 3)}\n`
}

/** On several lines where one does not hold it, all but the first this far in. */
const wrapped = (text: string, columns: number, margin: number): string => {
  const width = Math.max(20, columns - margin - 1)
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join(`\n${''.padEnd(margin)}`)
}

/** With settings that cannot be used there is nothing more to look at. */
async function* findings(options: Options, env: Environment): AsyncGenerator<Finding> {
  let session: OpenSession
  try {
    session = await openSession(options, env)
    new URL(session.settings.url)
  } catch (error) {
    const known = error instanceof ShoalError ? error : notAnAddress
    const step = nextStep(known)
    const next = step === undefined ? {} : { next: step }
    yield { name: 'settings', state: 'fail', says: known.message, ...next, code: known.code }
    return
  }
  yield* examine(patientOf(session))
}

const notAnAddress = new ShoalError(
  'config_invalid',
  'the address is none: give http:// or https://',
)

const ANSWER_MS = 10_000

const patientOf = ({ settings, operations }: OpenSession): Patient => ({
  settings,
  look: (path, key) => look(new URL(path, settings.url), key, settings.tenant),
  daysLeft: url => daysLeft(url, Date.now()),
  countCommands: async () => (await operations()).length,
})

const look = async (
  url: URL,
  key: string | undefined,
  tenant: string | undefined,
): Promise<Look> => {
  const before = Date.now()
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS),
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(key === undefined || tenant === undefined ? {} : { 'x-svc-tenant': tenant }),
    },
  })
  const at = (before + Date.now()) / 2
  const body: unknown = await response.json().catch(() => undefined)
  return { status: response.status, headers: response.headers, body, at }
}
