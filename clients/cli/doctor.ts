import type { Command } from 'commander'
import { exitCode, ShoalError } from '../../shared/errors.ts'
import { formatOutput, terminalWidth } from '../../shared/print.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { type DoctorSubject, examineConnection } from './doctor-checks.ts'
import type { CoordinatorReply, DoctorResult } from './doctor-result.ts'
import { nextStep } from './next-step.ts'
import { type Environment, type GlobalOptions, limitToLines } from './options.ts'
import { type OpenSession, openSession } from './session.ts'
import { daysLeft } from './trust.ts'

/** `shoal doctor`: looks at everything between here and the service, and changes nothing. */
export const addDoctor = (program: Command, env: Environment): void => {
  const command = program
    .command('doctor')
    .description('check the connection to the service and suggest remedies')
    .action(async () => {
      const options = program.opts<GlobalOptions>()
      const say = (text: string): void => void process.stdout.write(text)
      const json = options.format === 'json'
      const columns = terminalWidth(process.stdout)
      process.exitCode = await doctor(findings(options, env), json, say, columns)
    })
  limitToLines(command)
}

/** Code 0 when nothing is broken, else the one of the first thing that is. */
export const doctor = async (
  found: AsyncIterable<DoctorResult>,
  json: boolean,
  say: (text: string) => void,
  columns = Number.POSITIVE_INFINITY,
): Promise<number> => {
  const checks: DoctorResult[] = []
  for await (const finding of found) {
    checks.push(finding)
    if (!json) say(line(finding, columns))
  }
  const broken = checks.find(({ state }) => state === 'fail')
  const healthy = broken === undefined
  if (json) {
    const shown = checks.map(({ code, ...rest }) => rest)
    say(formatOutput({ healthy, checks: shown }, 'json'))
  } else say(`${summarize(checks)}\n`)
  return healthy ? 0 : exitCode(broken.code ?? 'coordinator_unavailable')
}

const summarize = (checks: readonly DoctorResult[]): string => {
  if (checks.some(({ state }) => state === 'fail')) return 'Problems found: see above.'
  const warnings = checks.filter(({ state }) => state === 'warn').length
  if (warnings === 0) return 'No problems found.'
  return `Nothing is broken, but there ${warnings === 1 ? 'is 1 warning' : `are ${warnings} warnings`}: see above.`
}

const MARGIN = 16

const line = ({ name, state, says, next }: DoctorResult, columns: number): string => {
  const head = `${state.padEnd(4)}  ${name.padEnd(8)}  `
  const first = `${head}${wrapText(escapeHidden(says), columns, MARGIN)}\n`
  if (next === undefined) return first
  return `${first}${''.padEnd(MARGIN)}-> ${wrapText(escapeHidden(next), columns, MARGIN + 3)}\n`
}

/** Wraps a text at `columns`, with all lines but the first indented by `margin`. */
const wrapText = (text: string, columns: number, margin: number): string => {
  const width = Math.max(20, columns - margin - 1)
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join(`\n${''.padEnd(margin)}`)
}

/** Runs the checks in order; unusable settings end the examination. */
async function* findings(options: GlobalOptions, env: Environment): AsyncGenerator<DoctorResult> {
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
  yield* examineConnection(patientOf(session))
}

const notAnAddress = new ShoalError(
  'config_invalid',
  'it is not an address: use http:// or https://',
)

/** Longer than `fetch` waits for a connection, so that its end means a server that is silent. */
const ANSWER_MS = 12_000

const SILENT = 'UND_ERR_HEADERS_TIMEOUT'

const nameSilence = (error: Error): never => {
  throw error.name === 'TimeoutError'
    ? Object.assign(new Error(error.message), { code: SILENT })
    : error
}

const patientOf = ({ settings, operations }: OpenSession): DoctorSubject => ({
  settings,
  look: (path, key) => look(new URL(path, settings.url), key, settings.tenant),
  daysLeft: url => daysLeft(url, Date.now()),
  countCommands: async () => (await operations()).length,
})

const look = async (
  url: URL,
  key: string | undefined,
  tenant: string | undefined,
): Promise<CoordinatorReply> => {
  const before = Date.now()
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_MS),
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(key === undefined || tenant === undefined ? {} : { 'x-svc-tenant': tenant }),
    },
  }).catch(nameSilence)
  const at = (before + Date.now()) / 2
  const body: unknown = await response.json().catch(() => undefined)
  return { status: response.status, headers: response.headers, body, at }
}
