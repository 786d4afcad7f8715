import { type ErrorCode, exitCode, isErrorCode, type ShoalError } from '../../shared/errors.ts'
import type { Printable } from '../../shared/print.ts'
import { escapeHidden } from '../../shared/visible.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { DescribedOperation } from './document.ts'
import type { OpenSession } from './session.ts'
import { Guided } from './tell.ts'

/** What the answer to a call leaves to be waited for. */
interface Pursuit {
  /** For people: `task task_1`. */
  name: string
  /** The command that looks at it later. */
  later: string
  look: () => Promise<State>
}

interface State {
  /** The exit code of its end; undefined while it goes on. */
  exit: number | undefined
  text: string
  percent: number | null
  answer: Printable
}

/** How it ended, and what the program ends with. */
export interface Followed {
  answer: Printable
  exit: number
}

const LOOK_MS = 1000

/** True for what may take long: tasks, and models that are loaded. */
export const mayTakeLong = ({ mode, method, path }: DescribedOperation): boolean =>
  mode === 'task' ||
  (method === 'GET' && /^\/v1\/tasks\/\{\w+\}$/.test(path)) ||
  /\/models\/\{model\}\/(load|pin)$/.test(path)

type Follower = Pick<OpenSession, 'api' | 'progress'>

/**
 * Waits for what an answer has begun; undefined when there is nothing to wait for. Throws
 * `client_closed` after an interruption: it goes on without us.
 */
export const follow = async (
  session: Follower,
  answer: Printable,
  { signal, wait = realWait }: { signal: AbortSignal; wait?: Wait },
): Promise<Followed | undefined> => {
  const pursuit = pursuitOf(session, answer as Record<string, unknown>)
  if (pursuit === undefined) return undefined
  try {
    for (;;) {
      const { exit, text, percent, answer } = await pursuit.look()
      if (exit !== undefined) return { answer, exit }
      session.progress.show(`${pursuit.name}: ${escapeHidden(text)}`, percent)
      if (!signal.aborted) await wait(LOOK_MS, signal)
      if (signal.aborted) throw left(pursuit)
    }
  } finally {
    session.progress.clear()
  }
}

const left = ({ name, later }: Pursuit): ShoalError =>
  new Guided('client_closed', `${name} goes on`, `come back with: ${later}`)

const pursuitOf = (session: Follower, answer: Record<string, unknown>): Pursuit | undefined => {
  const { task_id, id, state, cell_id, model } = answer
  if (typeof task_id === 'string') return ofTask(session, task_id)
  if (typeof id === 'string' && typeof state === 'string' && 'result' in answer)
    return ofTask(session, id)
  if (typeof cell_id === 'string' && typeof model === 'string' && state !== 'ready')
    return ofModel(session, cell_id, model)
  return undefined
}

interface TaskView {
  state: string
  message: string | null
  details: { progress_percent?: unknown; code?: unknown } | null
}

/** What people have to do first ends the waiting as well. */
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

const ofTask = ({ api }: Follower, id: string): Pursuit => ({
  name: `task ${escapeHidden(id)}`,
  later: `shoal tasks show ${escapeHidden(id)} --wait`,
  look: async () => {
    const task = (await api.get(`/v1/tasks/${encodeURIComponent(id)}`)) as TaskView & Printable
    const percent = task.details?.progress_percent
    return {
      exit: taskExit(task),
      text: task.message === null ? task.state : `${task.state}, ${task.message}`,
      percent: typeof percent === 'number' ? percent : null,
      answer: task,
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

const LOST = ['dead', 'revoked', 'quarantined']
/** A sample of before the call may still say that it failed: one comes every few seconds. */
const OLD_LOOKS = 15

const ofModel = ({ api }: Follower, cellId: string, model: string): Pursuit => {
  let looks = 0
  let began = false
  return {
    name: `${escapeHidden(model)} on ${escapeHidden(cellId)}`,
    later: `shoal cells show ${escapeHidden(cellId)}`,
    look: async () => {
      const path = `/v1/cells/${encodeURIComponent(cellId)}`
      const { presence, engines } = (await api.get(path)) as CellView
      const engine = engines.find(({ models }) => models.includes(model))
      const { state = null, phase, reason = null, progress_percent = null } = engine ?? {}
      looks += 1
      began ||= state === 'loading'
      const failed = state === 'failed' && (began || looks > OLD_LOOKS)
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
