import {
  detailsOf,
  type ErrorCode,
  exitCode,
  isErrorCode,
  ShoalError,
} from '../../shared/errors.ts'
import { lookUntil } from '../../shared/look-until.ts'
import type { PrintableRows } from '../../shared/print.ts'
import { isOpenState } from '../../shared/success-rule.ts'
import { escapeHidden } from '../../shared/visible.ts'
import type { Wait } from '../../shared/wait.ts'
import { addPursuit } from './add-pursuit.ts'
import { GuidedError } from './describe-failure.ts'
import type { DescribedOperation } from './document.ts'
import type { KnownAnswer, ModelAnswer } from './known-answer.ts'
import { pullPursuit } from './pull-pursuit.ts'
import { exitOfCommand, type SentCommand, waitForCommand } from './sent-command.ts'
import type { OpenSession } from './session.ts'

/** Work that continues after the answer and can be waited for. */
export interface Pursuit {
  /** Display name, such as `task task_1`. */
  name: string
  /** The command that looks at it later. */
  later: string
  /** Reader of the state; `waitedMs` is the time since the first look, in milliseconds. */
  look: (waitedMs: number) => Promise<State>
}

interface State {
  /** Exit code at the end; undefined while the work continues. */
  exit: number | undefined
  text: string
  percent: number | null
  answer: PrintableRows
  /** What to do next. */
  hint?: string | undefined
}

/** Outcome of the work and the exit code for it. */
interface Followed {
  answer: PrintableRows
  exit: number
  hint?: string | undefined
}

const LOOK_MS = 1000

/** Answers for which people wait unless they say otherwise. */
const AWAITED = ['model_add', 'model_pull']

/** Answers after which a wait is short, or waits for people. */
const ENDED = ['estop', 'gate_request', 'model_command']

/** Tells whether a command waits unless `--no-wait` is given. */
export const waitsByDefault = ({ answers }: Pick<DescribedOperation, 'answers'>): boolean =>
  answers !== undefined && AWAITED.includes(answers.kind)

/** True for operations that may take long: tasks, commands to cells, and loading of models. */
export const mayTakeLong = ({
  mode,
  answers,
}: Pick<DescribedOperation, 'answers' | 'mode'>): boolean =>
  mode === 'task' || (answers !== undefined && !ENDED.includes(answers.kind))

interface FollowOptions {
  signal: AbortSignal
  wait?: Wait
  /** Monotonic clock in milliseconds. */
  nowMs?: () => number
}

type Follower = Pick<OpenSession, 'api' | 'progress'>

/**
 * Waits for the work that an answer has started; undefined when there is none. Throws
 * `client_closed` when interrupted: the work continues.
 */
export const followWork = async (
  session: Follower,
  known: KnownAnswer,
  { signal, wait, nowMs }: FollowOptions,
): Promise<Followed | undefined> => {
  const pursuit = pursuitOf(session, known)
  if (pursuit === undefined) return undefined
  const look = async (waitedMs: number): Promise<Followed | undefined> => {
    const { exit, text, percent, answer, hint } = await pursuit.look(waitedMs)
    if (exit !== undefined) return { answer, exit, hint }
    session.progress.show(`${pursuit.name}: ${escapeHidden(text)}`, percent)
    return undefined
  }
  const forever = { everyMs: LOOK_MS, timeoutMs: Number.POSITIVE_INFINITY }
  try {
    const followed = await lookUntil(look, { ...forever, signal, wait, nowMs })
    if (followed === undefined) throw describeRunning(pursuit)
    return followed
  } catch (error) {
    throw error instanceof GuidedError ? error : describeLost(error, pursuit)
  } finally {
    session.progress.clear()
  }
}

const describeRunning = ({ name, later }: Pursuit): ShoalError =>
  new GuidedError('client_closed', `${name} is still running`, `check later with: ${later}`)

/** Returns the error of a failed wait: the outcome of the work is not known. */
const describeLost = (error: unknown, { name, later }: Pursuit): unknown =>
  error instanceof ShoalError
    ? new GuidedError(
        error.code,
        `${error.message}; ${name} may still be running`,
        `check later with: ${later}`,
        { ...detailsOf(error), cause: error },
      )
    : error

const pursuitOf = (session: Follower, known: KnownAnswer): Pursuit | undefined => {
  switch (known.kind) {
    case 'model_pull':
      return pullPursuit(session, known.value)
    case 'model_add':
      return addPursuit(session, known.value)
    case 'begun_task':
      return taskPursuit(session, known.value.task_id)
    case 'task':
      return taskPursuit(session, known.value.id)
    case 'command':
    case 'device_command':
      return commandPursuit(session, known.value)
    case 'model_command':
      return modelCommandPursuit(session, known.value)
    case 'model_load':
      return known.value.state === 'ready' ? undefined : modelPursuit(session, known.value)
    default:
      return undefined
  }
}

const modelCommandPursuit = (
  session: Follower,
  { command_id, command_state }: ModelAnswer,
): Pursuit | undefined =>
  isOpenState(command_state) ? commandPursuit(session, { id: command_id }) : undefined

interface TaskView {
  state: string
  message: string | null
  details: { progress_percent?: unknown; code?: unknown } | null
}

/** States that end the wait, with their error; a state that needs people ends it too. */
const TASK_ENDS: Record<string, ErrorCode | undefined> = {
  failed: 'internal',
  rejected: 'forbidden',
  canceled: 'client_closed',
  'input-required': 'invalid_request',
  'auth-required': 'client_closed',
}

const taskExit = ({ state, details }: TaskView): number | undefined => {
  if (state === 'completed') return 0
  const end = TASK_ENDS[state]
  if (end === undefined) return undefined
  return exitCode(state === 'failed' && isErrorCode(details?.code) ? details.code : end)
}

const taskPursuit = ({ api }: Follower, id: string): Pursuit => ({
  name: `task ${escapeHidden(id)}`,
  later: `shoal tasks show ${escapeHidden(id)} --wait`,
  look: async () => {
    const task = (await api.get(`/v1/tasks/${encodeURIComponent(id)}`)) as TaskView & PrintableRows
    const percent = task.details?.progress_percent
    return {
      exit: taskExit(task),
      text: task.message === null ? task.state : `${task.state}, ${task.message}`,
      percent: typeof percent === 'number' ? percent : null,
      answer: task,
    }
  },
})

const commandPursuit = ({ api }: Follower, sent: Pick<SentCommand, 'id'>): Pursuit => ({
  name: `command ${escapeHidden(sent.id)}`,
  later: waitForCommand(sent),
  look: async () => {
    const path = `/v1/commands/${encodeURIComponent(sent.id)}`
    const command = (await api.get(path)) as SentCommand & PrintableRows
    return {
      exit: exitOfCommand(command),
      text: command.state,
      percent: command.progress?.percent ?? null,
      answer: command,
    }
  },
})

interface CellView {
  presence: string
  engines: {
    models: string[]
    state: string
    phase?: string
    progress_percent?: number
    reason?: string
  }[]
}

const LOST = ['dead', 'stopped', 'revoked', 'quarantined']
/** Time in which a reading may still show a failure from before the call: one arrives every few seconds. */
const OLD_MS = 15_000

const modelPursuit = (
  { api }: Follower,
  { cell_id: cellId, model }: Pick<ModelAnswer, 'cell_id' | 'model'>,
): Pursuit => {
  let began = false
  return {
    name: `${escapeHidden(model)} on ${escapeHidden(cellId)}`,
    later: `shoal cells show ${escapeHidden(cellId)}`,
    look: async waitedMs => {
      const path = `/v1/cells/${encodeURIComponent(cellId)}`
      const { presence, engines } = (await api.get(path)) as CellView
      const engine = engines.find(({ models }) => models.includes(model))
      const { state = null, phase, reason = null, progress_percent = null } = engine ?? {}
      began ||= state === 'loading'
      const failed = state === 'failed' && (began || waitedMs >= OLD_MS)
      return {
        exit: state === 'ready' ? 0 : failed || LOST.includes(presence) ? UNAVAILABLE : undefined,
        text: `${phase ?? state ?? presence}${reason === null ? '' : `, ${reason}`}`,
        percent: progress_percent,
        answer: { cell_id: cellId, model, state, presence, reason },
      }
    },
  }
}

const UNAVAILABLE = exitCode('cell_unavailable')
