import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootstrap } from '../../../coordinator/access/keys/bootstrap.ts'
import { Keys } from '../../../coordinator/access/keys/keys.ts'
import { createPerson } from '../../../coordinator/access/people/people.ts'
import { serve } from '../../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../../coordinator/config.ts'
import { OPERATOR_ROLES } from '../../../coordinator/kernel/declaration/key.ts'
import { openStore } from '../../../coordinator/kernel/store/store.ts'
import type { OpenApiDocument } from '../../../coordinator/surfaces/http/openapi.ts'
import { silent } from '../cell.ts'
import { callsOf, type FuzzCall } from './calls.ts'
import { type FuzzAnswer, judgeBy } from './judge.ts'

interface FuzzOutcome {
  calls: number
  /** Answers by their status. */
  statuses: Record<string, number>
  faults: string[]
}

const BY = { actor: 'test' }
/** A key has 300 calls a minute. */
const CALLS_PER_KEY = 250
const AT_ONCE = 8

/** A real coordinator without cells, asked what its own document describes. */
export const fuzz = async ({
  count,
  seed,
}: {
  count: number
  seed: number
}): Promise<FuzzOutcome> => {
  const folder = await mkdtemp(join(tmpdir(), 'shoal-fuzz-'))
  const secrets = await people(folder, Math.ceil(count / CALLS_PER_KEY) + 4)
  const config = CoordinatorConfig.parse({
    state_dir: folder,
    http: { port: 0, drain_seconds: 0 },
    keys: { public_request: true, public_tenant: 'demo' },
    // a test asks nobody outside of its machine
    upstreams: { egress: 'off' },
  })
  const coordinator = await serve(config, silent)
  try {
    const document = (await (
      await fetch(`${coordinator.url}/v1/openapi.json`)
    ).json()) as OpenApiDocument
    const pool = await poolOf(coordinator.url, secrets[0] ?? '')
    const calls = callsOf(document, { pool, keys: secrets.length, count, seed })
    return await judgeCalls(coordinator.url, calls, secrets, judgeBy(document))
  } finally {
    await coordinator.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Operators with every role, whose keys are nobody's target, and some who are. */
const people = async (folder: string, count: number): Promise<string[]> => {
  const store = await openStore(folder)
  await bootstrap(store)
  const keys = new Keys({ store, logger: silent })
  const secrets: string[] = []
  for (let n = 0; n < count; n++) {
    const id = `fuzz-${n}`
    await createPerson(store.ledger, { id, tenantId: 'demo', name: id }, BY)
    const roles = n % 4 === 3 ? (['client'] as const) : (['client', ...OPERATOR_ROLES] as const)
    const key = { tenantId: 'demo', personId: id, tier: 'enterprise' as const, roles: [...roles] }
    secrets.push((await keys.create(key, BY)).secret)
  }
  keys.close()
  await store.close()
  return secrets
}

/** Something of each kind, made by the API itself. */
const poolOf = async (url: string, key: string) => {
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await response.json()) as Record<string, string>
  }
  const requests: string[] = []
  for (let n = 0; n < 5; n++) {
    const asked = await ask('POST', '/v1/gates/gate.production-deploy/requests', {
      plan: { n },
      summary: `n ${n}`,
    })
    requests.push(asked.id ?? 'x')
  }
  const hook = await ask('POST', '/v1/webhooks', { url: 'https://hooks.acme-corp.invalid/x' })
  return {
    gate_id: ['gate.production-deploy', 'gate.minor-release-approve', 'gate.cell-enroll'],
    request_id: requests,
    key_id: ['abcdefgh'],
    person_id: ['operator', 'nobody'],
    tenant_id: ['demo', 'other'],
    webhook_id: [hook.id ?? 'x'],
    skill_id: ['vram-guard', 'policy-check', 'no-such'],
    model: ['model-a:7b', 'auto', 'embed-a', 'no-such'],
  }
}

const judgeCalls = async (
  url: string,
  calls: FuzzCall[],
  secrets: readonly string[],
  judge: ReturnType<typeof judgeBy>,
): Promise<FuzzOutcome> => {
  const outcome: FuzzOutcome = { calls: 0, statuses: {}, faults: [] }
  const left = calls.values()
  const worker = async (): Promise<void> => {
    for (const call of left) {
      const answer = await sendCall(url, call, secrets).catch((error: unknown) => String(error))
      outcome.calls++
      const status = typeof answer === 'string' ? 'none' : String(answer.status)
      outcome.statuses[status] = (outcome.statuses[status] ?? 0) + 1
      const fault = typeof answer === 'string' ? answer : judge(call, answer)
      if (fault !== undefined)
        outcome.faults.push(`${call.method} ${call.url} ${call.body ?? ''}: ${fault}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return outcome
}

/** No answer may take longer; a stream is left when its head has come. */
const MAX_MS = 60_000

const sendCall = async (
  url: string,
  call: FuzzCall,
  secrets: readonly string[],
): Promise<FuzzAnswer> => {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(MAX_MS)])
  const secret = secrets[call.key]
  const response = await fetch(url + call.url, {
    method: call.method,
    signal,
    redirect: 'manual',
    headers: {
      ...call.headers,
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(call.body === undefined ? {} : { body: call.body }),
  })
  const type = response.headers.get('content-type') ?? ''
  const isStream = type.startsWith('text/event-stream')
  const body = isStream ? undefined : await response.text()
  if (isStream) stop.abort()
  return { status: response.status, type, body, requestId: response.headers.get('x-request-id') }
}
