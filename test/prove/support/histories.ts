import { randomInt } from 'node:crypto'
import { Keys } from '../../../coordinator/access/keys/keys.ts'
import { Recorder, send } from './recorder.ts'
import type { ReplicaSet } from './replica-set.ts'

/** Plays one part of a history; runs of many clients overlap. */
interface History {
  name: string
  play: () => Promise<void>
  recorder: Pick<
    Recorder<unknown, unknown, unknown>,
    'size' | 'answered' | 'countOutputs' | 'findFaults'
  >
}

/** Longest time until the other replicas see what one of them has written: a second for keys. */
const KEYS_STALE_MS = 1000
const BY = { actor: 'prove' }

const anyUrl = (set: ReplicaSet): string => set.replica(randomInt(set.replicas.length)).url

/** Undefined for an answer that says nothing about what was asked. */
const okOrRefused = ({ status }: { status: number }): 'ok' | 'refused' | undefined =>
  status === 0 || status >= 500 ? undefined : status < 300 ? 'ok' : 'refused'

type KeyState = 'absent' | 'live' | 'revoked'

/** A key works from its creation to its revocation, one second more or less. */
export const playKeys = (set: ReplicaSet): History => {
  const recorder = new Recorder<KeyState, 'create' | 'revoke' | 'use', 'ok' | 'refused'>({
    initial: 'absent',
    step: (state, input, output) => {
      if (input === 'create') return 'live'
      if (input === 'revoke') return state === 'live' ? 'revoked' : state
      return output === undefined || (output === 'ok') === (state === 'live') ? state : undefined
    },
  })
  const play = async (): Promise<void> => {
    const keys = new Keys({ store: set.store, logger: console })
    const person = { tenantId: 'demo', personId: 'demo_pro', tier: 'pro' } as const
    const { key, secret } = await keys.create(person, BY)
    keys.close()
    const common = { subject: key.id, outputOf: okOrRefused }
    const answered = async () => ({ status: 200, body: {} })
    await recorder.record({ ...common, input: 'create', perform: answered })
    const use = () =>
      recorder.record({
        ...common,
        input: 'use',
        staleMs: KEYS_STALE_MS,
        perform: () => send(`${anyUrl(set)}/v1/usage`, secret),
      })
    for (let round = 0; round < 4; round++) await Promise.all([use(), use(), use()])
    const revoke = recorder.record({
      ...common,
      input: 'revoke',
      perform: () =>
        send(`${anyUrl(set)}/v1/keys/${key.id}`, set.keys.operator, { method: 'DELETE' }),
    })
    await Promise.all([revoke, use(), use()])
    for (let round = 0; round < 4; round++) await Promise.all([use(), use(), use()])
    await new Promise(resolve => setTimeout(resolve, KEYS_STALE_MS))
    await Promise.all([use(), use(), use()])
  }
  return { name: 'keys', play, recorder }
}

type GateState = 'pending' | 'approved' | 'consumed'

const GATES = [
  ...['gate.minor-release-approve', 'gate.production-deploy', 'gate.customer-go-live-approve'],
  ...['gate.campaign-stage-advance', 'gate.content-publish-social', 'gate.avv-signature-confirm'],
]

/** An approval is given before it is used, and used once. */
export const playGates = (set: ReplicaSet): History => {
  const recorder = new Recorder<GateState, 'approve' | 'consume' | 'show', string>({
    initial: 'pending',
    step: (state, input, output) => {
      if (input === 'show') return output === undefined || output === state ? state : undefined
      if (output === 'refused')
        return input === 'consume' && state === 'approved' ? undefined : state
      if (input === 'approve') return state === 'consumed' ? undefined : 'approved'
      return state === 'approved' ? 'consumed' : undefined
    },
  })
  const { operator, approver_a, approver_b } = set.keys
  const play = async (): Promise<void> => {
    const plan = { nonce: Math.random() }
    const gate = GATES[randomInt(GATES.length)]
    const body = { plan, summary: 'x' }
    const asked = await send(`${anyUrl(set)}/v1/gates/${gate}/requests`, operator, { body })
    if (asked.status >= 300 || asked.status === 0) return
    const subject = String(asked.body.id)
    const path = `/v1/gates/requests/${subject}`
    const act = (input: 'approve' | 'consume', key: string, content: object) =>
      recorder.record({
        subject,
        input,
        perform: () => send(`${anyUrl(set)}${path}/${input}`, key, { body: content }),
        outputOf: okOrRefused,
      })
    const show = () =>
      recorder.record({
        subject,
        input: 'show',
        perform: () => send(`${anyUrl(set)}${path}`, operator),
        outputOf: ({ status, body }) => (status === 200 ? String(body.state) : undefined),
      })
    await Promise.all([act('approve', approver_a, {}), act('approve', approver_b, {}), show()])
    await Promise.all([1, 2, 3].map(() => act('consume', operator, { plan })).concat(show()))
    await show()
  }
  return { name: 'gates', play, recorder }
}

/** Calls with one Idempotency-Key have one result. */
export const playIdempotency = (set: ReplicaSet): History => {
  const recorder = new Recorder<string, 'create', string>({
    initial: '',
    step: (state, _input, output) => {
      if (output === 'running' || output === undefined) return state
      return state === '' || state === output ? output : undefined
    },
  })
  const body = { title: 'x', participants: [{ id: 'model-a:7b', type: 'model' }] }
  const play = async (): Promise<void> => {
    const subject = `call-${Math.random()}`
    const headers = { 'idempotency-key': subject }
    const create = () =>
      recorder.record({
        subject,
        input: 'create',
        perform: () =>
          send(`${anyUrl(set)}/a2a/conversations`, set.keys.enterprise, { body, headers }),
        outputOf: ({ status, body: { id } }) =>
          status === 409 ? 'running' : typeof id === 'string' ? id : undefined,
      })
    await Promise.all([create(), create(), create(), create()])
    await Promise.all([create(), create()])
  }
  return { name: 'idempotency', play, recorder }
}

/** Requests of one key never exceed its month. */
export const playQuota = (set: ReplicaSet, limit: number): History => {
  const recorder = new Recorder<number, 'ask', 'ok' | 'refused'>({
    initial: 0,
    // a refusal may come while other coordinators still hold leases
    step: (served, _input, output) =>
      output === 'ok' ? (served < limit ? served + 1 : undefined) : served,
  })
  const messages = [{ role: 'user', content: 'x' }]
  const body = { model: 'model-a:7b', messages }
  const play = async (): Promise<void> => {
    await recorder.record({
      subject: 'month',
      input: 'ask',
      perform: () => send(`${anyUrl(set)}/v1/chat/completions`, set.keys.free, { body }),
      outputOf: okOrRefused,
    })
  }
  return { name: 'quota', play, recorder }
}
