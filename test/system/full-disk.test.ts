import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fillDisk, onSmallDisk, smallDiskProblem } from '../support/small-disk.ts'
import { startStack, type TestStack } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

const GATE = 'gate.minor-release-approve'
const PLAN = { release: 1 }
const MODEL = 'model-a:7b'

interface Answer {
  status: number
  json: Record<string, unknown>
  headers: Headers
}

type Ask = (key: string, method: string, path: string, body?: object) => Promise<Answer>

const createAsk =
  ({ url }: TestStack): Ask =>
  async (key, method, path, body) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body && { 'content-type': 'application/json' }),
    }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(`${url}${path}`, init)
    const text = await response.text()
    const isJson = /^application\/json(;|$)/.test(response.headers.get('content-type') ?? '')
    const json = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>
    return { status: response.status, json, headers: response.headers }
  }

interface Write {
  what: string
  key: string
  method: string
  path: string
  body?: object
}

/** Makes what every kind of write can be tried on, and answers the writes. */
const prepare = async (ask: Ask, { keys }: TestStack): Promise<Write[]> => {
  const { operator, approver_a, pro, free } = keys
  const done = async (...asked: Parameters<Ask>): Promise<Record<string, unknown>> => {
    const { status, json } = await ask(...asked)
    if (status > 202) throw new Error(`${asked[2]}: ${status} ${JSON.stringify(json)}`)
    return json
  }
  let releases = 0
  const createRequest = async (): Promise<unknown> => {
    const body = { plan: PLAN, summary: 'x', subject: `release ${releases++}` }
    return (await done(operator, 'POST', `/v1/gates/${GATE}/requests`, body)).id
  }
  const idOf = async (key: string): Promise<string> => {
    const { keys: own } = await done(key, 'GET', '/v1/keys')
    return (own as { id: string }[])[0]?.id ?? ''
  }
  const on = (id: unknown, verb: string): string => `/v1/gates/requests/${id}/${verb}`
  const [asked, refused, regretted, approved] = [
    ...[await createRequest(), await createRequest(), await createRequest(), await createRequest()],
  ]
  await done(approver_a, 'POST', on(approved, 'approve'), {})
  const wish = { tier: 'free', label: 'wish' }
  const { request_id: wanted } = await done(operator, 'POST', '/v1/keys', wish)
  await done(approver_a, 'POST', on(wanted, 'approve'), {})
  const { cells } = await done(operator, 'GET', '/v1/cells')
  const cell = (cells as { id: string }[])[0]?.id
  const [proId, freeId] = [await idOf(pro), await idOf(free)]
  const { secret } = await done(pro, 'POST', `/v1/keys/${proId}/rotate`, {})
  const renewed = String(secret)
  const post = (what: string, key: string, path: string, body: object = {}): Write => ({
    what,
    key,
    path,
    body,
    method: 'POST',
  })
  return [
    post('a request', operator, `/v1/gates/${GATE}/requests`, { plan: PLAN, summary: 'new' }),
    post('an approval', approver_a, on(asked, 'approve')),
    post('a rejection', approver_a, on(refused, 'reject'), { reason: 'no' }),
    post('a withdrawal', operator, on(regretted, 'withdraw')),
    post('a use', operator, on(approved, 'consume'), { plan: PLAN }),
    post('a wish for a key', operator, '/v1/keys', { ...wish, label: 'another' }),
    post('a key that is shown', operator, `/v1/keys/requests/${wanted}/reveal`),
    post('a secret that is ended', renewed, `/v1/keys/${proId}/retire`),
    post('a rotation', renewed, `/v1/keys/${proId}/rotate`),
    { what: 'a key that is ended', key: free, method: 'DELETE', path: `/v1/keys/${freeId}` },
    post('a person', operator, '/v1/persons', { name: 'Ada' }),
    post('a tenant', operator, '/v1/tenants', { id: 'acme', name: 'Acme' }),
    post('a join token', operator, '/v1/tokens', { uses: 1 }),
    post('a new signing key', operator, '/v1/signing-key/rotate'),
    {
      what: 'labels',
      key: operator,
      method: 'PUT',
      path: `/v1/cells/${cell}/labels`,
      body: { labels: { rack: '1' } },
    },
  ]
}

const READS = [
  ...['/v1/audit', '/v1/audit/verify', '/v1/audit/export', '/v1/gates', '/v1/gates/requests'],
  ...['/v1/keys', '/v1/persons', '/v1/tenants', '/v1/policy/checks', '/v1/cells'],
  '/portal/api/compliance/report?framework=gdpr',
]

const isRefused = ({ status, json, headers }: Answer): boolean =>
  status === 503 &&
  (json.error as { code: string }).code === 'store_unavailable' &&
  Number(headers.get('retry-after')) > 0

const chat = { model: MODEL, messages: [{ role: 'user', content: 'go' }], max_tokens: 2 }

/** Reads, refusals and answers of models, while nothing can be stored. */
const goesOn = async (t: Test, ask: Ask, { keys, url }: TestStack): Promise<void> => {
  for (const path of READS) t.match(await ask(keys.operator, 'GET', path), { status: 200 }, path)
  const someone = { name: 'Eve' }
  t.match(await ask('svc-dev-nobody', 'POST', '/v1/persons', someone), { status: 401 })
  t.match(await ask(keys.enterprise, 'POST', '/v1/persons', someone), { status: 403 })
  t.match(await ask(keys.operator, 'POST', '/v1/persons', {}), { status: 422 })
  t.match(await ask(keys.operator, 'GET', '/v1/gates/requests/gate_none'), { status: 404 })
  t.equal((await fetch(`${url}/healthz`)).status, 200)
}

/** Everything is tried while the disk takes nothing, and again when it does. */
const walk = async (
  t: Test,
  stack: TestStack,
  starve: () => () => void,
  { isTotal }: { isTotal: boolean },
): Promise<void> => {
  const ask = createAsk(stack)
  const writes = await prepare(ask, stack)
  t.match(await ask(stack.keys.enterprise, 'POST', '/v1/chat/completions', chat), { status: 200 })
  const feed = starve()
  let filled = await ask(stack.keys.operator, 'POST', '/v1/persons', { name: 'Bob' })
  // what is left of the log and the last pages is used up first
  while (filled.status === 200)
    filled = await ask(stack.keys.operator, 'POST', '/v1/persons', { name: 'B'.repeat(100) })
  t.ok(isRefused(filled), JSON.stringify(filled.json))
  if (isTotal) t.match(await ask(stack.keys.operator, 'GET', '/readyz'), { status: 503 }, 'at once')

  let answered = 1
  const open: Write[] = []
  for (const write of writes) {
    const answer = await ask(write.key, write.method, write.path, write.body)
    if (isRefused(answer)) open.push(write)
    else t.ok(answer.status <= 202 && !isTotal, `${write.what}: ${JSON.stringify(answer.json)}`)
  }
  t.ok(open.length > 0)
  for (let n = 0; n < 5; n++) {
    const answer = await ask(stack.keys.enterprise, 'POST', '/v1/chat/completions', chat)
    if (answer.status === 200) answered++
    else t.ok(isRefused(answer), JSON.stringify(answer.json))
  }
  await goesOn(t, ask, stack)

  feed()
  for (const { what, key, method, path, body } of open) {
    const answer = await waitUntil(`${what} is accepted again`, async () => {
      const answer = await ask(key, method, path, body)
      return !isRefused(answer) && answer
    })
    t.ok(answer.status <= 202, `${what}: ${JSON.stringify(answer.json)}`)
  }
  t.match(await ask(stack.keys.operator, 'GET', '/v1/audit/verify'), { json: { ok: true } })
  const used = await ask(stack.keys.enterprise, 'GET', '/v1/usage')
  t.match(used, { json: { usage: [{ requests_ok: answered }] } }, 'every answer is counted')
  t.comment(`${open.length} of ${writes.length} writes refused, ${answered} answers`)
}

const noDisk = smallDiskProblem()

t.test('reads and model answers continue on a full disk', { skip: noDisk ?? false }, async t => {
  const stack = await startStack({
    inference: { preload: false },
    wrap: stateDir => onSmallDisk(stateDir, 3 << 20),
  })
  t.teardown(stack.stop)
  const starve = () => fillDisk(stack.coordinator.pid, join(stack.folder, 'coordinator'))
  await walk(t, stack, starve, { isTotal: false })
})

/** No file can be written from now on, as on a file system that has become read-only. */
const forbidWriting = (pid: number): (() => void) => {
  const limit = (size: string): void =>
    void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${size}:unlimited`])
  limit('0')
  return () => limit('unlimited')
}

t.test('reads and model answers continue on a read-only disk', async t => {
  // what the test runner loads into every process would end it at the first write
  const stack = await startStack({
    inference: { preload: false },
    wrap: () => ['env', '-u', 'NODE_OPTIONS'],
  })
  t.teardown(stack.stop)
  await walk(t, stack, () => forbidWriting(stack.coordinator.pid), { isTotal: true })
})
