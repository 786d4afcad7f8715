import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import type { PrintableRows } from '../../shared/print.ts'
import type { CliSession, RunWithSession } from './session.ts'

/** A session of an agent, as `GET /v1/sessions` has it. */
interface AgentSession {
  session_id: string
  agent_id: string
  step: string
}

interface Start {
  scope: string
  task?: string
  role?: string
  agent: string
}

interface Closeout {
  evidence: string
  session?: string
  agent: string
}

/**
 * Adds `shoal session start` and `closeout`: they combine the steps of an agent session for
 * interactive use. The single steps are generated from the API.
 */
export const addAgentSession = (
  program: Command,
  withSession: RunWithSession,
  person = loginName(),
): void => {
  const group = program.command('sessions')
  group
    .command('start')
    .description('start a session: dock, read the briefing and claim a scope')
    .requiredOption('--scope <scope>', 'scope to work on, claimed for this session alone')
    .option('--task <id>', 'task that the work belongs to')
    .option('--role <role>', 'role of the agent, coding by default')
    .option('--agent <name>', 'your name', person)
    .action((start: Start) => withSession(session => startSession(session, start)))
  group
    .command('closeout')
    .description('end a session: report the work and undock')
    .requiredOption('--evidence <text>', 'summary of the work')
    .option('--session <id>', 'session to end, when several are live')
    .option('--agent <name>', 'your name', person)
    .action((closeout: Closeout) => withSession(session => closeSession(session, closeout)))
}

/** Prints the session with its scope. When the scope is not free, nothing stays behind. */
export const startSession = async (
  { api, print }: CliSession,
  { scope, task, role, agent }: Start,
): Promise<void> => {
  const docked = (await api.call({
    method: 'POST',
    path: '/v1/sessions',
    body: { agent_id: agent, agent_type: 'human', ...(role === undefined ? {} : { role }) },
  })) as AgentSession
  const step = stepOf(api, docked.session_id)
  try {
    await step('brief')
    const body = { scope, ...(task === undefined ? {} : { task_id: task }) }
    print((await step('claim', body)) as PrintableRows)
  } catch (error) {
    await step('undock', { outcome: 'abandoned' }).catch(() => {})
    throw error
  }
}

/** Action checked before a session whose steps only report. */
const REPORT = { action_type: 'session.report' }

/** Closes the session and prints it. Throws when there is none, or more than one. */
export const closeSession = async (
  { api, print }: CliSession,
  { evidence, session: id, agent }: Closeout,
): Promise<void> => {
  const live = id === undefined ? await onlySession(api, agent) : await fetchSession(api, id)
  const step = stepOf(api, live.session_id)
  if (live.step === 'claim') await requirePassed(await step('check', REPORT))
  await step('evidence', { summary: evidence })
  print((await step('undock', { outcome: 'done' })) as PrintableRows)
}

const stepOf =
  (api: CliSession['api'], id: string) =>
  (step: string, body: object = {}): Promise<unknown> =>
    api.call({ method: 'POST', path: `${pathOf(id)}/${step}`, body })

const pathOf = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}`

const fetchSession = async (api: CliSession['api'], id: string): Promise<AgentSession> =>
  (await api.call({ method: 'GET', path: pathOf(id) })) as AgentSession

const onlySession = async (api: CliSession['api'], agent: string): Promise<AgentSession> => {
  const query = { live: true, agent_id: agent, limit: 10 }
  const answer = await api.call({ method: 'GET', path: '/v1/sessions', query })
  const { sessions } = answer as { sessions: AgentSession[] }
  const [only] = sessions
  if (only === undefined)
    throw new ShoalError(
      'not_found',
      `${agent} has no live session of yours; begin with shoal session start --scope`,
    )
  if (sessions.length > 1) {
    const ids = sessions.map(({ session_id }) => session_id).join(', ')
    throw new ShoalError('conflict', `several sessions are live; choose one with --session: ${ids}`)
  }
  return only
}

const requirePassed = async (answer: unknown): Promise<void> => {
  const { status, next } = answer as { status: string; next: string }
  if (status !== 'passed') throw new ShoalError('conflict', `the check is ${status}: ${next}`)
}

/** Login name of the current user; empty where the system has none. */
const loginName = (): string => {
  try {
    return userInfo().username
  } catch {
    return 'human'
  }
}
