import { randomInt, randomUUID } from 'node:crypto'
import { send } from './recorder.ts'
import type { ReplicaSet } from './replica-set.ts'

/** One kind of work, done again and again while coordinators are killed, and judged at the end. */
export interface AcknowledgedWork {
  name: string
  /** Does the work once; a request without an answer is repeated unless the signal has aborted. */
  run: (signal: AbortSignal) => Promise<void>
  /** Reads what the store has of it. */
  judge: () => Promise<WorkVerdict>
}

export interface WorkVerdict {
  acknowledged: number
  lost: number
  twice: number
}

type Work = (set: ReplicaSet) => AcknowledgedWork

const GATES = [
  ...['gate.minor-release-approve', 'gate.production-deploy', 'gate.customer-go-live-approve'],
  ...['gate.campaign-stage-advance', 'gate.content-publish-social', 'gate.avv-signature-confirm'],
]
/** Further along is higher; what was acknowledged may not be less far afterwards. */
const PROGRESS: Record<string, number> = { pending: 1, approved: 2, consumed: 3 }

/** Approvals are requested, given and used: no state goes back, and none is used twice. */
export const runApprovals: Work = set => {
  const states = new Map<string, string>()
  const uses = new Map<string, number>()
  const post = async (key: string, path: string, body: object) => {
    const answer = await send(`${anyUrl(set)}/v1/gates${path}`, key, { body })
    if (!isOk(answer)) return undefined
    const { id, state } = answer.body as { id: string; state: string }
    states.set(id, state)
    return id
  }
  const { operator, approver_a } = set.keys
  return {
    name: 'approvals',
    run: async () => {
      const plan = { nonce: Math.random() }
      const gate = GATES[randomInt(GATES.length)]
      const id = await post(operator, `/${gate}/requests`, { plan, summary: 'x' })
      if (id === undefined || !(await post(approver_a, `/requests/${id}/approve`, {}))) return
      const tries = [1, 2].map(() => post(operator, `/requests/${id}/consume`, { plan }))
      const used = (await Promise.all(tries)).filter(one => one !== undefined).length
      uses.set(id, (uses.get(id) ?? 0) + used)
    },
    judge: async () => {
      const query = set.store.ledger.read.selectFrom('gate_requests').select(['id', 'state'])
      const stored = new Map((await query.execute()).map(({ id, state }) => [id, state]))
      const progressOf = (state = ''): number => PROGRESS[state] ?? 0
      const lost = [...states].filter(
        ([id, state]) => progressOf(stored.get(id)) < progressOf(state),
      )
      const twice = [...uses.values()].filter(count => count > 1).length
      return { acknowledged: states.size, lost: lost.length, twice }
    },
  }
}

/** Requests an approval and gives it; undefined unless both were acknowledged. */
export const approveAny = async (set: ReplicaSet): Promise<string | undefined> => {
  const { operator, approver_a } = set.keys
  const gates = `${anyUrl(set)}/v1/gates`
  const asked = await send(`${gates}/${GATES[randomInt(GATES.length)]}/requests`, operator, {
    body: { plan: { nonce: Math.random() }, summary: 'x' },
  })
  const { id } = asked.body as { id: string }
  if (!isOk(asked)) return undefined
  const given = await send(`${gates}/requests/${id}/approve`, approver_a, { body: {} })
  return isOk(given) ? id : undefined
}

/** Messages of a conversation are repeated with their key until they are acknowledged. */
export const runConversations: Work = set => {
  const acknowledged: string[] = []
  const people = [{ id: 'ada', type: 'person', name: 'Ada' }]
  let conversation: Promise<string | undefined> | undefined
  const create = async () => {
    const url = `${anyUrl(set)}/a2a/conversations`
    const { body } = await send(url, set.keys.enterprise, { body: { participants: people } })
    return typeof body.id === 'string' ? body.id : undefined
  }
  return {
    name: 'conversations',
    run: async signal => {
      conversation ??= create()
      const id = await conversation
      if (id === undefined) conversation = undefined
      const content = randomUUID()
      const headers = { 'idempotency-key': content }
      while (!signal.aborted && id !== undefined) {
        const url = `${anyUrl(set)}/a2a/conversations/${id}/message`
        const answer = await send(url, set.keys.enterprise, { body: { content }, headers })
        if (isOk(answer)) return void acknowledged.push(content)
        await rest()
      }
    },
    judge: async () => {
      const query = set.store.ledger.read.selectFrom('conversation_messages').selectAll()
      return countMarks(
        acknowledged,
        (await query.execute()).map(row => JSON.stringify(row)),
      )
    },
  }
}

/** Messages to agents are repeated with their id until a task is acknowledged. */
export const runTasks: Work = set => {
  const acknowledged: string[] = []
  return {
    name: 'tasks',
    run: async signal => {
      const messageId = randomUUID()
      const parts = [{ data: { skill: 'skill-stats', input: {} } }]
      const params = { message: { messageId, role: 'ROLE_USER', parts } }
      const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params }
      while (!signal.aborted) {
        const answer = await send(`${anyUrl(set)}/a2a`, set.keys.operator, { body })
        if (isOk(answer) && 'result' in answer.body) return void acknowledged.push(messageId)
        await rest()
      }
    },
    judge: async () => {
      const query = set.store.ledger.read.selectFrom('task_messages').select('message_id')
      return countMarks(
        acknowledged,
        (await query.execute()).map(row => row.message_id),
      )
    },
  }
}

const anyUrl = (set: ReplicaSet): string => set.replica(randomInt(set.replicas.length)).url
const isOk = ({ status }: { status: number }): boolean => status >= 200 && status < 300
const rest = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 50))

/** Each mark must be in exactly one of the stored texts. */
const countMarks = (marks: readonly string[], stored: readonly string[]): WorkVerdict => {
  const counts = marks.map(mark => stored.filter(text => text.includes(mark)).length)
  return {
    acknowledged: marks.length,
    lost: counts.filter(count => count === 0).length,
    twice: counts.filter(count => count > 1).length,
  }
}
